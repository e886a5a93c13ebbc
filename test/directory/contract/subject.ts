/** What the tests of the contract are about: a directory, its store, and accounts of their own. */
import type { Database } from '../../../sidecar/directory/database.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import type { Location } from '../../support/directory/process.ts'

/** A directory that was just made. */
export interface Place {
  readonly location: Location
  /** Statement that makes it look as if a Portcullis of that version had written it. */
  readonly asOfVersion: (version: number) => string
  /** @param now wall clock, in milliseconds since the epoch */
  open(now: () => number): Promise<Opened>
}

export interface Opened {
  readonly store: DirectoryStore
  /** For what the directory itself would never do. */
  readonly database: Database
}

/** What the tests of a contract share: one directory, a clock that they set, and accounts of their own. */
export interface Subject extends Opened {
  readonly place: Place
  readonly newPlace: () => Promise<Place>
  readonly clock: { nowMs: number }
  /** An account that no other test uses. */
  newAccount(): Promise<Account>
}

export type Account = NonNullable<Awaited<ReturnType<DirectoryStore['records']['account']>>>
