/** How long a connection may work before the next one has its turn. */

const TURN_MS = 0.5

/** The clock is looked at after so many requests, or after one with so many bytes. */
const REQUESTS_A_LOOK = 8
const LARGE_BYTES = 4_096

export class Turn {
  #startedMs = 0
  #requests = 0

  begin(): void {
    this.#startedMs = performance.now()
  }

  get isOver(): boolean {
    return performance.now() - this.#startedMs > TURN_MS
  }

  /** Counts a request, or a part of one with so many bytes. @returns whether the turn is over */
  count(bytes: number): boolean {
    return (++this.#requests % REQUESTS_A_LOOK === 0 || bytes > LARGE_BYTES) && this.isOver
  }
}
