/** The cost of calls: processor time, time on the clock, and how long each of them takes. */
import type { Latencies } from './latency.ts'

/** The cost of each of many calls, in microseconds. */
export interface Cost {
  /** Processor time of the process that serves them: all threads, user and system. */
  readonly cpu: number
  /**
   * Time on the clock divided by the number of calls. It is the inverse of their rate, not how long a call
   * waits.
   */
  readonly time: number
  /** How long each call took. */
  readonly latencies: Latencies
}

/**
 * Measures the cost of each call.
 *
 * @param cpuMicroseconds processor time that the process has used so far
 * @param work makes the calls
 */
export async function measureCost(
  calls: number,
  cpuMicroseconds: () => number | Promise<number>,
  work: () => Promise<Latencies>,
): Promise<Cost> {
  const cpuBefore = await cpuMicroseconds()
  const startMs = performance.now()
  const latencies = await work()
  const elapsedMs = performance.now() - startMs
  return {
    cpu: ((await cpuMicroseconds()) - cpuBefore) / calls,
    time: (elapsedMs * 1000) / calls,
    latencies,
  }
}

export function cpuOf(costs: readonly Cost[]): number[] {
  return costs.map(({ cpu }) => cpu)
}

export function timeOf(costs: readonly Cost[]): number[] {
  return costs.map(({ time }) => time)
}

export function latenciesOf(costs: readonly Cost[]): Latencies[] {
  return costs.map(({ latencies }) => latencies)
}
