/** How long work takes in this process: one sample at a time, because `interleave` takes them in turns. */
import Benchmark from 'benchmark'

/** Seconds that a run of the work takes, timed by benchmark.js. @throws what the work throws */
export function secondsPerRun(work: () => void, sampleSeconds: number): number {
  const benchmark = new Benchmark({
    fn: work,
    // A sample a turn: the turns, not benchmark.js, make the statistics.
    minSamples: 1,
    minTime: sampleSeconds,
    maxTime: sampleSeconds,
  })
  benchmark.run({ async: false })
  // benchmark.js keeps what was thrown to itself.
  const { error } = benchmark as unknown as { error?: unknown }
  if (error !== undefined) throw error
  return benchmark.stats.mean
}

/** The same of work that has to be waited for, which benchmark.js would wait for with a timer. */
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
