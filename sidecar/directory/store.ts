/** The directory on a database: queries for verification, records for administration, and changes. */

import { callError } from '../base/call-error.ts'
import { FairQueue } from '../base/fair-queue.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { CHANGE_LANES, type ChangeAuthor, type ChangeLane } from './author.ts'
import { DirectoryChange } from './change.ts'
import type { Database, Queries, Transaction } from './database.ts'
import type { Directory } from './directory.ts'
import type { FeedRecord } from './feed/touches.ts'
import { DirectoryRecords } from './records.ts'
import { DirectoryVerification } from './verification.ts'

/**
 * How many changes are in progress at the same time. On a file they are written one after the other: the next
 * one is written while the one before waits for the disk and its acknowledgement. That wait also is when this
 * process answers other calls. With more of them, a revocation would wait for more changes.
 */
const CHANGES_AT_ONCE = 2

/** Most changes that wait in each lane where nothing else is said. */
const CHANGES_WAITING_MAX = 1_000

export interface StoreOptions {
  /** Called after each change with what it recorded; the change is acknowledged when it resolves. */
  readonly onChanged?: (records: readonly FeedRecord[]) => MaybePromise<void>
  /** Most changes that wait in each lane; default: 1,000. */
  readonly changesWaiting?: number | undefined
}

export class DirectoryStore {
  readonly #database: Database
  readonly #now: () => number
  readonly #onChanged: (records: readonly FeedRecord[]) => MaybePromise<void>
  readonly #queue: FairQueue<ChangeLane>
  readonly verification: Directory
  readonly records: DirectoryRecords

  /**
   * @param now wall clock, in milliseconds since the epoch
   */
  constructor(
    database: Database,
    now: () => number,
    { onChanged = () => {}, changesWaiting = CHANGES_WAITING_MAX }: StoreOptions = {},
  ) {
    this.#database = database
    this.#now = now
    this.#onChanged = onChanged
    this.#queue = new FairQueue({
      weights: CHANGE_LANES,
      concurrent: CHANGES_AT_ONCE,
      waiting: changesWaiting,
      full: () => callError('DIRECTORY_EXHAUSTED', { what: 'changes' }),
    })
    this.verification = new DirectoryVerification(database)
    this.records = new DirectoryRecords(database)
  }

  /**
   * Runs `work` in one transaction, when it is the author's turn: either all of its changes take effect, or
   * none.
   *
   * @param by the author of the change; a name alone is that of an operator
   * @throws CallError `DIRECTORY_EXHAUSTED` if too many changes of the author's lane wait
   */
  async change<T>(by: ChangeAuthor | string, work: (change: DirectoryChange) => Promise<T>): Promise<T> {
    const author: ChangeAuthor = typeof by === 'string' ? { name: by, lane: 'operators', principal: by } : by
    const place = { lane: author.lane, shares: [author.principal] }
    return this.#queue.run(place, () => this.#run(author, work))
  }

  async #run<T>(author: ChangeAuthor, work: (change: DirectoryChange) => Promise<T>): Promise<T> {
    const { dialect } = this.#database
    let change: DirectoryChange | undefined
    const recorded = () => change?.writer.records ?? []
    try {
      const made = await this.#database.transaction(async (transaction) => {
        const tracked = new FailureTracking(transaction)
        change = new DirectoryChange(tracked, { author, nowMs: this.#now(), dialect })
        const result = await tracked.through(work(change))
        if (tracked.failure !== undefined) throw tracked.failure
        await change.writer.end(tracked)
        return result
      }, recorded)
      await this.#database.keep?.(change?.writer.made ?? [])
      return made
    } finally {
      // Also after an error: the commit may have succeeded and only its answer was lost.
      if (recorded().length > 0) await this.#onChanged(recorded())
    }
  }

  /** Resolves when everything that was read until now is on the disk. @see Database.durable */
  durable(): MaybePromise<void> {
    return this.#database.durable?.()
  }

  /** @see Database.shrink */
  async shrink(): Promise<boolean> {
    return (await this.#database.shrink?.()) ?? false
  }

  /** How many changes wait, by lane. */
  get waiting(): Readonly<Record<string, number>> {
    return this.#queue.waiting
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/**
 * Remembers a failed statement. In PostgreSQL a failed statement makes its transaction fail, even if `work`
 * catches the error, and each statement after it fails in words of the database. With this class both hold
 * for every database, in the words of what failed first.
 */
class FailureTracking implements Transaction {
  readonly #transaction: Transaction
  readonly hold: Transaction['hold']
  readonly commit: Transaction['commit']
  failure: unknown

  constructor(transaction: Transaction) {
    const { hold, commit } = transaction
    this.#transaction = transaction
    this.hold = hold && ((what) => this.#tracked(() => hold.call(transaction, what)))
    this.commit = commit?.bind(transaction)
  }

  all(...statement: Parameters<Queries['all']>): Promise<Record<string, unknown>[]> {
    return this.#tracked(() => this.#transaction.all(...statement))
  }

  /** After a failure of the work, whatever of it goes on fails too: it would be beside the transaction. */
  async through<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      this.failure ??= error
      throw error
    }
  }

  async #tracked<T>(work: () => MaybePromise<T>): Promise<T> {
    if (this.failure !== undefined) throw this.failure
    return this.through((async () => work())())
  }
}
