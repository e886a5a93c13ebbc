/** The subject of the contract's tests: a directory, its store, and new accounts. */
import type { Database } from '../../../sidecar/directory/database.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import type { Location } from '../../support/directory/writer.ts'

/** A new directory. */
export interface Place {
  readonly location: Location
  /** Makes the directory with these statements, as a Portcullis of that version left it. */
  readonly write: (version: number, statements: readonly string[]) => Promise<unknown>
  /** @param now wall clock, in milliseconds since the epoch */
  open(now: () => number): Promise<Opened>
}

export interface Opened {
  readonly store: DirectoryStore
  /** Direct access, for statements that the directory itself never runs. */
  readonly database: Database
}

/** Shared by the tests of a contract: one directory, a clock that they set, and new accounts. */
export interface Subject extends Opened {
  readonly place: Place
  readonly newPlace: () => Promise<Place>
  readonly clock: { nowMs: number }
  /** Creates an account that no other test uses. */
  newAccount(): Promise<Account>
}

export type Account = NonNullable<Awaited<ReturnType<DirectoryStore['records']['account']>>>
