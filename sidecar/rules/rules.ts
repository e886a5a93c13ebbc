/** The current rules: the compiled matrix, which is read again when its file changes. */
import { statSync } from 'node:fs'
import { compile, compileInSteps, type Engine, finish, type Matrix, type Steps } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { elapsedMs } from '../base/clock.ts'
import { inSlices } from '../base/slices.ts'
import { WatchedFile } from '../base/watched-file.ts'
import type { Promoted } from './matrix-file/matrix-content.ts'
import { isLargeText, readMatrix } from './matrix-file/read.ts'

/** Of a matrix that is compiled already: how many APIs make it a large one. */
const LARGE_APIS = 200

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
  /** Called if the file has changed, and another matrix is in force in its place. */
  readonly onOverruled?: (engine: Engine) => void
  /** Called after each look at the file. */
  readonly onLook?: (found: Look) => void
}

/** The result of a look at the matrix file. */
export interface Look {
  /** The file cannot be used, and the last good rules are in force. */
  readonly refused: boolean
  /** The rules have not been known to be those of the file for longer than `maxAgeMs`. */
  readonly stale: boolean
}

/**
 * Makes a value for an engine that is about to be in force. Returns what puts it in the place of
 * the last one.
 */
export type Preparation = (engine: Engine) => Steps<() => void>

/** An engine with the matrix that it was made of; `undefined`: that is not kept. */
interface Compiled {
  readonly engine: Engine
  readonly matrix: Matrix | undefined
}

/** An engine, and the function that puts its parts in place. */
interface Ready extends Compiled {
  readonly place: readonly (() => void)[]
}

/**
 * Holds the current engine. A caller reads `engine` once for each check, so that each answer comes from one
 * matrix.
 */
export class Rules {
  #inForce: Compiled
  /** That of the file. */
  #configured: Compiled
  #overruled = false
  /** Counts the calls of `promote`: the last one counts. */
  #promotions = 0
  readonly #closed = new AbortController()
  readonly #strict: boolean
  readonly #keepMatrix: boolean
  readonly #file: WatchedFile<Ready> | undefined
  readonly #timer: NodeJS.Timeout | undefined
  readonly #maxAgeMs: number
  readonly #onLook: ((found: Look) => void) | undefined
  readonly #onOverruled: ((engine: Engine) => void) | undefined
  #refused = false
  /** Whether a look was asked for while the file was read. */
  #lookAgain = false
  /** When the rules were last known to be those of the file. */
  #confirmedAtMs = elapsedMs()
  readonly #preparations: Preparation[] = []
  readonly #watchers = new Set<(engine: Engine) => void>()

  /**
   * @throws MatrixError, or an Error that says why the file cannot be read: the sidecar does not serve
   *   without valid rules
   */
  constructor(options: RulesOptions) {
    const { path, strict, pollMs, onRefused, maxAgeMs = 0, keepMatrix = false, onLook, onOverruled } = options
    this.#onOverruled = onOverruled
    this.#strict = strict
    this.#keepMatrix = keepMatrix
    this.#maxAgeMs = maxAgeMs
    this.#onLook = onLook
    if (path === undefined) {
      this.#configured = { engine: compile(supportMatrix, { strict }), matrix: supportMatrix }
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
      this.#configured = this.#file.initial
      if (pollMs > 0) this.#timer = setInterval(() => this.reload(), pollMs).unref()
    }
    this.#inForce = this.#configured
  }

  get engine(): Engine {
    return this.#inForce.engine
  }

  /** The matrix of the engine; `undefined`: it is not kept. */
  get matrix(): Matrix | undefined {
    return this.#inForce.matrix
  }

  /** Whether another matrix is in force in the place of that of the file. */
  get overruled(): boolean {
    return this.#overruled
  }

  /** The matrix of the file; `undefined`: it is not kept. */
  get configured(): Matrix | undefined {
    return this.#configured.matrix
  }

  /** Digest of the matrix of the file. */
  get configuredDigest(): string {
    return this.#configured.engine.digest
  }

  /**
   * Puts a matrix in force in the place of that of the file: in this turn, if it is not large.
   *
   * @param promoted `undefined`: that of the file is in force again
   * @throws Error where the matrix is not the one of that digest; the one before stays in force
   */
  async promote(promoted: Promoted | undefined): Promise<void> {
    const promotion = ++this.#promotions
    const { engine, matrix } = this.#configured
    const large = promoted?.large ?? engine.apis.size > LARGE_APIS
    const steps = promoted === undefined ? this.#prepare(engine, matrix) : this.#compiled(promoted)
    const ready = large ? await inSlices(steps, this.#closed.signal) : finish(steps)
    // Another one was promoted while this one was compiled.
    if (promotion !== this.#promotions) return
    if (promoted === undefined && engine !== this.#configured.engine) return this.promote(undefined)
    this.#overruled = promoted !== undefined
    this.#place(ready)
  }

  *#compiled({ matrix, digest }: Promoted): Steps<Ready> {
    const engine = yield* compileInSteps(matrix, { strict: this.#strict })
    if (engine.digest !== digest)
      throw new Error(`the promoted matrix is damaged: its digest is ${engine.digest}, expected ${digest}`)
    return yield* this.#prepare(engine, matrix)
  }

  /** For how long the rules have not been known to be those of the file, in milliseconds. */
  get unconfirmedMs(): number {
    return this.#file === undefined ? 0 : elapsedMs() - this.#confirmedAtMs
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
    this.#closed.abort()
    this.#file?.close()
    this.#watchers.clear()
  }

  /** @param usable whether the rules are known to be those of the file */
  #looked(usable: boolean): void {
    const nowMs = elapsedMs()
    if (usable) this.#confirmedAtMs = nowMs
    // While a file is being read, the result is unknown.
    if (this.#file?.reading !== true) this.#refused = !usable
    const stale = !this.#overruled && this.#maxAgeMs > 0 && nowMs - this.#confirmedAtMs > this.#maxAgeMs
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

  *#prepare(engine: Engine, matrix: Matrix | undefined): Steps<Ready> {
    const place: (() => void)[] = []
    for (const preparation of this.#preparations) place.push(yield* preparation(engine))
    return { engine, place, matrix: this.#keepMatrix ? matrix : undefined }
  }

  #change(ready: Ready): void {
    if (ready.engine.digest === this.#configured.engine.digest) return
    this.#configured = { engine: ready.engine, matrix: ready.matrix }
    if (this.#overruled) this.#onOverruled?.(ready.engine)
    else this.#place(ready)
  }

  /** All in one turn, so that no reader sees a part of it. */
  #place({ engine, place, matrix }: Ready): void {
    if (engine.digest === this.engine.digest) return
    this.#inForce = { engine, matrix }
    for (const each of place) each()
    for (const watcher of this.#watchers) watcher(engine)
  }
}

function isLarge(path: string): boolean {
  return isLargeText(statSync(path, { throwIfNoEntry: false })?.size ?? 0)
}
