/**
 * A file that is replaced when it is large or old. It gets a name with the time, and the oldest ones are
 * deleted. Several processes may write the same file, and another program may rename or delete it.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Destination } from '../backlog.ts'

export interface FileOptions {
  readonly path: string
  /** Size from which a file is replaced, in bytes. */
  readonly bytesMax: number
  /** Age from which a file is replaced, in milliseconds. */
  readonly ageMsMax: number
  /** How many replaced files are kept. */
  readonly keep: number
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs?: (() => number) | undefined
}

/** The suffix of a replaced file: its time, and the process that replaced it. */
const REPLACED = /^\d{8}T\d{9}Z-\d+$/

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** No other user can redirect it with a link, and a pipe without a reader is an error at once. */
const FLAGS = O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK

/** How often the file is looked at, in milliseconds. */
const LOOK_MS = 1_000

export class LogFile implements Destination {
  readonly #options: FileOptions
  #handle: FileHandle | undefined
  #inode = 0
  #size = 0
  #lookedMs = Number.NEGATIVE_INFINITY
  #createdMs = 0

  constructor(options: FileOptions) {
    this.#options = options
  }

  /** @throws Error that names the file where it cannot be opened */
  async open(): Promise<void> {
    const { path } = this.#options
    try {
      await this.#open()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new Error(`decision_log.file.path: ${path} cannot be written (${code})`, { cause: error })
    }
  }

  async write(blocks: readonly Buffer[]): Promise<number> {
    const handle = await this.#current(blocks.reduce((sum, { length }) => sum + length, 0))
    const { bytesWritten } = await handle.writev(blocks)
    this.#size += bytesWritten
    return bytesWritten
  }

  async close(): Promise<void> {
    await this.#handle?.close()
    this.#handle = undefined
  }

  /** The file for a number of further bytes. */
  async #current(more: number): Promise<FileHandle> {
    const { path, bytesMax, ageMsMax, now } = this.#options
    await this.#look()
    const isLarge = this.#size > 0 && this.#size + more > bytesMax
    const isOld = this.#size > 0 && now() - this.#createdMs >= ageMsMax
    if (!isLarge && !isOld) return this.#handle ?? this.#open()
    const time = new Date(now()).toISOString().replace(/[-:.]/g, '')
    await rename(path, `${path}.${time}-${process.pid}`).catch(unlessMissing)
    const handle = await this.#open()
    await this.#deleteOldest()
    return handle
  }

  /** Finds changes to the file by others. Asking each time would cost as much as writing. */
  async #look(): Promise<void> {
    const { path, monotonicMs = () => performance.now() } = this.#options
    const nowMs = monotonicMs()
    if (nowMs - this.#lookedMs < LOOK_MS) return
    this.#lookedMs = nowMs
    const found = await stat(path).catch(unlessMissing)
    if (found === undefined || found.ino !== this.#inode) await this.#open()
    else this.#size = found.size
  }

  async #open(): Promise<FileHandle> {
    await this.close()
    const { path, now } = this.#options
    this.#handle = await open(path, FLAGS, 0o600)
    const stats = await this.#handle.stat()
    const { ino, size, birthtimeMs } = stats
    this.#inode = ino
    this.#size = size
    if (stats.isFile() && size > 0 && (await isWithinLine(path, size)))
      this.#size += (await this.#handle.writev([LINE_END])).bytesWritten
    // Some file systems do not know when a file was created.
    this.#createdMs = birthtimeMs > 0 ? birthtimeMs : now()
    return this.#handle
  }

  async #deleteOldest(): Promise<void> {
    const { path, keep } = this.#options
    const start = `${basename(path)}.`
    const replaced = (await readdir(dirname(path)))
      .filter((name) => name.startsWith(start) && REPLACED.test(name.slice(start.length)))
      .toSorted()
    for (const name of replaced.slice(0, Math.max(0, replaced.length - keep)))
      await unlink(join(dirname(path), name)).catch(unlessMissing)
  }
}

const LINE_END = Buffer.from('\n')

/** Whether the file ends within a line: a process was killed, or the disk was full. */
async function isWithinLine(path: string, size: number): Promise<boolean> {
  const reading = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined)
  // A file that may be written and not read is only appended to.
  if (reading === undefined) return false
  try {
    const { bytesRead, buffer } = await reading.read(Buffer.alloc(1), 0, 1, size - 1)
    return bytesRead === 1 && !buffer.equals(LINE_END)
  } finally {
    await reading.close()
  }
}

/** Another process may have been faster. */
function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
