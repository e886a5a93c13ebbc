/**
 * The order of turns. Connections share the time of the process, whatever they spend it on. In each round,
 * which is about one turn of the event loop, connections that have been quiet are served first, and of those
 * that never stop the one that has waited longest.
 */
import type { Limits } from './limits.ts'
import type { Turn } from './turn.ts'

/** A worker in turns: a connection. */
export interface Worker {
  readonly turn: Turn
  /**
   * Works until its turn ends, and waits again if there is more to do.
   *
   * @returns whether its turn goes on with what it reads
   */
  resume(): boolean
}

/** Work beyond this number of turns in a round waits for the next one. */
const TURNS_A_ROUND = 2

/**
 * While others wait, a turn is shorter: half as long for this number of them, and at least this part of its
 * length.
 */
const HALVED_BY = 8
const SHORTEST = 0.2

/**
 * Bytes that arrive after the round are kept, up to 64 KiB of each that waits. With more of them than this
 * it is worked on at once.
 */
const WAITING_MAX = 1_024

export class Schedule {
  readonly longTurnMs: number
  readonly now: () => number
  /** Those that wait; the first one is next. */
  readonly #quiet = new Set<Worker>()
  readonly #busy = new Set<Worker>()
  /** The number of the round. */
  round = 0
  /** How long turns of this round have lasted together, in milliseconds. */
  #spentMs = 0
  #ends = false

  constructor({ turnMs }: Pick<Limits, 'turnMs'>, clock: () => number) {
    this.longTurnMs = turnMs
    this.now = clock
  }

  /** How long a turn may last now, in milliseconds. */
  get turnMs(): number {
    return this.longTurnMs * Math.max(SHORTEST, HALVED_BY / (HALVED_BY + this.#waiting))
  }

  get #waiting(): number {
    return this.#quiet.size + this.#busy.size
  }

  /** Whether what has just arrived may be worked on at once. Otherwise it must `wait`. */
  admits({ turn }: Worker): boolean {
    if (this.#waiting >= WAITING_MAX) return true
    const room = this.#spentMs < TURNS_A_ROUND * this.longTurnMs
    return room && (this.#busy.size === 0 || !turn.isBusy)
  }

  /** Lets it resume when it is next. */
  wait(worker: Worker): void {
    if (this.#quiet.has(worker) || this.#busy.has(worker)) return
    if (worker.turn.isBusy) this.#busy.add(worker)
    else this.#quiet.add(worker)
    this.#endSoon()
  }

  leave(worker: Worker): void {
    this.#quiet.delete(worker)
    this.#busy.delete(worker)
  }

  /** The time of a turn is used up. */
  spent(ms: number): void {
    this.#spentMs += ms
    // A round with little work may take several turns of the event loop, because each end of a round costs
    // one.
    if (this.#spentMs > this.longTurnMs / 2) this.#endSoon()
  }

  #endSoon(): void {
    if (this.#ends) return
    this.#ends = true
    setImmediate(() => {
      this.#ends = false
      this.#nextRound()
      if (this.#waiting > 0) this.#endSoon()
    })
  }

  /** A quiet connection has most of a round, and a busy one has a turn. Later bytes are read after it. */
  #nextRound(): void {
    this.round++
    this.#spentMs = 0
    const quietMs = (TURNS_A_ROUND - 1) * this.longTurnMs
    resume(this.#quiet, () => this.#spentMs >= quietMs)
    const endMs = this.#spentMs + this.turnMs
    resume(this.#busy, (goesOn) => goesOn || this.#spentMs >= endMs)
  }
}

/**
 * Lets those resume that have waited longest, and at least one. One that waits again waits for the next
 * round.
 */
function resume(waiting: Set<Worker>, isEnough: (goesOn: boolean) => boolean): void {
  let left = waiting.size
  for (const worker of waiting) {
    if (left-- === 0) return
    waiting.delete(worker)
    if (isEnough(worker.resume())) return
  }
}
