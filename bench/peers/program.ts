/** What the programs of this folder have in common: they run for a parent. */
import type { Size, SuiteReport } from '../suite.ts'

/** Runs a suite at the size that the parent asks for, and sends it the report (bench/peers.ts). */
export async function runForParent(run: (size: Size) => Promise<SuiteReport>): Promise<void> {
  // Also where the parent is gone before the end: whatever was started ends with this process.
  process.once('disconnect', () => process.exit())
  const report = await run(process.argv[2] === 'full' ? 'full' : 'smoke')
  process.send?.(report)
}
