/** The files of an open SQLite database, to notice when they are exchanged. */
import { statSync } from 'node:fs'
import { callError } from '../base/call-error.ts'

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

  /** As `areExchanged`, by a look of at most 10 milliseconds ago. */
  wereExchanged(nowMs: number): boolean {
    return nowMs - this.#lookedAtMs < LOOK_MS ? this.#exchanged : this.areExchanged(nowMs)
  }

  /** Whether a file was exchanged, by a look of now. @throws CallError where the system does not say */
  areExchanged(nowMs = performance.now()): boolean {
    this.#exchanged ||= this.#identity() !== this.#opened
    this.#lookedAtMs = nowMs
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
    return this.#paths.map(identityOf).join(', ')
  }
}

/** Only another file counts as exchanged, for good. A failure of the system may end in a moment. */
function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path)
    return `${dev} ${ino}`
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing'
    throw callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
  }
}
