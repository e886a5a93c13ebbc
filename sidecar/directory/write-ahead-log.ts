/**
 * The write-ahead log of SQLite, which is synced outside the event loop, so that a slow disk holds up no
 * check.
 */
import { close, fdatasync, fstatSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { type CallError, callError } from '../base/call-error.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { SharedRun } from '../base/shared-run.ts'

function syncData(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error)))
  })
}

const DISK_FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT'])

/** The error of a change that could not be written to a disk of this host. */
export function diskError(error: unknown): CallError {
  const isFull = DISK_FULL.has((error as NodeJS.ErrnoException).code)
  return callError(isFull ? 'DIRECTORY_FULL' : 'DIRECTORY_UNAVAILABLE', {}, { cause: error })
}

/** Longest time that a change stays in the log beside the file, in milliseconds. */
const LOG_AGE_MS_MAX = 1_000

export class WriteAheadLog {
  readonly #descriptor: number
  readonly #syncs = new SharedRun(() => this.#sync())
  /** Of the directory, up to which everything is on the disk. */
  #durableVersion: number | undefined
  /**
   * Whether a sync has failed. Nothing is known then of what was written before, and no sync succeeds until
   * `recover` has.
   */
  failed = false

  /**
   * @param path of the database, which is open. SQLite has no locks on the log, which closing a descriptor of
   *   it would end.
   */
  constructor(path: string) {
    this.#descriptor = openSync(`${path}-wal`, 'r')
  }

  get bytes(): number {
    return fstatSync(this.#descriptor).size
  }

  /**
   * Resolves when all that any process has committed until now is on the disk. Those who ask meanwhile share
   * the next sync.
   */
  sync(): Promise<void> {
    return this.#syncs.run()
  }

  async #sync(): Promise<void> {
    if (this.failed) throw callError('DIRECTORY_UNAVAILABLE', {})
    try {
      await syncData(this.#descriptor)
    } catch (error) {
      this.failed = true
      throw diskError(error)
    }
  }

  /** Resolves when the directory is on the disk as it was at this version, which was read just now. */
  hold(version: number): MaybePromise<void> {
    if (version === this.#durableVersion) return undefined
    return this.sync().then(() => {
      this.#durableVersion = version
    })
  }

  /** All that was written goes to the file itself. @throws what `empty` throws */
  recover(empty: () => void): void {
    empty()
    this.failed = false
  }

  /** The same, and says whether it went well. */
  recovers(empty: () => void): boolean {
    try {
      this.recover(empty)
    } catch {}
    return !this.failed
  }

  async close(): Promise<void> {
    await this.#syncs.settled()
    await promisify(close)(this.#descriptor)
  }
}

/**
 * Empties the log a while after a change. The log is not protected against flipped bits: SQLite ignores
 * everything after one.
 */
export class EmptyingLog {
  readonly #empty: () => Promise<boolean>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #stopped = false

  /** @param empty says whether there is nothing left to do */
  constructor(empty: () => Promise<boolean>) {
    this.#empty = empty
  }

  soon(): void {
    if (this.#stopped) return
    this.#timer ??= setTimeout(() => this.now(), LOG_AGE_MS_MAX).unref()
  }

  now(): void {
    if (this.#stopped || this.#running !== undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running = this.#empty()
      .catch(() => false)
      .then((isDone) => {
        this.#running = undefined
        if (!isDone) this.soon()
      })
  }

  /** Resolves when nothing works on it any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
  }
}
