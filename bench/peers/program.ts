/** The common part of the programs of this folder: a parent runs them and reads their report. */
import type { Size, SuiteReport } from '../harness/suite.ts'

/** Runs a suite at the size that the parent asks for, and sends it the report (bench/suites/peers.ts). */
export async function runForParent(run: (size: Size) => Promise<SuiteReport>): Promise<void> {
  // The parent may end first. Whatever was started then ends with this process.
  process.once('disconnect', () => process.exit())
  const report = await run(process.argv[2] === 'full' ? 'full' : 'smoke')
  process.send?.(report)
}
