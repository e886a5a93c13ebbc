/**
 * Metrics as plain data: what a process sends to the one that answers for it, and how those of several
 * processes become one.
 */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Of a histogram: which of its series it belongs to. */
  readonly part?: 'bucket' | 'sum' | 'count'
}

/** A metric with all its series. */
export interface Metric {
  /** Of counters, it ends in `_total`. */
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How the same series of several processes becomes one. Counters and histograms are added. */
  readonly merge: 'sum' | 'max'
  readonly samples: readonly Sample[]
}

/** The metrics of several processes as those of one. */
export function mergedMetrics(processes: Iterable<readonly Metric[]>): Metric[] {
  const byName = new Map<string, { metric: Metric; samples: Map<string, Sample> }>()
  for (const metrics of processes)
    for (const metric of metrics) {
      const merged = byName.get(metric.name) ?? { metric, samples: new Map<string, Sample>() }
      byName.set(metric.name, merged)
      for (const sample of metric.samples) {
        const key = JSON.stringify([sample.part, Object.entries(sample.labels).sort()])
        const earlier = merged.samples.get(key)
        const value =
          earlier === undefined
            ? sample.value
            : metric.merge === 'sum'
              ? earlier.value + sample.value
              : Math.max(earlier.value, sample.value)
        merged.samples.set(key, { ...sample, value })
      }
    }
  return Array.from(byName.values(), ({ metric, samples }) => ({ ...metric, samples: [...samples.values()] }))
}

/** The metrics that go on counting after their process has ended. */
export function lastingMetrics(metrics: readonly Metric[]): Metric[] {
  return metrics.filter(({ type }) => type !== 'gauge')
}

/** A gauge, from its values by the values of its one label; without a label, from one value. */
export function gauge(
  name: string,
  help: string,
  values: number | Readonly<Record<string, number>>,
  { label = '', merge = 'sum' }: { readonly label?: string; readonly merge?: Metric['merge'] } = {},
): Metric {
  const samples =
    typeof values === 'number'
      ? [{ labels: {}, value: values }]
      : Object.entries(values).map(([of, value]) => ({ labels: { [label]: of }, value }))
  return { name, help, type: 'gauge', merge, samples }
}
