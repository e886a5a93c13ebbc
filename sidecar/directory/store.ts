/** The directory on a database: what verifying asks, what is there, and changes of it. */

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
   * @param verification what verifying asks instead of the database itself
   * @param onChanged is waited for before a change is acknowledged
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

  /** Changes as one transaction: all of it holds afterwards, or nothing. */
  async change<T>(actor: string, work: (change: DirectoryChange) => Promise<T>): Promise<T> {
    try {
      return await this.#database.transaction(async (queries) => {
        const watched = new Watched(queries)
        const result = await work(new DirectoryChange(watched, { actor, nowMs: this.#now() }))
        if (watched.failure !== undefined) throw watched.failure
        return result
      })
    } finally {
      // Even where it failed: the answer to the commit may be what was lost.
      await this.#onChanged()
    }
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/** A statement that failed ends its transaction in PostgreSQL; so it does everywhere, whoever caught the error. */
class Watched implements Queries {
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
