/** The turn of a connection: it ends after a while, so that the next one has its own. */
import type { Limits } from './limits.ts'

/** The clock is looked at after so many requests, or after one with so many bytes. */
const REQUESTS_A_LOOK = 8
const LARGE_BYTES = 4_096

export class Turn {
  readonly #lastsMs: number
  #startedMs = 0
  #requests = 0

  constructor({ turnMs }: Pick<Limits, 'turnMs'>) {
    this.#lastsMs = turnMs
  }

  begin(): void {
    this.#startedMs = performance.now()
  }

  get isOver(): boolean {
    return performance.now() - this.#startedMs > this.#lastsMs
  }

  /** Counts a request, or a part of one with so many bytes. @returns whether the turn is over */
  count(bytes: number): boolean {
    return (++this.#requests % REQUESTS_A_LOOK === 0 || bytes > LARGE_BYTES) && this.isOver
  }
}
