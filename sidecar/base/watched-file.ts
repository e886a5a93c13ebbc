/** A file that is polled, and read again when it has changed. */
import { statSync } from 'node:fs'

export interface WatchedFileOptions<T> {
  readonly path: string
  /** Time between two looks at the file, in milliseconds; 0: look only on `reload`. */
  readonly pollMs: number
  /** Reads the file. Throws if its content cannot be used. */
  readonly read: () => T
  /**
   * Reads the changed file while others have their turn, where that takes long; `undefined`: `read` reads it.
   * Rejects if its content cannot be used. There is one such reading at a time.
   *
   * @param closed the watch has ended, and its result is not needed
   */
  readonly readLater?: (closed: AbortSignal) => Promise<T> | undefined
  /** Called when such a reading has ended. @param usable whether the value is that of the file */
  readonly onReadLater?: (usable: boolean) => void
  readonly onChanged: (value: T) => void
  /**
   * The changed file cannot be used, so the last good value stays in force. Called once per change of the
   * file or of the problem.
   */
  readonly onRefused: (error: Error) => void
}

export class WatchedFile<T> {
  readonly #options: WatchedFileOptions<T>
  readonly #timer: NodeJS.Timeout | undefined
  /** The version of the file that was read last. */
  #version: string | undefined
  #usable = true
  #reported: string | undefined
  #reading = false
  readonly #closed = new AbortController()
  /** The value when the watch began. */
  readonly initial: T

  /** Reads the file. @throws what `read` throws */
  constructor(options: WatchedFileOptions<T>) {
    this.#options = options
    try {
      this.#version = this.#currentVersion()
    } catch {
      // `read` fails below for the same reason, and its error explains more.
    }
    this.initial = options.read()
    if (options.pollMs > 0) this.#timer = setInterval(() => this.reload(), options.pollMs).unref()
  }

  /** Whether the file is being read while others have their turn. */
  get reading(): boolean {
    return this.#reading
  }

  /** Looks at the file now, and reads it if it has changed. Returns whether the value is that of the file. */
  reload(): boolean {
    if (this.#reading) return false
    const { read, readLater, onChanged } = this.#options
    try {
      const version = this.#currentVersion()
      if (version === this.#version) return this.#usable
      if (this.#version !== undefined) this.#reported = undefined
      // The version is stored before the file is read: an unusable file is reported once, and not at every
      // look.
      this.#version = version
      this.#usable = false
      const later = readLater?.(this.#closed.signal)
      if (later !== undefined) {
        this.#reading = true
        void this.#await(later)
        return false
      }
      onChanged(read())
      this.#usable = true
    } catch (error) {
      this.#refuse(error as NodeJS.ErrnoException)
    }
    return this.#usable
  }

  close(): void {
    clearInterval(this.#timer)
    this.#closed.abort()
  }

  async #await(later: Promise<T>): Promise<void> {
    const { onChanged, onReadLater } = this.#options
    try {
      const value = await later
      if (!this.#closed.signal.aborted) onChanged(value)
      this.#usable = true
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#refuse(error as NodeJS.ErrnoException)
    }
    this.#reading = false
    if (!this.#closed.signal.aborted) onReadLater?.(this.#usable)
  }

  #refuse(error: NodeJS.ErrnoException): void {
    const { code, message } = error
    this.#usable = false
    // A transient error says nothing about the file: read it again at the next look.
    if (TRANSIENT_ERRORS.has(code ?? '')) this.#version = undefined
    if (this.#reported !== message) this.#options.onRefused(error)
    this.#reported = message
  }

  /** Identifies the file's content, through links too. Size and time alone would miss a quick replacement. */
  #currentVersion(): string {
    const found = statSync(this.#options.path, { bigint: true, throwIfNoEntry: false })
    return found ? [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ') : ''
  }
}

/**
 * No descriptor or memory left, a temporary failure of the disk, or a right that may come back without a
 * change of the file.
 */
const TRANSIENT_ERRORS: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
  'EBUSY',
  'EIO',
  'EACCES',
  'EPERM',
  'ESTALE',
])
