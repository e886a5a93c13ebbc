/** The current rules: the compiled matrix, which is read again when its file changes. */
import { readFileSync, statSync } from 'node:fs'
import { compile, type Engine, type Matrix } from '../engine/index.ts'
import { loadMatrix, MATRIX_BYTES_MAX, MatrixError, supportMatrix } from '../matrix/index.ts'
import { WatchedFile } from './base/watched-file.ts'

export interface RulesOptions {
  /** Matrix file; absent: the matrix of the package, which never changes. */
  readonly path?: string | undefined
  readonly strict: boolean
  /** Time between two looks at the file, in milliseconds; 0: look only on `reload`. */
  readonly pollMs: number
  /** Called if the changed file cannot be used. The last good rules stay in force. */
  readonly onRefused: (error: Error) => void
  /** How long the rules may be in force when they are not known to be those of the file, in milliseconds; default, and 0: for ever. */
  readonly maxAgeMs?: number
  /** Called after each look at the file. */
  readonly onLook?: (found: Look) => void
}

/** What a look at the matrix file showed. */
export interface Look {
  /** The file cannot be used, and the last good rules are in force. */
  readonly refused: boolean
  /** That has been so for longer than `maxAgeMs`. */
  readonly stale: boolean
}

/** Holds the current engine. A caller reads `engine` once for each check, so that each answer comes from one matrix. */
export class Rules {
  #engine: Engine
  readonly #file: WatchedFile<Engine> | undefined
  readonly #timer: NodeJS.Timeout | undefined
  readonly #maxAgeMs: number
  readonly #onLook: ((found: Look) => void) | undefined
  /** When the rules were last known to be those of the file. */
  #confirmedAtMs = performance.now()
  readonly #watchers = new Set<(engine: Engine) => void>()

  /** @throws MatrixError, or an Error that says why the file cannot be read: the sidecar does not serve without valid rules */
  constructor({ path, strict, pollMs, onRefused, maxAgeMs = 0, onLook }: RulesOptions) {
    this.#maxAgeMs = maxAgeMs
    this.#onLook = onLook
    if (path === undefined) this.#engine = compile(supportMatrix, { strict })
    else {
      const read = () => compile(readMatrix(path), { strict })
      this.#file = new WatchedFile({
        path,
        pollMs: 0,
        read,
        onChanged: (engine) => this.#change(engine),
        onRefused,
      })
      this.#engine = this.#file.initial
      if (pollMs > 0) this.#timer = setInterval(() => this.reload(), pollMs).unref()
    }
  }

  get engine(): Engine {
    return this.#engine
  }

  /** For how long the rules have not been known to be those of the file, in milliseconds. */
  get unconfirmedMs(): number {
    return this.#file === undefined ? 0 : performance.now() - this.#confirmedAtMs
  }

  /** Reads the file again if it has changed. If it cannot be used, the rules stay as they are. */
  reload(): void {
    if (this.#file === undefined) return
    const usable = this.#file.reload()
    const nowMs = performance.now()
    if (usable) this.#confirmedAtMs = nowMs
    const stale = this.#maxAgeMs > 0 && nowMs - this.#confirmedAtMs > this.#maxAgeMs
    this.#onLook?.({ refused: !usable, stale })
  }

  /** Calls `watcher` with every new engine from now on. Returns a function that ends this. */
  watch(watcher: (engine: Engine) => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#file?.close()
    this.#watchers.clear()
  }

  #change(engine: Engine): void {
    if (engine.digest === this.#engine.digest) return
    this.#engine = engine
    for (const watcher of this.#watchers) watcher(engine)
  }
}

/** Reads the matrix of a file. @throws MatrixError, or an Error that says why the file cannot be read; both name the file */
export function readMatrix(path: string): Matrix {
  const bytes = readMatrixFile(path)
  try {
    return loadMatrix(bytes)
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, path) : error
  }
}

/** Reads a matrix file without looking at its content. */
export function readMatrixFile(path: string): Buffer {
  let size: number
  try {
    size = statSync(path).size
    if (size <= MATRIX_BYTES_MAX) return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw Object.assign(new Error(`matrix: ${path} cannot be read (${code})`, { cause: error }), { code })
  }
  const expected = `expected at most ${MATRIX_BYTES_MAX} bytes, found ${size}`
  throw new MatrixError([{ path: '', expected }], path)
}
