/** Opens the directory: a file on this host, or a PostgreSQL database that several hosts share. */
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Secret } from '../base/secret.ts'
import type { Tracer } from '../base/tracing.ts'
import type { Database } from './database.ts'
import type { KnownPosition } from './feed/known-position.ts'
import type { FeedRecord } from './feed/touches.ts'
import { DirectoryStore } from './store.ts'

export interface SharedDirectory {
  /** URL of the PostgreSQL database. */
  readonly url: Secret
  /**
   * The staleness bound: how long statuses of tokens are remembered without word that nothing was changed, in
   * milliseconds; 0: every check queries the database.
   */
  readonly stalenessMs: number
  /** Most connections for queries. One more connection listens for notifications. */
  readonly poolSize: number
  /** How long the database may take to answer, in milliseconds. */
  readonly timeoutMs: number
  /**
   * Called when notifications of other processes' changes begin or cease to arrive. Without them, a change
   * takes effect here after `stalenessMs` at the latest.
   */
  readonly onListening?: (on: boolean) => void
  /** The last change that this host has known of, and that it will know of; default: none is known yet. */
  readonly known?: KnownPosition
  /**
   * Processes that are notified of a change before it is acknowledged. PostgreSQL notifies all others shortly
   * after.
   */
  readonly siblings?: Siblings | undefined
}

/** Other processes on this host that follow the same directory. */
export interface Siblings {
  /** Calls `hear` from now on with what each change of another process recorded. */
  /** @param hear resolves when this process knows of them, and of what was recorded before them */
  watch(hear: (records: readonly FeedRecord[]) => MaybePromise<void>): void
  /** This process changed the directory. Resolves when no sibling uses an older state. Never rejects. */
  changed(records: readonly FeedRecord[]): Promise<void>
}

export interface DirectoryOptions {
  /** Called once when the file is no longer the one that was opened; every call fails then. */
  readonly onReplaced?: () => void
  /** Called once when damage is found in the file that is open; every call fails then. */
  readonly onDamaged?: (problem: string) => void
  /** Most changes that wait in each lane; default: 1,000. */
  readonly changesWaiting?: number | undefined
  /** How long those who follow the file may answer without further word, in milliseconds; default: 5,000. */
  readonly stalenessMs?: number | undefined
  /** `undefined`: there are no traces. */
  readonly tracer?: Tracer | undefined
}

/**
 * Opens the shared directory, or else the file.
 *
 * @param file SQLite file, used if no directory is shared
 * @param now wall clock, in milliseconds since the epoch
 * @throws Error that names the file or `directory.url`, but never quotes the URL, because it contains a
 *   password
 */
export async function openDirectory(
  file: string,
  shared: SharedDirectory | undefined,
  now: () => number,
  { onReplaced, onDamaged, changesWaiting, stalenessMs, tracer }: DirectoryOptions = {},
): Promise<DirectoryStore> {
  if (shared === undefined) {
    const { openSqlite } = await import('./sqlite.ts')
    const database = openSqlite(file, { onReplaced, onDamaged, stalenessMs })
    return new DirectoryStore(await tracedIfOn(database, tracer), now, { changesWaiting })
  }
  const { openPostgres } = await import('./postgres.ts')
  const database = await openPostgres(shared)
  await database.follow()
  const { siblings } = shared
  siblings?.watch((records) => database.hear(records))
  return new DirectoryStore(await tracedIfOn(database, tracer), now, {
    onChanged: (records) => siblings?.changed(records),
    changesWaiting,
  })
}

async function tracedIfOn(database: Database, tracer: Tracer | undefined): Promise<Database> {
  if (tracer === undefined) return database
  return (await import('./traced-database.ts')).tracedDatabase(database, tracer)
}
