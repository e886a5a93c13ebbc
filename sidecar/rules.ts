/** The rules in force: the compiled matrix, and the file that it is read from again when it changes. */
import { readFileSync, statSync } from 'node:fs'
import { compile, type Engine } from '../engine/index.ts'
import { loadMatrix, MATRIX_BYTES_MAX, MatrixError, supportMatrix } from '../matrix/index.ts'

export interface RulesOptions {
  /** Matrix file; absent: the shipped matrix, which never changes. */
  readonly path?: string | undefined
  readonly strict: boolean
  /** How often the file is looked at, in milliseconds; 0: only on `reload`. */
  readonly pollMs: number
  /** A file that cannot be used; the last good rules stay in force. */
  readonly onRefused: (error: Error) => void
}

/** Holds the engine in force. A caller reads `engine` once for each question, so that every answer is of one matrix. */
export class Rules {
  #engine: Engine
  #lastSeen: string | undefined
  readonly #options: RulesOptions
  readonly #watchers = new Set<(engine: Engine) => void>()
  readonly #timer: NodeJS.Timeout | undefined

  /** @throws MatrixError, or the file's error: without valid rules nothing is served */
  constructor(options: RulesOptions) {
    this.#options = options
    this.#lastSeen = this.#look()
    this.#engine = this.#read()
    if (options.path !== undefined && options.pollMs > 0)
      this.#timer = setInterval(() => this.reload(), options.pollMs).unref()
  }

  get engine(): Engine {
    return this.#engine
  }

  /** Reads the file again if it is another than the one last seen. One that cannot be used changes nothing. */
  reload(): void {
    try {
      const seen = this.#look()
      if (seen === this.#lastSeen) return
      // Noted before it is read: a file that is refused is refused once, not at every look.
      this.#lastSeen = seen
      const engine = this.#read()
      if (engine.digest === this.#engine.digest) return
      this.#engine = engine
      for (const watcher of this.#watchers) watcher(engine)
    } catch (error) {
      this.#options.onRefused(error as Error)
    }
  }

  /** Calls `watcher` with every engine that comes into force from now on; returns how to stop that. */
  watch(watcher: (engine: Engine) => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#watchers.clear()
  }

  #read(): Engine {
    const { path, strict } = this.#options
    if (path === undefined) return compile(supportMatrix, { strict })
    const { size } = statSync(path)
    if (size > MATRIX_BYTES_MAX)
      throw new MatrixError([
        { path: '', expected: `expected at most ${MATRIX_BYTES_MAX} bytes, found ${size}` },
      ])
    return compile(loadMatrix(readFileSync(path)), { strict })
  }

  /** Tells one file from another, through links too; a size and a time alone would miss a quick replacement. */
  #look(): string {
    const { path } = this.#options
    const found = path && statSync(path, { bigint: true, throwIfNoEntry: false })
    return found ? [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ') : ''
  }
}
