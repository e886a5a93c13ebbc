/** The files of an open SQLite database, to notice when they are exchanged. */
import { statSync } from 'node:fs'

/** Time between two looks at the files, in milliseconds. A look costs some microseconds. */
const LOOK_MS = 10

/**
 * Remembers which files SQLite opened: the database, its log and the index of the log. While they are open,
 * no other file can have their inode. Once one of them is another file, this is reported for good: other
 * processes may have written to either.
 */
export class DirectoryFiles {
  readonly #paths: readonly string[]
  readonly #opened: string
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #exchanged = false

  /** @param path of the database, which is open and in the mode of a write-ahead log */
  constructor(path: string) {
    this.#paths = [path, `${path}-wal`, `${path}-shm`]
    this.#opened = this.#identity()
  }

  /** Whether a file was exchanged, by a look of at most 10 milliseconds ago. */
  wereExchanged(nowMs: number): boolean {
    return nowMs - this.#lookedAtMs < LOOK_MS ? this.#exchanged : this.areExchanged(nowMs)
  }

  /** Whether a file was exchanged, by a look of now. */
  areExchanged(nowMs = performance.now()): boolean {
    this.#lookedAtMs = nowMs
    this.#exchanged ||= this.#identity() !== this.#opened
    return this.#exchanged
  }

  /**
   * The content went back in time, although the files are the same: for example, a backup was restored into
   * them.
   */
  reportExchanged(): void {
    this.#exchanged = true
  }

  #identity(): string {
    return this.#paths
      .map((path) => {
        try {
          const found = statSync(path, { throwIfNoEntry: false })
          return found ? `${found.dev} ${found.ino}` : 'missing'
        } catch {
          return 'unknown'
        }
      })
      .join(', ')
  }
}
