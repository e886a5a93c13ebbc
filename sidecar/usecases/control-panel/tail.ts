/**
 * The live tail of decisions: what operators who listen get of the lines of the decision log. No decision
 * waits for them. A listener that reads too slowly misses lines, and learns how many.
 */
import { callError } from '../../base/call-error.ts'
import type { DecisionLog } from '../decision-recorder.ts'

/** Most listeners: of one caller, and of all. */
export const OF_CALLER_MAX = 4
export const LISTENERS_MAX = 16

/** Most bytes of lines that wait for a listener. A line has about 400. */
export const WAITING_BYTES_MAX = 131_072

export class Tail {
  readonly #decisions: Pick<DecisionLog, 'follower'>
  readonly #listeners = new Set<TailListener>()

  constructor(decisions: Pick<DecisionLog, 'follower'>) {
    this.#decisions = decisions
  }

  /** @param caller name of the caller who listens @throws CallError `WATCHES_EXHAUSTED` */
  listen(caller: string): TailListener {
    const listeners = [...this.#listeners]
    if (listeners.filter((each) => each.caller === caller).length >= OF_CALLER_MAX)
      throw callError('WATCHES_EXHAUSTED', { whose: 'this caller' })
    if (listeners.length >= LISTENERS_MAX) throw callError('WATCHES_EXHAUSTED', { whose: 'all callers' })
    const listener = new TailListener(caller, () => this.#closed(listener))
    this.#listeners.add(listener)
    this.#decisions.follower ??= (bytes, start, end) => {
      for (const each of this.#listeners) each.put(bytes, start, end)
    }
    return listener
  }

  #closed(listener: TailListener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size === 0) this.#decisions.follower = undefined
  }
}

export class TailListener {
  readonly caller: string
  readonly #onClosed: () => void
  readonly #bytes = Buffer.allocUnsafeSlow(WAITING_BYTES_MAX)
  #length = 0
  #missed = 0

  constructor(caller: string, onClosed: () => void) {
    this.caller = caller
    this.#onClosed = onClosed
  }

  put(bytes: Buffer, start: number, end: number): void {
    const length = this.#length + end - start
    // A line after lines that are missing waits, too: else it would be read as if it came before them.
    if (this.#missed > 0 || length > WAITING_BYTES_MAX) {
      this.#missed++
      return
    }
    this.#bytes.set(bytes.subarray(start, end), this.#length)
    this.#length = length
  }

  /**
   * The lines since the last time, and behind them how many are missing. `undefined`: there was no decision.
   */
  take(): Buffer | undefined {
    if (this.#length + this.#missed === 0) return undefined
    const lines = this.#bytes.subarray(0, this.#length)
    const missed = this.#missed > 0 ? Buffer.from(`{"missed":${this.#missed}}\n`) : NOTHING
    this.#length = 0
    this.#missed = 0
    return Buffer.concat([lines, missed])
  }

  /** May be called more than once. */
  close(): void {
    this.#onClosed()
  }
}

const NOTHING = Buffer.alloc(0)
