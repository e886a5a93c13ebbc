/** The data folder: who may read it, and files that come into being whole or not at all. */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** Where the data folder is by default; the schema of the configuration says so too. */
export const DEFAULT_DATA_FOLDER = './portcullis-data'

/** Name of the file in the data folder that holds the administrator's caller token. */
export const ADMINISTRATOR_TOKEN_FILE = 'administrator-token'

/** Name of the file in the data folder that holds the keys that sign IAM tokens. */
export const SIGNING_KEYS_FILE = 'signing-keys.json'

/**
 * Makes the folder if need be; nobody but the owner may enter it.
 *
 * @returns whether it was in use before
 * @throws Error where it holds what is not ours
 */
export function openDataFolder(folder: string): boolean {
  let names: string[]
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    names = readdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      code === 'EEXIST' || code === 'ENOTDIR'
        ? `data: ${folder}: expected a folder`
        : `data: ${folder} cannot be read (${code})`,
      { cause: error },
    )
  }
  const found = names.filter((name) => !name.endsWith('.tmp'))
  // To close a folder of others to them would be the lesser harm; to fill it is another.
  if (found.length > 0 && !found.includes(SIGNING_KEYS_FILE))
    throw new Error(
      `${folder}: expected an empty folder, or a data folder of Portcullis with its ${SIGNING_KEYS_FILE}`,
    )
  chmodSync(folder, 0o700)
  return found.length > 0
}

/** @throws Error where the folder is none of ours, or cannot be read */
export function expectDataFolder(folder: string): void {
  try {
    accessSync(join(folder, SIGNING_KEYS_FILE), constants.R_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      code === 'ENOENT' || code === 'ENOTDIR'
        ? `${folder}: expected a data folder of Portcullis`
        : `${folder} cannot be read (${code})`,
      { cause: error },
    )
  }
}

/**
 * Reads a file that only its owner may read, or creates it with what `make` returns. Two processes that
 * start at once end with the same content; a crash leaves no half-written file.
 */
export function readOrCreate(path: string, make: () => string): string {
  const found = readIfThere(path)
  if (found !== undefined) return found
  const temporary = writeTemporary(path, make())
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

/** Replaces a file whole: whoever reads sees the old content or the new, after a crash too. */
export function replaceFile(path: string, content: string): void {
  renameSync(writeTemporary(path, content), path)
  syncFolder(dirname(path))
}

/** Runs `work` while nobody else does. @throws Error where somebody does, or was killed while they did */
export function withLock<T>(path: string, work: () => T): T {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Error(`somebody else is at it; if nobody is, remove ${path}`)
  }
  try {
    return work()
  } finally {
    unlinkSync(path)
  }
}

/** Beside the file, so that it can take its place. */
function writeTemporary(path: string, content: string): string {
  const temporary = join(dirname(path), `.${randomBytes(8).toString('hex')}.tmp`)
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    // Unlike `writeSync` it writes all of it or throws: half a file must never take the place of a whole one.
    writeFileSync(descriptor, content)
    fsyncSync(descriptor)
  } catch (error) {
    unlinkSync(temporary)
    throw error
  } finally {
    closeSync(descriptor)
  }
  return temporary
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
