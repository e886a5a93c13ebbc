/** Opens the directory: a file on this host, or a PostgreSQL database that several hosts share. */
import type { Secret } from '../base/secret.ts'
import type { Tracer } from '../base/tracing.ts'
import type { Database } from './database.ts'
import type { ChangeWatcher } from './listener.ts'
import { DirectoryStore } from './store.ts'
import { DirectoryVerification } from './verification.ts'

export interface SharedDirectory {
  /** URL of the PostgreSQL database. */
  readonly url: Secret
  /** The staleness bound: how long the status of a token is cached, in milliseconds; 0: every check queries the database. */
  readonly stalenessMs: number
  /** Most connections for queries. One more connection listens for notifications. */
  readonly poolSize: number
  /** How long the database may take to answer, in milliseconds. */
  readonly timeoutMs: number
  /**
   * Called when notifications of other processes' changes begin or cease to arrive. Without them, a change takes effect
   * here after `stalenessMs` at the latest.
   */
  readonly onListening?: (on: boolean) => void
  /** Called when the database has not answered for `stalenessMs` (`false`), and when it answers again. */
  readonly onReachable?: (reachable: boolean) => void
  /**
   * Called when the database lacks the last change that this process knows of (`true`), and when one is reached that has it. Until
   * then every query fails with `DIRECTORY_CHANGES_LOST`.
   */
  readonly onChangesLost?: (lost: boolean) => void
  /** Processes that are notified of a change before it is acknowledged. PostgreSQL notifies all others shortly after. */
  readonly siblings?: Siblings | undefined
}

/** Other processes on this host that cache the same directory. */
export interface Siblings {
  /** Calls `clearCache` from now on at each change that another process makes. */
  watch(clearCache: () => void): void
  /** This process changed the directory. Resolves when no sibling uses an older state any more. Never rejects. */
  changed(): Promise<void>
}

export interface DirectoryOptions {
  /** Called once when the file is no longer the one that was opened; every call fails then. */
  readonly onReplaced?: () => void
  /** Most changes that wait in each lane; default: 1,000. */
  readonly changesWaiting?: number | undefined
  /** `undefined`: there are no traces. */
  readonly tracer?: Tracer | undefined
}

/**
 * Opens the shared directory, or else the file.
 *
 * @param file SQLite file, used if no directory is shared
 * @param now wall clock, in milliseconds since the epoch
 * @throws Error that names the file or `directory.url`, but never quotes the URL, because it contains a password
 */
export async function openDirectory(
  file: string,
  shared: SharedDirectory | undefined,
  now: () => number,
  { onReplaced, changesWaiting, tracer }: DirectoryOptions = {},
): Promise<DirectoryStore> {
  if (shared === undefined) {
    const { openSqlite } = await import('./sqlite.ts')
    return new DirectoryStore(await tracedIfOn(openSqlite(file, onReplaced), tracer), now, { changesWaiting })
  }
  const { openPostgres } = await import('./postgres.ts')
  const { CachedDirectory } = await import('./cached.ts')
  const database = await openPostgres(shared)
  const traced = await tracedIfOn(database, tracer)
  const cached = new CachedDirectory(new DirectoryVerification(traced), shared)
  const watcher: ChangeWatcher = {
    changed: () => cached.clear(),
    listening: (on) => shared.onListening?.(on),
    reachable: (reachable) => shared.onReachable?.(reachable),
  }
  await database.watch(watcher, shared.stalenessMs)
  const { siblings } = shared
  siblings?.watch(() => cached.clear())
  return new DirectoryStore(traced, now, {
    verification: cached,
    onChanged: () => siblings?.changed(),
    changesWaiting,
  })
}

async function tracedIfOn(database: Database, tracer: Tracer | undefined): Promise<Database> {
  if (tracer === undefined) return database
  return (await import('./traced-database.ts')).tracedDatabase(database, tracer)
}
