/**
 * How long calls take, as the driver sees it. No object is made for a call: everything is allocated before.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { Latency } from './suite.ts'

/** How the latencies of all suites are measured. Rows say what is special about theirs. */
export const LATENCY_METHOD =
  'The latency of a call runs from its start until its answer is complete and its status is known. The clock is that of the driver, and the percentiles are over all calls of all samples, exact within 1 %. The loop is closed: a fixed number of calls is in flight, and the next call starts when one is answered. With many in flight a call mostly waits for the others, and server and driver share the processors.'

/** Two digits that count: a value is exact within 1 %. */
const FIGURES = 2
const NANOSECONDS_MAX = 3_600_000_000_000

/** Records how long calls take. A lane is a place for one call in flight at a time. */
export class Latencies {
  readonly inFlight: number
  readonly #startsMs: Float64Array
  readonly #histogram = newHistogram()

  /** @param inFlight number of lanes */
  constructor(inFlight: number) {
    this.inFlight = inFlight
    this.#startsMs = new Float64Array(inFlight)
  }

  /** A call starts in the lane. */
  start(lane: number): void {
    this.#startsMs[lane] = performance.now()
  }

  /** The call of the lane is answered. */
  end(lane: number): void {
    const elapsedMs = performance.now() - (this.#startsMs[lane] as number)
    // The histogram takes whole numbers from 1 on.
    this.#histogram.record(Math.max(1, Math.round(elapsedMs * 1e6)))
  }

  addTo(sum: RecordableHistogram): void {
    sum.add(this.#histogram)
  }
}

/** The latencies of all samples together. */
export function latencyOf(samples: readonly Latencies[]): Latency {
  const sum = newHistogram()
  for (const latencies of samples) latencies.addTo(sum)
  return {
    p50Microseconds: sum.percentile(50) / 1000,
    p99Microseconds: sum.percentile(99) / 1000,
    calls: sum.count,
    inFlight: Math.max(...samples.map(({ inFlight }) => inFlight)),
  }
}

function newHistogram(): RecordableHistogram {
  return createHistogram({ lowest: 1, highest: NANOSECONDS_MAX, figures: FIGURES })
}
