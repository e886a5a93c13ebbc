/** What the directory asks of a database. One way to say it in SQL, two databases that understand it. */

import type { MaybePromise } from '../base/maybe-promise.ts'

export type Value = string | number | null | Buffer

/** Parameters by name, `:name` in the SQL. */
export type Parameters = Readonly<Record<string, Value>>

export interface Queries {
  /** Runs one statement; its rows, if it returns any. @throws CallError where the database does not answer */
  all(sql: string, parameters?: Parameters): MaybePromise<Record<string, unknown>[]>
}

export interface Database extends Queries {
  /**
   * A number that changes whenever anybody has changed anything. What was read at a number holds as long as it is the
   * same: no change is acknowledged before this number has changed in every process. Absent where the database cannot
   * tell at once.
   */
  version?(): number
  /**
   * Runs `work` as one transaction: all of it holds afterwards, or nothing. Reads outside never see half of it. One at
   * a time, so that what `work` reads still holds when it writes.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A row that may not be there twice is there already. */
export class AlreadyExists extends Error {
  override readonly name = 'AlreadyExists'
}
