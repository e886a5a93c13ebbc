/**
 * How long work takes in this process. Each function takes one sample, because `interleave` takes them in
 * turns.
 */
import Benchmark from 'benchmark'

/** Seconds that one run of the work takes, by benchmark.js. @throws what the work throws */
export function secondsPerRun(work: () => void, sampleSeconds: number): number {
  const benchmark = new Benchmark({
    fn: work,
    // One sample a turn: the statistics are made of the turns, not by benchmark.js.
    minSamples: 1,
    minTime: sampleSeconds,
    maxTime: sampleSeconds,
  })
  benchmark.run({ async: false })
  // benchmark.js catches what the work throws.
  const { error } = benchmark as unknown as { error?: unknown }
  if (error !== undefined) throw error
  return benchmark.stats.mean
}

/** The same for asynchronous work. benchmark.js would wait for it with a timer. */
export async function secondsPerAwaitedRun(
  work: () => Promise<void>,
  sampleSeconds: number,
): Promise<number> {
  const start = performance.now()
  let runs = 0
  let elapsedMs = 0
  while (elapsedMs < sampleSeconds * 1000) {
    await work()
    runs++
    elapsedMs = performance.now() - start
  }
  return elapsedMs / 1000 / runs
}
