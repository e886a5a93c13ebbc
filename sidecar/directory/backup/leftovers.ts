/**
 * The file of a restoration that was killed: a part of a directory, with its password hashes, that is no
 * longer read.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isOfRestoration } from '../../base/data-folder.ts'
import { isDamage } from '../sqlite-snapshot.ts'

/** Removes such files. One that a restoration still writes stays, and one that this process may not open. */
export function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder).filter(isOfRestoration)) {
    const path = join(folder, name)
    if (!isAbandoned(path)) continue
    try {
      rmSync(path, { force: true })
    } catch {
      // On a read-only file system, it stays as it is.
    }
  }
}

/** Whether no process holds the lock that SQLite takes with the first row. */
function isAbandoned(path: string): boolean {
  try {
    using database = new DatabaseSync(path, { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    // It was killed at a moment when its file was not one of SQLite yet.
    return isDamage(error)
  }
}
