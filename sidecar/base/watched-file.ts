/** A file that is followed: read again whenever it is another than the one last seen. */
import { statSync } from 'node:fs'

export interface WatchedFileOptions<T> {
  readonly path: string
  /** How often it is looked at, in milliseconds; 0: only on `reload`. */
  readonly pollMs: number
  /** Throws where the file cannot be used. */
  readonly read: () => T
  readonly onChanged: (value: T) => void
  /** It cannot be used; nothing has changed. Called once for each such file. */
  readonly onRefused: (error: Error) => void
}

export class WatchedFile<T> {
  readonly #options: WatchedFileOptions<T>
  readonly #timer: NodeJS.Timeout | undefined
  #seen: string | undefined
  /** What it held at first. */
  readonly first: T

  /** @throws what `read` throws */
  constructor(options: WatchedFileOptions<T>) {
    this.#options = options
    try {
      this.#seen = this.#look()
    } catch {
      // It is read all the same: `read` has the words for what cannot be.
    }
    this.first = options.read()
    if (options.pollMs > 0) this.#timer = setInterval(() => this.reload(), options.pollMs).unref()
  }

  /** Looks at the file now. */
  reload(): void {
    const { read, onChanged, onRefused } = this.#options
    try {
      const seen = this.#look()
      if (seen === this.#seen) return
      // Noted before it is read: a file that is refused is refused once, not at every look.
      this.#seen = seen
      onChanged(read())
    } catch (error) {
      // What is no fault of the file passes, and then it is to be read.
      if (PASSING.has((error as NodeJS.ErrnoException).code ?? '')) this.#seen = undefined
      onRefused(error as Error)
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Tells one file from another, through links too; a size and a time alone would miss a quick replacement. */
  #look(): string {
    const found = statSync(this.#options.path, { bigint: true, throwIfNoEntry: false })
    return found ? [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ') : ''
  }
}

/** No descriptor or memory left, or a disk that stumbled. */
const PASSING: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EIO'])
