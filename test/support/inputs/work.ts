/**
 * The work that code does, as a count of steps: a measure that is the same on a busy machine and on an idle
 * one. Counts are exact only where V8 does not optimize, with the flags of `COUNTING_FLAGS`.
 */
import { Session } from 'node:inspector/promises'

/** Flags of Node under which every step is counted. */
export const COUNTING_FLAGS = ['--no-opt', '--no-maglev', '--no-sparkplug']

/**
 * How many times functions and blocks of code ran during `work`. Calls of built-in functions are not counted.
 */
export async function stepsOf(work: () => void): Promise<number> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    // Once before, so that only the work itself is counted.
    await session.post('Profiler.takePreciseCoverage')
    work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ranges = result.flatMap(({ functions }) => functions.flatMap((each) => each.ranges))
    return ranges.reduce((sum, { count }) => sum + count, 0)
  } finally {
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
}
