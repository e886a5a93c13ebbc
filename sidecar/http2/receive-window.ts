/** How much a peer may send on a connection at a time (RFC 9113, §6.9), and what of it is held in memory. */
import type { Budget } from './budget.ts'
import { ConnectionError, ERROR, WINDOW_DEFAULT } from './protocol.ts'

/** So many bytes a connection may always hold, whatever others hold: a request of nearly everybody. */
const ALWAYS_HELD_BYTES = 65_536

/**
 * The window opens again with everything that arrives. If it waited for requests to be complete, requests that are large
 * together could wait for each other for ever. What is held is bounded by refusing streams.
 */
export class ReceiveWindow {
  readonly #most: number
  readonly #budget: Budget
  #left = WINDOW_DEFAULT
  /** Bytes that have arrived and that the peer has not been told about. */
  #arrived: number
  /** Bytes of requests that are held. */
  held = 0

  /** @param most bytes that may be held */
  constructor(most: number, budget: Budget) {
    this.#most = most
    this.#budget = budget
    this.#arrived = most - WINDOW_DEFAULT
  }

  /** @throws ConnectionError if the peer may not send so much */
  take(bytes: number): void {
    this.#left -= bytes
    this.#arrived += bytes
    if (this.#left < 0)
      throw new ConnectionError(ERROR.FLOW_CONTROL_ERROR, 'more bytes than the window of the connection')
  }

  /** The bytes belong to a stream now. @returns false if they are too many, for this connection or for all of them */
  hold(bytes: number): boolean {
    this.held += bytes
    this.#budget.add(bytes)
    return this.held <= this.#most && (this.held <= ALWAYS_HELD_BYTES || !this.#budget.exhausted)
  }

  /** The stream needs them no longer. */
  release(bytes: number): void {
    this.held -= bytes
    this.#budget.add(-bytes)
  }

  /** How much the peer may send in addition, if that is worth a frame; else 0. */
  update(): number {
    if (this.#arrived < this.#most / 2) return 0
    const bytes = this.#arrived
    this.#arrived = 0
    this.#left += bytes
    return bytes
  }
}
