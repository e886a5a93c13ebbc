/** How much a peer may send on a connection (RFC 9113, §6.9), and what of it is still held in memory. */
import type { Budget } from './budget.ts'
import { ConnectionError, ERROR, WINDOW_DEFAULT } from './protocol.ts'

export class ReceiveWindow {
  readonly #most: number
  readonly #budget: Budget
  #left = WINDOW_DEFAULT
  /** Bytes that are no longer held, and that the peer has not been told about. */
  #released: number

  /** @param most bytes that the peer may have in flight */
  constructor(most: number, budget: Budget) {
    this.#most = most
    this.#budget = budget
    this.#released = most - WINDOW_DEFAULT
  }

  /** @throws ConnectionError if the peer may not send so much */
  take(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0)
      throw new ConnectionError(ERROR.FLOW_CONTROL_ERROR, 'more bytes than the window of the connection')
  }

  /** The bytes belong to a stream now. */
  hold(bytes: number): void {
    this.#budget.bytes += bytes
  }

  /** The stream needs them no longer. */
  release(bytes: number): void {
    this.#budget.bytes -= bytes
    this.#released += bytes
  }

  /** The bytes came for a stream that does not take them. */
  skip(bytes: number): void {
    this.#released += bytes
  }

  /** How much the peer may send in addition, if that is worth a frame; else 0. */
  update(): number {
    if (this.#released < this.#most / 2) return 0
    const bytes = this.#released
    this.#released = 0
    this.#left += bytes
    return bytes
  }
}
