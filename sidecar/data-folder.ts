/** The data folder: who may read it, and files that come into being whole or not at all. */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** Name of the file in the data folder that holds the administrator's caller token. */
export const ADMINISTRATOR_TOKEN_FILE = 'administrator-token'

/** Makes the folder if need be; nobody but the owner may enter it. */
export function openDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
}

/**
 * Reads a file that only its owner may read, or creates it with what `make` returns. Two processes that
 * start at once end with the same content; a crash leaves no half-written file.
 */
export function readOrCreate(path: string, make: () => string): string {
  const found = readIfThere(path)
  if (found !== undefined) return found
  const temporary = join(dirname(path), `.${randomBytes(8).toString('hex')}.tmp`)
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(descriptor, make())
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  try {
    // Unlike a rename, a link never replaces what another process put there meanwhile.
    linkSync(temporary, path)
    syncFolder(dirname(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(temporary)
  }
  return readFileSync(path, 'utf8')
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
