/** The rules in force: the compiled matrix, and the file that it is read from again when it changes. */
import { readFileSync, statSync } from 'node:fs'
import { compile, type Engine, type Matrix } from '../engine/index.ts'
import { loadMatrix, MATRIX_BYTES_MAX, MatrixError, supportMatrix } from '../matrix/index.ts'
import { WatchedFile } from './base/watched-file.ts'

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
  readonly #file: WatchedFile<Engine> | undefined
  readonly #watchers = new Set<(engine: Engine) => void>()

  /** @throws MatrixError, or the file's error in words: without valid rules nothing is served */
  constructor({ path, strict, pollMs, onRefused }: RulesOptions) {
    if (path === undefined) this.#engine = compile(supportMatrix, { strict })
    else {
      const read = () => compile(readMatrix(path), { strict })
      this.#file = new WatchedFile({
        path,
        pollMs,
        read,
        onChanged: (engine) => this.#change(engine),
        onRefused,
      })
      this.#engine = this.#file.initial
    }
  }

  get engine(): Engine {
    return this.#engine
  }

  /** Reads the file again if it is another than the one last seen. One that cannot be used changes nothing. */
  reload(): void {
    this.#file?.reload()
  }

  /** Calls `watcher` with every engine that comes into force from now on; returns how to stop that. */
  watch(watcher: (engine: Engine) => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  close(): void {
    this.#file?.close()
    this.#watchers.clear()
  }

  #change(engine: Engine): void {
    if (engine.digest === this.#engine.digest) return
    this.#engine = engine
    for (const watcher of this.#watchers) watcher(engine)
  }
}

/** The matrix of a file. @throws MatrixError, or the file's error in words; both name the file */
export function readMatrix(path: string): Matrix {
  const bytes = readMatrixFile(path)
  try {
    return loadMatrix(bytes)
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, path) : error
  }
}

/** What a matrix file holds, whatever that is. */
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
