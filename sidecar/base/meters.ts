/**
 * The counters on the way of every call. A count is a number in an array, and is read only for a request of
 * the metrics, because a check takes about as long as a counter of a library.
 */
import type { Metric, Sample } from './metrics.ts'

/** The value of a label in whose place another one would be one too many. */
const OTHER = 'other'

/** Counts of events, by labels. */
export class Counts {
  readonly #about: Pick<Metric, 'name' | 'help'>
  readonly #labelNames: readonly string[]
  readonly #max: number
  readonly #cells = new Map<string, number>()
  readonly #labels: string[][] = []
  #values = new Float64Array(64)

  /**
   * @param name ends in `_total`
   * @param max most series; events of further ones count as `other`
   */
  constructor(name: string, help: string, labelNames: readonly string[], max: number) {
    this.#about = { name, help }
    this.#labelNames = labelNames
    this.#max = max
  }

  /** The cell of these labels, in the order of their names. It stays the same. */
  cell(...labels: string[]): number {
    const key = labels.join('\0')
    const found = this.#cells.get(key)
    if (found !== undefined) return found
    // The cell of the others is one more.
    if (this.#labels.length >= this.#max && labels.some((label) => label !== OTHER))
      return this.cell(...labels.map(() => OTHER))
    const cell = this.#labels.push(labels) - 1
    this.#cells.set(key, cell)
    if (cell === this.#values.length) {
      const larger = new Float64Array(2 * cell)
      larger.set(this.#values)
      this.#values = larger
    }
    return cell
  }

  add(cell: number, count = 1): void {
    this.#values[cell] = (this.#values[cell] ?? 0) + count
  }

  read(): Metric {
    const samples = this.#labels.map((labels, cell) => ({
      labels: Object.fromEntries(this.#labelNames.map((name, index) => [name, labels[index] ?? ''])),
      value: this.#values[cell] ?? 0,
    }))
    return { ...this.#about, type: 'counter', merge: 'sum', samples }
  }
}

/**
 * Upper bounds of the buckets of durations, in milliseconds. A check takes a few microseconds, and a login
 * half a second.
 */
const BOUNDS_MS = Float64Array.of(
  ...[0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
  ...[10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000],
)

/** How long something took, as a histogram. */
export class Durations {
  readonly #labels: Readonly<Record<string, string>>
  readonly #counts = new Float64Array(BOUNDS_MS.length + 1)
  #sumMs = 0

  constructor(labels: Readonly<Record<string, string>>) {
    this.#labels = labels
  }

  observe(ms: number): void {
    this.#sumMs += ms
    let bucket = 0
    while (bucket < BOUNDS_MS.length && ms > (BOUNDS_MS[bucket] as number)) bucket++
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
  }

  samples(): Sample[] {
    const labels = this.#labels
    const samples: Sample[] = []
    let count = 0
    for (const [bucket, added] of this.#counts.entries()) {
      count += added
      const bound = BOUNDS_MS[bucket]
      const le = bound === undefined ? '+Inf' : String(bound / 1000)
      samples.push({ labels: { ...labels, le }, value: count, part: 'bucket' })
    }
    samples.push({ labels, value: this.#sumMs / 1000, part: 'sum' }, { labels, value: count, part: 'count' })
    return samples
  }
}

/** @param name ends in `_seconds` */
export function histogram(name: string, help: string, durations: readonly Durations[]): Metric {
  return { name, help, type: 'histogram', merge: 'sum', samples: durations.flatMap((each) => each.samples()) }
}
