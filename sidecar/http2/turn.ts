/** The turn of a connection: it ends after a while, so that the next one has its own. */
import type { Limits } from './limits.ts'

/** The clock is looked at after so much. A frame counts its bytes, and as many again as its handling costs in any case. */
const LOOK_BYTES = 8_192
const FRAME_BYTES = 1_024

export class Turn {
  readonly #lastsMs: number
  #startedMs = 0
  #bytes = 0

  constructor({ turnMs }: Pick<Limits, 'turnMs'>) {
    this.#lastsMs = turnMs
  }

  begin(): void {
    this.#startedMs = performance.now()
  }

  get isOver(): boolean {
    return performance.now() - this.#startedMs > this.#lastsMs
  }

  /** Counts a frame, whatever it is. @returns whether the turn is over */
  count(bytes: number): boolean {
    this.#bytes += FRAME_BYTES + bytes
    if (this.#bytes < LOOK_BYTES) return false
    this.#bytes = 0
    return this.isOver
  }
}
