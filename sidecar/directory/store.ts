/** The directory on a database: what verifying asks, what is there, and changes of it. */

import { DirectoryChange } from './change.ts'
import type { Database, Queries } from './database.ts'
import type { Directory } from './directory.ts'
import { DirectoryRecords } from './records.ts'
import { DirectoryVerification } from './verification.ts'

export class DirectoryStore {
  readonly #database: Database
  readonly #now: () => number
  readonly verification: Directory
  readonly records: DirectoryRecords

  /**
   * @param now wall clock, in milliseconds since the epoch
   * @param verification what verifying asks instead of the database itself
   */
  constructor(
    database: Database,
    now: () => number,
    verification: Directory = new DirectoryVerification(database),
  ) {
    this.#database = database
    this.#now = now
    this.verification = verification
    this.records = new DirectoryRecords(database)
  }

  /** Changes as one transaction: all of it holds afterwards, or nothing. */
  change<T>(actor: string, work: (change: DirectoryChange) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (queries) => {
      const watched = new Watched(queries)
      const result = await work(new DirectoryChange(watched, { actor, nowMs: this.#now() }))
      if (watched.failure !== undefined) throw watched.failure
      return result
    })
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
