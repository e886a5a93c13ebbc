/**
 * Writes metrics as Prometheus reads them: as its own text, or as OpenMetrics. Loaded with the first question
 * for metrics.
 */
import { Registry } from 'prom-client'
import type { Metric } from '../../base/metrics.ts'

export interface Exposition {
  readonly type: string
  readonly text: string
}

export async function exposition(metrics: readonly Metric[], openMetrics: boolean): Promise<Exposition> {
  const type = openMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE
  const registry = new Registry()
  registry.setContentType(type as typeof Registry.PROMETHEUS_CONTENT_TYPE)
  for (const metric of metrics) if (metric.samples.length > 0) registry.registerMetric(registered(metric))
  return { type, text: await registry.metrics() }
}

/** The shape that the registry asks its own metrics for. */
function registered({ name, help, type, samples }: Metric): Parameters<Registry['registerMetric']>[0] {
  const metric = {
    ...{ name, help, type },
    values: samples.map(({ labels, value, part }) => ({
      ...{ labels, value },
      ...(part !== undefined && { metricName: `${name}_${part}` }),
    })),
    // The registry changes the name for OpenMetrics, so it must be that of this object.
    get: () => metric,
  }
  return metric as unknown as Parameters<Registry['registerMetric']>[0]
}
