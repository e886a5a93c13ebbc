/** The directory on a database: what verifying asks, what is there, and changes of it. */

import { DirectoryChange } from './change.ts'
import type { Database } from './database.ts'
import type { Directory } from './directory.ts'
import { DirectoryRecords } from './records.ts'
import { DirectoryVerification } from './verification.ts'

export class DirectoryStore {
  readonly #database: Database
  readonly #now: () => number
  readonly verification: Directory
  readonly records: DirectoryRecords

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(database: Database, now: () => number) {
    this.#database = database
    this.#now = now
    this.verification = new DirectoryVerification(database)
    this.records = new DirectoryRecords(database)
  }

  /** Changes as one transaction: all of it holds afterwards, or nothing. */
  change<T>(actor: string, work: (change: DirectoryChange) => Promise<T>): Promise<T> {
    return this.#database.transaction((queries) =>
      work(new DirectoryChange(queries, { actor, nowMs: this.#now() })),
    )
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}
