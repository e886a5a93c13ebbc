/**
 * The data folder: who may read it, and how its files are written so that a crash leaves no half-written one.
 */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Exposure, exposureOf, isReadOnly, STICKY } from './exposure.ts'

/** The default path of the data folder. The schema of the configuration names the same one. */
export const DEFAULT_DATA_FOLDER = './portcullis-data'

/** The file in the data folder with the administrator's caller token. */
export const ADMINISTRATOR_TOKEN_FILE = 'administrator-token'

/** The file in the data folder with the key of the hashes of static tokens. */
export const PEPPER_FILE = 'static-token-pepper'

/** The file in the data folder with the directory, where no directory is shared. */
export const DIRECTORY_FILE = 'directory.sqlite'

/** The file in the data folder with the keys that sign IAM tokens. */
export const SIGNING_KEYS_FILE = 'signing-keys.json'

/** The files in the data folder that no other user may read. */
export const SECRET_FILES = [SIGNING_KEYS_FILE, PEPPER_FILE, ADMINISTRATOR_TOKEN_FILE, DIRECTORY_FILE]

export interface OpenedFolder {
  /** Whether it was in use before. */
  readonly inUse: boolean
  /** Whether there is a file of a restoration: one is under way, or was killed. */
  readonly restoring: boolean
  /** Whether others may enter it. */
  readonly shared: boolean
  /** The problem to warn of; `undefined`: nothing. */
  readonly problem: string | undefined
}

/**
 * Creates the folder if it does not exist. Only its owner may enter it, unless the folder cannot be changed.
 *
 * @param ours a folder with one of these files is one of Portcullis
 * @throws Error if it contains files of another program, or if others can change it
 */
export function openDataFolder(folder: string, ours: readonly string[] = [SIGNING_KEYS_FILE]): OpenedFolder {
  const names = namesIn(folder, makeFolder)
  removeAbandoned(folder, names)
  return {
    inUse: isInUse(folder, names, ours),
    restoring: names.some(isOfRestoration),
    ...closeToOthers(folder),
  }
}

/** @throws Error that names the key of the configuration */
function namesIn(folder: string, prepare: (folder: string) => void = () => {}): string[] {
  try {
    prepare(folder)
    return readdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      code === 'EEXIST' || code === 'ENOTDIR'
        ? `data: ${folder}: expected a folder`
        : `data: ${folder} cannot be read (${code})`,
      { cause: error },
    )
  }
}

/**
 * Whether the folder has files of Portcullis. A folder of another program must neither be closed to its users
 * nor filled with our files.
 *
 * @param ours a folder with one of these files is one of Portcullis
 * @throws Error if it contains files of another program
 */
function isInUse(folder: string, names: readonly string[], ours: readonly string[]): boolean {
  const found = names.filter((name) => !name.endsWith('.tmp'))
  if (found.length > 0 && !ours.some((name) => found.includes(name)))
    throw new Error(
      `${folder}: expected an empty folder, or a data folder of Portcullis with its ${ours.join(' or ')}`,
    )
  return found.length > 0
}

/**
 * A restore may replace any lost file, so one that is left is enough. The folder may be missing.
 *
 * @throws Error if it is neither empty nor a data folder
 */
export function expectRestorable(folder: string): void {
  if (existsSync(folder)) isInUse(folder, namesIn(folder), SECRET_FILES)
}

/** A name for the file in which a restoration prepares the directory. */
export function restorationName(): string {
  return `.restore-${randomBytes(8).toString('hex')}.tmp`
}

export function isOfRestoration(name: string): boolean {
  return /^\.restore-[0-9a-f]{16}\.tmp$/.test(name)
}

/**
 * Closes the folder to others. It stays as it is on a read-only file system, and where it belongs to root, as
 * the volumes of Kubernetes do.
 */
function closeToOthers(folder: string): Omit<OpenedFolder, 'inUse' | 'restoring'> {
  try {
    chmodSync(folder, 0o700)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EROFS' && code !== 'EPERM') throw error
  }
  const { shared, exposure } = exposureOfFolder(folder)
  if (exposure?.refused) throw new Error(`${folder}: ${exposure.problem}`)
  return { shared, problem: exposure?.problem }
}

/** Whether others may enter the folder, and whether to say so. */
export function exposureOfFolder(folder: string): { shared: boolean; exposure: Exposure | undefined } {
  const exposure = exposureOf(folder)
  return {
    shared: exposure !== undefined,
    exposure: exposure !== undefined && isKeptByRoot(folder) ? undefined : exposure,
  }
}

/**
 * Whether the folder is as Kubernetes mounts secrets: read-only, of root, and with mode 1777. Because of the
 * sticky bit, only root could replace the files of root in it, wherever it can be written. A file that
 * another user adds there is refused for its owner.
 */
function isKeptByRoot(folder: string): boolean {
  const { uid, mode } = statSync(folder)
  return uid === 0 && (mode & STICKY) !== 0 && isReadOnly(folder)
}

/**
 * Looks at the files of the folder that hold secrets.
 *
 * @param others whether others may enter the folder
 * @param onExposed called for each that others can read
 * @throws Error if others can change one
 */
export function expectPrivateIn(
  folder: string,
  names: readonly string[],
  others: boolean,
  onExposed: (path: string, problem: string) => void,
): void {
  for (const name of names) {
    const path = join(folder, name)
    if (!existsSync(path)) continue
    const exposure = exposureOf(path, { mayBeRead: !others })
    if (exposure?.refused) throw new Error(`${path}: ${exposure.problem}`)
    if (exposure !== undefined) onExposed(path, exposure.problem)
  }
}

/** @throws Error if the folder is not a data folder of Portcullis, or cannot be read */
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
 * Reads a file, or creates it with the result of `make` so that only its owner may read it. Two processes
 * that start at the same time get the same content. A crash leaves no half-written file.
 */
export function readOrCreate(path: string, make: () => string): string {
  const found = readIfExists(path)
  if (found !== undefined) return found
  const temporary = temporaryFor(path, make())
  try {
    // Unlike a rename, a link never replaces a file that another process created in the meantime.
    linkSync(temporary, path)
    syncFolder(dirname(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(temporary)
  }
  return readFileSync(path, 'utf8')
}

/**
 * Replaces a file atomically: a reader sees either the old content or the new one, even after a crash. The
 * file keeps its owner, its group and its mode, so that its readers can still read it.
 *
 * @throws Error if this user may not give the file away to its owner
 */
export function replaceFile(path: string, content: string): void {
  const { uid, gid, mode } = statSync(path)
  const temporary = writeTemporary(path, content)
  try {
    const made = statSync(temporary)
    if (made.uid !== uid || made.gid !== gid) chownSync(temporary, uid, gid)
    chmodSync(temporary, mode & 0o777)
    renameSync(temporary, path)
  } catch (error) {
    unlinkSync(temporary)
    throw error
  }
  syncFolder(dirname(path))
}

/**
 * Writes a file that only its owner can read, atomically: after a crash it is there with all of its content,
 * or not at all.
 */
export function writeWhole(path: string, content: string): void {
  const temporary = writeTemporary(path, content)
  try {
    renameSync(temporary, path)
  } catch (error) {
    unlinkSync(temporary)
    throw error
  }
  syncFolder(dirname(path))
}

/** @throws Error that names the file where the folder cannot be written */
function temporaryFor(path: string, content: string): string {
  try {
    return writeTemporary(path, content)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EROFS' && code !== 'EACCES') throw error
    throw new Error(`${path} is missing, and cannot be created in this folder (${code})`, { cause: error })
  }
}

/**
 * Writes a temporary file in the same folder as the file that it will replace: a rename works only within one
 * file system.
 */
function writeTemporary(path: string, content: string): string {
  const temporary = temporaryIn(dirname(path))
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    // Unlike `writeSync`, `writeFileSync` writes everything or throws: half a file must never replace a whole
    // one.
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

/**
 * A path for a file that is not complete yet. Removes those that processes which were killed have left in the
 * folder: one may hold the private keys of tokens.
 */
export function temporaryIn(folder: string): string {
  try {
    removeAbandoned(folder, readdirSync(folder))
  } catch {
    // A folder that cannot be read may be writable.
  }
  return join(folder, `.portcullis-${randomBytes(8).toString('hex')}.tmp`)
}

/** A file without a write for this long is abandoned, in milliseconds: to write one takes a moment. */
const ABANDONED_MS = 3_600_000

/**
 * By the last change in the folder and not by the clock: another one may have set the times of the files, and
 * would let one process remove what another one writes.
 */
function removeAbandoned(folder: string, names: readonly string[]): void {
  for (const name of names.filter((each) => /^\.portcullis-[0-9a-f]{16}\.tmp$/.test(each)))
    try {
      if (statSync(folder).mtimeMs - statSync(join(folder, name)).mtimeMs > ABANDONED_MS)
        unlinkSync(join(folder, name))
    } catch {
      // It is gone, or this process may not remove it.
    }
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Gives a new file to the owner of another file or of a folder: root may put back what another user's sidecar
 * reads.
 */
export function giveToOwnerOf(other: string, path: string): void {
  const [{ uid, gid }, made] = [statSync(other), statSync(path)]
  if (process.geteuid?.() === 0 && (made.uid !== uid || made.gid !== gid)) chownSync(path, uid, gid)
}

/**
 * Creates a folder that only its owner may enter, with those above it, where it does not exist. Its name
 * lasts: a power cut that took it away would take all that is in it.
 */
export function makeFolder(path: string): void {
  const whole = resolve(path)
  const first = mkdirSync(whole, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = whole; made.length >= first.length; made = dirname(made)) syncFolder(dirname(made))
}

/** Makes the names in a folder last. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
