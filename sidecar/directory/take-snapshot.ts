/**
 * Reads a directory as it is at one moment, without changing it: beside processes that serve from it, or
 * while none does.
 */
import type { DirectoryPlace, Snapshot } from './snapshot.ts'

/**
 * Runs `work` on one state of the directory. Changes that are made meanwhile are not in it, and do not wait
 * for it.
 *
 * @throws Error that names the file or `directory.url`, but never quotes the URL
 */
export async function withSnapshot<T>(
  { file, shared }: DirectoryPlace,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  if (shared === undefined) {
    const { ofSqlite } = await import('./sqlite-snapshot.ts')
    return ofSqlite(file, work)
  }
  const { ofPostgres } = await import('./postgres-snapshot.ts')
  return ofPostgres(shared, work)
}
