/**
 * How much time has passed, by the longer of a monotonic clock and the wall clock: the monotonic clock of
 * Linux stands still while a machine sleeps. It never goes back, so nothing lasts longer because the wall
 * clock was set. All times are in milliseconds.
 */

/** Clocks that part by more than this do not only drift. */
export const JUMP_MS = 500

export class Elapsed {
  readonly #monotonicMs: () => number
  readonly #wallMs: () => number
  /** The total by which the wall clock advanced more than the monotonic one. */
  #jumpedMs = 0
  /** The time by which the wall clock is ahead of this one. */
  #aheadMs: number

  constructor(monotonicMs: () => number, wallMs: () => number) {
    this.#monotonicMs = monotonicMs
    this.#wallMs = wallMs
    this.#aheadMs = wallMs() - monotonicMs()
  }

  get jumpedMs(): number {
    return this.#jumpedMs
  }

  now(): number {
    // The wall clock is read first: it must not be ahead because this program was interrupted in between.
    const wallMs = this.#wallMs()
    const nowMs = this.#monotonicMs() + this.#jumpedMs
    const partedMs = wallMs - this.#aheadMs - nowMs
    // It was set back: from now on they go together again.
    if (partedMs < -JUMP_MS) this.#aheadMs += partedMs
    if (partedMs <= 0) return nowMs
    this.#jumpedMs += partedMs
    return nowMs + partedMs
  }
}
