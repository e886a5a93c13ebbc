/**
 * Runs a suite and judges its rows. Times drift, so a row that is over its bound is measured once more before
 * it counts.
 */
import { gateOf, unmeasured, verdictOf } from './gates.ts'
import type { Suite, SuiteReport } from './harness/suite.ts'

/**
 * Runs a suite at full size.
 *
 * @param confirm if a row is over its bound, run the suite again, and return only rows that exceed it both
 *   times
 * @param onReport is called after each run with its report and the rows that exceed their bound
 * @returns ids of the rows that exceed their bound, and of gated rows that were not measured
 */
export async function judge(
  suite: Suite,
  confirm: boolean,
  onReport: (report: SuiteReport, over: readonly string[]) => void,
): Promise<readonly string[]> {
  const measure = async () => {
    const report = await suite.run('full')
    const over = exceededBy(suite.name, report)
    onReport(report, over)
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
