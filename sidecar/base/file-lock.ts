/** A lock for files that commands replace. It ends with its process, so a killed one leaves none behind. */
import { closeSync, fstatSync, openSync, statSync, unlinkSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/**
 * Runs `work` while it holds the lock file.
 *
 * @throws Error if another process holds the lock
 */
export function withLock<T>(path: string, work: () => T): T {
  const descriptor = openSync(path, 'a', 0o600)
  try {
    // Node has no locks of files, SQLite does.
    using database = new DatabaseSync(path, { timeout: 0 })
    if (!isTaken(database) || !isStillThere(path, descriptor))
      throw new Error(`${path}: another process is changing the file; try again`)
    try {
      return work()
    } finally {
      unlinkSync(path)
    }
  } finally {
    // Not before the database: it would end the lock.
    closeSync(descriptor)
  }
}

function isTaken(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false
    throw error
  }
}

const SQLITE_BUSY = 5

/** The former holder of the lock has removed the file: the lock of a removed file excludes no process. */
function isStillThere(path: string, descriptor: number): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino
}
