/** What the programs of this folder have in common: they run for a parent, and say what they had to skip. */
import { CommandFailed } from '../../test/interop/helpers/command.ts'
import { reasonOf } from '../install.ts'
import type { Size, Skipped, SuiteReport } from '../suite.ts'

/** Runs a suite at the size that the parent asks for, and sends it the report (bench/peers.ts). */
export async function runForParent(run: (size: Size) => Promise<SuiteReport>): Promise<void> {
  // Also where the parent is gone before the end: whatever was started ends with this process.
  process.once('disconnect', () => process.exit())
  const report = await run(process.argv[2] === 'full' ? 'full' : 'smoke')
  process.send?.(report)
}

/** What could not be obtained, row by row. */
export class Skips {
  readonly list: Skipped[] = []

  /** Obtains what the rows need. @returns undefined, and notes why, where it cannot be had */
  async obtain<T>(rows: readonly string[], obtain: () => Promise<T>): Promise<T | undefined> {
    try {
      return await obtain()
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error
      const why = reasonOf(error)
      this.list.push(...rows.map((row) => ({ row, why })))
      return undefined
    }
  }
}
