/** How much a peer may send on a connection at a time (RFC 9113, §6.9), and what of it is held in memory. */
import type { Budget } from '../../base/net/buffer-budget.ts'
import { ConnectionError, ERROR, FRAME_BYTES_DEFAULT, WINDOW_DEFAULT } from './protocol.ts'

/**
 * The window where there is room for more: a connection sends this amount in the time of a round trip, in
 * small requests and in large ones.
 */
const OPEN_BYTES = 131_072
const OPEN_BYTES_MAX = 262_144

/** The window opens by no less, so that a peer does not send its requests in crumbs. */
const OPENED_BYTES_MIN = 1_024

/**
 * The window is the number of bytes that can still be held: a share of the room that all connections have
 * together. A peer that heeds it waits where there is none, and loses nothing. As much as the protocol allows
 * at first is always held, so that nearly every request is taken.
 */
export class ReceiveWindow {
  readonly #most: number
  readonly #budget: Budget
  #left = WINDOW_DEFAULT
  /** Bytes of requests that are held. */
  held = 0
  /** Bytes of requests that were held, and are no longer. */
  released = 0
  /** Whether the peer must wait because all connections together hold too much. */
  starved = false
  /** Whether it is the turn of this connection to have the last of the room. */
  favoured = false

  /** @param most bytes that may be held */
  constructor(most: number, budget: Budget) {
    this.#most = most
    this.#budget = budget
  }

  /** @throws ConnectionError if the peer may not send that many bytes */
  take(bytes: number): void {
    this.#open(-bytes)
    if (this.#left < 0)
      throw new ConnectionError(ERROR.FLOW_CONTROL_ERROR, 'more bytes than the window of the connection')
  }

  /** The bytes belong to a stream now. */
  hold(bytes: number): void {
    this.held += bytes
    this.#budget.add(bytes)
  }

  /** The stream needs them no longer. */
  release(bytes: number): void {
    this.held -= bytes
    this.released += bytes
    this.#budget.add(-bytes)
  }

  /**
   * How much the peer may send in addition, if that is worth a frame; else 0.
   *
   * @param reads whether it reads its answers
   */
  update(reads: boolean): number {
    const always = WINDOW_DEFAULT - this.held
    const shared = Math.max(always, reads ? this.#room : 0)
    const open = Math.min(shared, this.#most - this.held)
    const wanted = open - this.#left
    const opens = wanted >= Math.max(open / 2, OPENED_BYTES_MIN)
    if (opens) this.#open(wanted)
    this.starved = this.#left < FRAME_BYTES_DEFAULT && shared < FRAME_BYTES_DEFAULT
    return opens ? wanted : 0
  }

  /** The connection is closed. */
  close(): void {
    this.#open(-this.#left)
  }

  /** The most bytes that it may have. Bytes that were promised already are a part of it. */
  get #room(): number {
    // Where there is no room at all, another connection is closed for the favoured one.
    if (this.favoured) return Math.min(Math.max(WINDOW_DEFAULT, this.#budget.room), OPEN_BYTES_MAX)
    // Small requests are done when they have come. Held bytes are a part of large ones.
    return Math.min(this.#budget.share + this.#left, this.held > 0 ? OPEN_BYTES_MAX : OPEN_BYTES)
  }

  /** Opens the window by a number of bytes. Those beyond what every connection has are promised. */
  #open(bytes: number): void {
    const before = Math.max(0, this.#left - WINDOW_DEFAULT)
    this.#left += bytes
    this.#budget.promised += Math.max(0, this.#left - WINDOW_DEFAULT) - before
  }
}
