/** Running a suite and judging it. Times drift, so what is over its bound once is measured once more before it counts. */
import { gateOf, unmeasured, verdictOf } from './gates.ts'
import type { Suite, SuiteReport } from './suite.ts'

/**
 * Runs a suite at full size.
 *
 * @param confirm run it once more where a row is over its bound, and name only the rows that are over both times
 * @param found is given the report of each run as soon as there is one, and what is over in it
 * @returns ids of the rows that are over, or that a gate speaks of and nobody measured
 */
export async function judge(
  suite: Suite,
  confirm: boolean,
  found: (report: SuiteReport, over: readonly string[]) => void,
): Promise<readonly string[]> {
  const measure = async () => {
    const report = await suite.run('full')
    const over = exceededBy(suite.name, report)
    found(report, over)
    return over
  }
  const first = await measure()
  if (!confirm || first.length === 0) return first
  const second = new Set(await measure())
  return first.filter((row) => second.has(row))
}

function exceededBy(suite: string, report: SuiteReport): string[] {
  const over = report.rows.filter((row) => verdictOf(gateOf(suite, row), row) === 'over').map(({ id }) => id)
  return [...over, ...unmeasured(suite, report)]
}
