/** The current rules: the compiled matrix, which is read again when its file changes. */
import { statSync } from 'node:fs'
import { compile, compileInSteps, type Engine, finish, type Matrix, type Steps } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { inSlices } from '../base/slices.ts'
import { WatchedFile } from '../base/watched-file.ts'
import { readMatrix } from './matrix-file/read.ts'

/** Twice the matrix of the source. A larger file is read and compiled while others have their turn. */
const READ_AT_ONCE_BYTES_MAX = 32_768

export interface RulesOptions {
  /** Matrix file; absent: the matrix of the package, which never changes. */
  readonly path?: string | undefined
  readonly strict: boolean
  /** Time between two looks at the file, in milliseconds; 0: look only on `reload`. */
  readonly pollMs: number
  /** Called if the changed file cannot be used. The last good rules stay in force. */
  readonly onRefused: (error: Error) => void
  /**
   * How long the rules may be in force when they are not known to be those of the file, in milliseconds;
   * default, and 0: for ever.
   */
  readonly maxAgeMs?: number
  /** Whether the matrix is kept beside the engine, for a page that shows it. */
  readonly keepMatrix?: boolean
  /** Called after each look at the file. */
  readonly onLook?: (found: Look) => void
}

/** What a look at the matrix file showed. */
export interface Look {
  /** The file cannot be used, and the last good rules are in force. */
  readonly refused: boolean
  /** The rules have not been known to be those of the file for longer than `maxAgeMs`. */
  readonly stale: boolean
}

/**
 * Makes what somebody needs of an engine that is about to be in force. Returns what puts it in the place of
 * the last one.
 */
export type Preparation = (engine: Engine) => Steps<() => void>

/** An engine, and what puts in place what was made of it. */
interface Ready {
  readonly engine: Engine
  readonly matrix: Matrix | undefined
  readonly place: readonly (() => void)[]
}

/**
 * Holds the current engine. A caller reads `engine` once for each check, so that each answer comes from one
 * matrix.
 */
export class Rules {
  #engine: Engine
  #matrix: Matrix | undefined
  readonly #strict: boolean
  readonly #keepMatrix: boolean
  readonly #file: WatchedFile<Ready> | undefined
  readonly #timer: NodeJS.Timeout | undefined
  readonly #maxAgeMs: number
  readonly #onLook: ((found: Look) => void) | undefined
  #refused = false
  /** Whether somebody asked for a look while the file was read. */
  #lookAgain = false
  /** When the rules were last known to be those of the file. */
  #confirmedAtMs = performance.now()
  readonly #preparations: Preparation[] = []
  readonly #watchers = new Set<(engine: Engine) => void>()

  /**
   * @throws MatrixError, or an Error that says why the file cannot be read: the sidecar does not serve
   *   without valid rules
   */
  constructor({ path, strict, pollMs, onRefused, maxAgeMs = 0, keepMatrix = false, onLook }: RulesOptions) {
    this.#strict = strict
    this.#keepMatrix = keepMatrix
    this.#maxAgeMs = maxAgeMs
    this.#onLook = onLook
    if (path === undefined) {
      this.#engine = compile(supportMatrix, { strict })
      this.#matrix = supportMatrix
    } else {
      this.#file = new WatchedFile({
        path,
        pollMs: 0,
        read: () => {
          const matrix = readMatrix(path)
          return finish(this.#prepare(compile(matrix, { strict }), matrix))
        },
        readLater: (closed) => (isLarge(path) ? this.#readLater(path, closed) : undefined),
        onReadLater: (usable) => this.#readLast(usable),
        onChanged: (ready) => this.#change(ready),
        onRefused,
      })
      this.#engine = this.#file.initial.engine
      this.#matrix = this.#file.initial.matrix
      if (pollMs > 0) this.#timer = setInterval(() => this.reload(), pollMs).unref()
    }
  }

  get engine(): Engine {
    return this.#engine
  }

  /** The matrix of the engine; `undefined`: it is not kept. */
  get matrix(): Matrix | undefined {
    return this.#matrix
  }

  /** For how long the rules have not been known to be those of the file, in milliseconds. */
  get unconfirmedMs(): number {
    return this.#file === undefined ? 0 : performance.now() - this.#confirmedAtMs
  }

  /**
   * Reads the file again if it has changed: a large one while others have their turn, any other one at once.
   * If it cannot be used, the rules stay as they are.
   */
  reload(): void {
    if (this.#file === undefined) return
    this.#lookAgain = this.#file.reading
    this.#looked(this.#file.reload())
  }

  /** Makes something of every new engine from now on, before that is in force. */
  prepare(preparation: Preparation): void {
    this.#preparations.push(preparation)
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

  /** @param usable whether the rules are known to be those of the file */
  #looked(usable: boolean): void {
    const nowMs = performance.now()
    if (usable) this.#confirmedAtMs = nowMs
    // While a file is being read, the result is unknown.
    if (this.#file?.reading !== true) this.#refused = !usable
    const stale = this.#maxAgeMs > 0 && nowMs - this.#confirmedAtMs > this.#maxAgeMs
    this.#onLook?.({ refused: this.#refused, stale })
  }

  /** A large file was read. It may have changed meanwhile, and then the newer one is read. */
  #readLast(usable: boolean): void {
    this.#looked(usable)
    if (this.#lookAgain) this.reload()
  }

  /**
   * The thread finds what is wrong with the file, and the engine is made here, because a thread cannot hand
   * it over.
   */
  async #readLater(path: string, closed: AbortSignal): Promise<Ready> {
    const [{ readInThread }, { matrixOf }] = await Promise.all([
      import('./matrix-file/read-in-thread.ts'),
      import('./matrix-file/thread-messages.ts'),
    ])
    const parts = await readInThread(path, closed)
    const strict = this.#strict
    const prepare = (engine: Engine, matrix: Matrix) => this.#prepare(engine, matrix)
    return inSlices(
      (function* (): Steps<Ready> {
        const matrix = yield* matrixOf(parts)
        return yield* prepare(yield* compileInSteps(matrix, { strict }), matrix)
      })(),
      closed,
    )
  }

  *#prepare(engine: Engine, matrix: Matrix): Steps<Ready> {
    const place: (() => void)[] = []
    for (const preparation of this.#preparations) place.push(yield* preparation(engine))
    return { engine, place, matrix: this.#keepMatrix ? matrix : undefined }
  }

  /** All in one turn, so that no reader sees a part of it. */
  #change({ engine, place, matrix }: Ready): void {
    if (engine.digest === this.#engine.digest) return
    this.#engine = engine
    this.#matrix = matrix
    for (const each of place) each()
    for (const watcher of this.#watchers) watcher(engine)
  }
}

function isLarge(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > READ_AT_ONCE_BYTES_MAX
}
