/** The turn of a connection: it ends after a while, so that the next one has its own. */

/** The measure of turns, which adds them up. */
interface Pace {
  readonly round: number
  /** How long a turn lasts now, and if no call waits, in milliseconds. */
  readonly turnMs: number
  readonly longTurnMs: number
  spent(ms: number): void
  /** The time in milliseconds. */
  readonly now: () => number
}

/**
 * The amount after which the clock is looked at. A frame counts its bytes, and as many again as its handling
 * costs in any case.
 */
const LOOK_BYTES = 8_192
const FRAME_BYTES = 1_024

export class Turn {
  readonly #pace: Pace
  #startedMs = 0
  #endsMs = 0
  #bytes = 0
  /** The time spent in a round: several reads of a socket have one turn. */
  #round = -1
  #roundMs = 0
  /** Whether the last turn was too short. */
  isBusy = false

  constructor(pace: Pace) {
    this.#pace = pace
  }

  begin(): void {
    const { round, turnMs } = this.#pace
    if (round !== this.#round) {
      this.#round = round
      this.#roundMs = 0
    }
    this.#startedMs = this.#pace.now()
    this.#endsMs = this.#startedMs + turnMs - this.#roundMs
  }

  /** @param unfinished whether there was more to do */
  end(unfinished: boolean): void {
    const nowMs = this.#pace.now()
    const ms = nowMs - this.#startedMs
    this.#roundMs += ms
    this.isBusy = unfinished || this.#roundMs > this.#pace.longTurnMs
    this.#pace.spent(ms)
  }

  get isOver(): boolean {
    return this.#pace.now() > this.#endsMs
  }

  /** Counts a frame, whatever it is. @returns whether the turn has ended */
  count(bytes: number): boolean {
    this.#bytes += FRAME_BYTES + bytes
    if (this.#bytes < LOOK_BYTES) return false
    this.#bytes = 0
    return this.isOver
  }
}
