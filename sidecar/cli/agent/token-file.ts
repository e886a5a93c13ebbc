/**
 * Replaces a file as a whole: a reader finds the old token or the new one, and no other user can read either.
 */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The rights to read a file. */
export interface FileAccess {
  readonly mode: number
  /** Number of the user; `undefined`: as it comes. */
  readonly uid: number | undefined
  /** Number of the group; `undefined`: as it comes. */
  readonly gid: number | undefined
}

/**
 * Writes the file beside itself, then renames it. Mode and owner are set before there is any content.
 *
 * @throws Error of the file system
 */
export function replaceFile(path: string, text: string, { mode, uid, gid }: FileAccess): void {
  const folder = dirname(path)
  // Always the same name: the file of a killed agent is replaced, and such files do not pile up.
  const temporary = join(folder, `.${basename(path)}.portcullis-agent`)
  rmSync(temporary, { force: true })
  // `wx`: a file or link that another process puts there meanwhile is not written to.
  const file = openSync(temporary, 'wx', 0o600)
  try {
    try {
      // Before the mode: a new owner may take away bits of it. The number -1 leaves an owner as they are.
      if (uid !== undefined || gid !== undefined) fchownSync(file, uid ?? -1, gid ?? -1)
      fchmodSync(file, mode)
      writeWhole(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  const opened = openSync(folder, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

export function removeFile(path: string): void {
  rmSync(path, { force: true })
}

export function fileExists(path: string): boolean {
  return existsSync(path)
}

function writeWhole(file: number, text: string): void {
  let left = Buffer.from(text)
  while (left.length > 0) left = left.subarray(writeSync(file, left))
}

/**
 * The number of a user or a group. Names are looked up as the system does, with services like LDAP included.
 *
 * @throws Error if there is no such name
 */
export function numberOf(database: 'passwd' | 'group', name: string | number): number {
  if (typeof name === 'number' || /^\d+$/.test(name)) return Number(name)
  let line = ''
  try {
    line = execFileSync('getent', [database, '--', name], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {}
  const number = line.split(':')[2] ?? ''
  if (/^\d+$/.test(number)) return Number(number)
  throw new Error(`expected the name of a ${database === 'passwd' ? 'user' : 'group'}, or a number`)
}
