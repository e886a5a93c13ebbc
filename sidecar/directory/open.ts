/** Opens the directory: a file of this host, or a PostgreSQL that several hosts share. */
import type { Secret } from '../base/secret.ts'
import { DirectoryStore } from './store.ts'
import { DirectoryVerification } from './verification.ts'

export interface SharedDirectory {
  /** Where PostgreSQL is. */
  readonly url: Secret
  /** How long its answer about a token is relied on, in milliseconds; 0: every check asks. */
  readonly stalenessMs: number
  /** Connections; one more listens. */
  readonly poolSize: number
  /** How long it may take to answer, in milliseconds. */
  readonly timeoutMs: number
  /** Called when changes of other processes begin or cease to be heard of; unheard, they count after `stalenessMs`. */
  readonly onListening?: (on: boolean) => void
  /** Who hears of a change before it is acknowledged; others hear of it as soon as PostgreSQL tells them. */
  readonly siblings?: Siblings | undefined
}

/** Other processes of this host that remember what the same directory said. */
export interface Siblings {
  /** Calls `forget` at each change that one of them makes, from now on. */
  watch(forget: () => void): void
  /** Something changed here: resolves when none of them relies on what it had read before. Never rejects. */
  changed(): Promise<void>
}

/**
 * @param file SQLite file, used where no directory is shared
 * @param now wall clock, in milliseconds since the epoch
 * @throws Error that names the file or `directory.url`, and never what is in the URL
 */
export async function openDirectory(
  file: string,
  shared: SharedDirectory | undefined,
  now: () => number,
): Promise<DirectoryStore> {
  if (shared === undefined) {
    const { openSqlite } = await import('./sqlite.ts')
    return new DirectoryStore(openSqlite(file), now)
  }
  const { openPostgres } = await import('./postgres.ts')
  const { CachedDirectory } = await import('./cached.ts')
  const database = await openPostgres(shared)
  const cached = new CachedDirectory(new DirectoryVerification(database), shared)
  await database.watch({
    changed: () => cached.clear(),
    listening: (on) => shared.onListening?.(on),
  })
  const { siblings } = shared
  siblings?.watch(() => cached.clear())
  return new DirectoryStore(database, now, cached, () => siblings?.changed())
}
