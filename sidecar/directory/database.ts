/** The interface of a database of the directory. The same SQL runs on SQLite and on PostgreSQL. */

import type { MaybePromise } from '../base/maybe-promise.ts'
import type { AuditRecord } from './directory.ts'
import type { Changes } from './feed/changes.ts'
import type { FeedRecord } from './feed/touches.ts'
import type { Hold } from './hold.ts'
import type { Dialect } from './schema.ts'

export type Value = string | number | null | Buffer

/** Parameters by name. In SQL they are written as `:name`. */
export type Parameters = Readonly<Record<string, Value>>

export interface Queries {
  /** Runs one statement and returns its rows. @throws CallError if the database does not answer */
  all(sql: string, parameters?: Parameters): MaybePromise<Record<string, unknown>[]>
}

/** A step of the end of a change: a record of the audit trail, or a statement. */
export type LastStep =
  | { readonly record: Readonly<Record<string, string | number | null>> }
  | { readonly statement: readonly [sql: string, parameters: Parameters] }

/** The queries of a change. */
export interface Transaction extends Queries {
  /**
   * Holds what later statements read. Returns the ids of the rows. Always the same order, so that changes do
   * not wait for one another in a circle: names, the account, users, projects, the session. Absent: changes
   * run one at a time.
   */
  readonly hold?: ((what: Hold) => Promise<ReadonlySet<string>>) | undefined
  /**
   * Runs the last steps and commits, in one message: the order of changes is locked for the time that the
   * database takes for it, however far away it is. Returns the numbers of the records. Absent: the steps are
   * statements like the others.
   */
  readonly commit?: ((steps: readonly LastStep[]) => Promise<readonly number[]>) | undefined
}

export interface Database extends Queries {
  readonly dialect: Dialect
  /**
   * The queries of verifying and issuing, for which many callers wait. While the database has left one of
   * them unanswered, they fail at once. Absent if the database is on this machine.
   */
  readonly verifying?: Queries
  /**
   * The changes of all processes. A change is acknowledged only when every process of this host knows it;
   * another host knows it within the staleness bound.
   */
  readonly changes: Changes
  /**
   * Runs `work` in one transaction: either all of its changes take effect, or none. Reads outside never see
   * half of it. Its records have numbers in the order of the commits. Each fact that `work` has read of what
   * it holds is still true when it ends. It runs again if changes waited for one another in a circle, and the
   * database ended this one.
   *
   * @param recorded what may have been committed so far
   */
  transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    recorded: () => readonly FeedRecord[],
  ): Promise<T>
  /**
   * Keeps outside the database what a transaction has made, and that it is known here. Resolves when both are
   * on the disk: the change is acknowledged then. Absent if the database is a file of this host.
   */
  keep?(made: readonly AuditRecord[]): Promise<void>
  /**
   * Resolves when everything that was read until now is on the disk. An answer must not be ahead of the
   * directory on the disk: a token of a change that is lost would have the number of another one. Absent if a
   * change is seen only when it is durable.
   */
  durable?(): MaybePromise<void>
  /**
   * Gives some space of removed rows back to the system. Returns whether there is more. Absent if the
   * database does that itself.
   */
  shrink?(): Promise<boolean>
  close(): Promise<void>
}

/** A row with the same unique name already exists. */
export class AlreadyExists extends Error {
  override readonly name = 'AlreadyExists'
}

/** A permission selects a project that the account does not have. */
export class NoSuchProject extends Error {
  override readonly name = 'NoSuchProject'

  readonly account: string
  readonly project: string

  constructor(account: string, project: string) {
    super(`account \`${account}\` has no project \`${project}\``)
    this.account = account
    this.project = project
  }
}
