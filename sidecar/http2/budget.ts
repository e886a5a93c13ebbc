/** What all connections of a server hold in memory together. */

/** Of each four bytes three are invited. The last one is for what nobody can be told to wait with, and for one connection at a time. */
const INVITED = 3 / 4

export class Budget {
  readonly #most: number
  readonly #onExhausted: () => void
  /** Bytes of requests that have arrived and are not answered, with their streams, and of answers that wait to be read. */
  bytes = 0
  /** Connections that share the room. */
  sharers = 0

  /** @param onExhausted is told at each byte beyond the most, and has some of them released soon */
  constructor(most: number, onExhausted: () => void = () => {}) {
    this.#most = most
    this.#onExhausted = onExhausted
  }

  get exhausted(): boolean {
    return this.bytes > this.#most
  }

  /** So much each connection may hold in addition, in bytes. If all do, half of the room is still free for those that come. */
  get share(): number {
    return Math.max(0, Math.floor((INVITED * this.#most - this.bytes) / (2 * Math.max(this.sharers, 1))))
  }

  /** So much one connection may hold in addition that others wait for, in bytes. */
  get lastRoom(): number {
    return Math.max(0, this.#most - this.bytes)
  }

  /** More bytes are held, or fewer. */
  add(bytes: number): void {
    this.bytes += bytes
    if (this.bytes > this.#most) this.#onExhausted()
  }
}
