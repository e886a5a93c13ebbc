/** When to try again after a failure: later each time, and not at the same moment as all other clients. */

/** The first pause, in milliseconds. */
const FIRST_MS = 1_000

export class BackOff {
  readonly #random: () => number
  #failures = 0
  #notBeforeMs = Number.NEGATIVE_INFINITY

  /** @param random from 0 to less than 1 */
  constructor(random: () => number) {
    this.#random = random
  }

  get failures(): number {
    return this.#failures
  }

  /** On a monotonic clock, in milliseconds. */
  get notBeforeMs(): number {
    return this.#notBeforeMs
  }

  /**
   * Counts a failure. Returns the pause until the next attempt, in milliseconds.
   *
   * @param atLeastMs a pause that was asked for
   */
  fail(monotonicMs: number, mostMs: number, atLeastMs = 0): number {
    const most = Math.min(mostMs, FIRST_MS * 2 ** this.#failures)
    this.#failures++
    // Half of the pause is left to chance, so that many agents do not come back together.
    const pauseMs = Math.max(atLeastMs, most / 2 + (most / 2) * this.#random())
    this.#notBeforeMs = monotonicMs + pauseMs
    return pauseMs
  }

  succeed(): void {
    this.#failures = 0
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
  }
}
