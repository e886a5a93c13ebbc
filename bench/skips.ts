/** Rows that need foreign software, where that software cannot be had. */
import { CommandFailed } from '../test/support/interop/command.ts'
import { reasonOf } from './install.ts'
import type { Skipped } from './suite.ts'

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
