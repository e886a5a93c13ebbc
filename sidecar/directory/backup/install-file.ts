/** Makes a complete file the directory of a data folder, at once. */
import { existsSync, linkSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { giveToOwnerOf, syncFolder } from '../../base/data-folder.ts'
import { LAST_CHANGE } from '../schema.ts'
import type { Replaced } from './backup-content.ts'
import type { Scratch } from './scratch.ts'

/** @returns where the file is that was there before @throws Error if a process uses it */
export function installFile(
  scratch: Scratch,
  file: string,
  replaced: Replaced | undefined,
  nowMs: number,
): string | undefined {
  scratch.finish()
  giveToOwnerOf(existsSync(file) ? file : dirname(file), scratch.path)
  using _held = holdAlone(file, replaced)
  const keptAs = `${file}.replaced-${new Date(nowMs).toISOString().replaceAll(':', '')}`
  const kept = keep(file, keptAs)
  moveLogAway(file, keptAs)
  renameSync(scratch.path, file)
  syncFolder(dirname(file))
  return kept
}

/** A second name: the file is there under the first one all the time. */
function keep(file: string, keptAs: string): string | undefined {
  if (!existsSync(file)) return undefined
  linkSync(file, keptAs)
  return keptAs
}

/**
 * A log beside a file that was lost or cannot be read is still there. SQLite would take it for that of the
 * new file, because nothing in a log says whose it is.
 */
function moveLogAway(file: string, keptAs: string): void {
  for (const end of ['-wal', '-shm'])
    if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${keptAs}${end}`)
}

/**
 * Keeps others from opening the file. The log beside it is emptied and removed, because it would be taken for
 * that of the new file.
 *
 * @throws Error if a process has it open, or has changed it since it was read
 */
function holdAlone(file: string, replaced: Replaced | undefined): Disposable {
  if (!existsSync(file)) return { [Symbol.dispose]: () => {} }
  const database = new DatabaseSync(file, { timeout: 0 })
  const release = { [Symbol.dispose]: () => database.close() }
  try {
    // SQLite keeps the mode of a write-ahead log only if no other process has the file open.
    const mode = database.prepare('PRAGMA journal_mode = DELETE').get()?.journal_mode
    if (mode !== 'delete') throw inUse(file)
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    if (replaced?.unreadable !== undefined) return release
    const { last } = database.prepare(LAST_CHANGE).get() as { last: number }
    if (last !== (replaced?.lastChange ?? 0))
      throw new Error(`${file}: the directory was changed in the meantime; nothing was restored`)
  } catch (error) {
    const { errcode } = error as { errcode?: number }
    // One that cannot be read has no owner.
    if (
      errcode !== undefined &&
      errcode !== SQLITE_BUSY &&
      (replaced?.unreadable !== undefined || lacksTables(error))
    )
      return release
    release[Symbol.dispose]()
    throw errcode === SQLITE_BUSY ? inUse(file) : error
  }
  return release
}

const SQLITE_BUSY = 5

/** The file is empty: a process has created it and done nothing else. */
function lacksTables(error: unknown): boolean {
  return (error as Error).message.startsWith('no such table')
}

function inUse(file: string): Error {
  return new Error(`${file}: a process is using the directory; stop the sidecar, then restore`)
}
