/** The directory on a database: queries for verification, records for administration, and changes. */

import type { MaybePromise } from '../base/maybe-promise.ts'
import { DirectoryChange } from './change.ts'
import type { Database, Queries } from './database.ts'
import type { Directory } from './directory.ts'
import { DirectoryRecords } from './records.ts'
import { DirectoryVerification } from './verification.ts'

export class DirectoryStore {
  readonly #database: Database
  readonly #now: () => number
  readonly #onChanged: () => MaybePromise<void>
  readonly verification: Directory
  readonly records: DirectoryRecords

  /**
   * @param now wall clock, in milliseconds since the epoch
   * @param verification answers the queries of verification, for example from a cache
   * @param onChanged called after each change; the change is acknowledged when it resolves
   */
  constructor(
    database: Database,
    now: () => number,
    verification: Directory = new DirectoryVerification(database),
    onChanged: () => MaybePromise<void> = () => {},
  ) {
    this.#database = database
    this.#now = now
    this.#onChanged = onChanged
    this.verification = verification
    this.records = new DirectoryRecords(database)
  }

  /** Runs `work` in one transaction: either all of its changes take effect, or none. */
  async change<T>(actor: string, work: (change: DirectoryChange) => Promise<T>): Promise<T> {
    try {
      return await this.#database.transaction(async (queries) => {
        const tracked = new FailureTrackingQueries(queries)
        const result = await work(new DirectoryChange(tracked, { actor, nowMs: this.#now() }))
        if (tracked.failure !== undefined) throw tracked.failure
        return result
      })
    } finally {
      // Also after an error: the commit may have succeeded and only its answer was lost.
      await this.#onChanged()
    }
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/**
 * Remembers a failed statement. In PostgreSQL a failed statement makes its transaction fail, even if `work` catches the
 * error. With this class the same holds for every database.
 */
class FailureTrackingQueries implements Queries {
  readonly #queries: Queries
  failure: unknown

  constructor(queries: Queries) {
    this.#queries = queries
  }

  async all(...statement: Parameters<Queries['all']>): Promise<Record<string, unknown>[]> {
    try {
      return await this.#queries.all(...statement)
    } catch (error) {
      this.failure ??= error
      throw error
    }
  }
}
