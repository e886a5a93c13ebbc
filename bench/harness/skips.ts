/** Rows that need foreign software, where that software is missing. */
import { CommandFailed } from './command.ts'
import { reasonOf } from './install.ts'
import type { Skipped } from './suite.ts'

/** Collects the rows that are skipped. */
export class Skips {
  readonly list: Skipped[] = []

  /**
   * Obtains what the rows need.
   *
   * @returns undefined where it cannot be had; the rows are then listed with the reason
   */
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
