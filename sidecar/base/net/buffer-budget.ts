/** The memory that all connections of a server hold together. */

/**
 * Of each four bytes three are invited. The last one is for bytes that cannot be made to wait, and for one
 * connection at a time.
 */
const INVITED = 3 / 4

export class Budget {
  readonly #most: number
  readonly #onExhausted: () => void
  /**
   * Bytes of requests that have arrived and are not answered, with their streams, and of answers that wait to
   * be read.
   */
  bytes = 0
  /** Bytes that peers were invited to send, beyond what each may always send. */
  promised = 0

  /** @param onExhausted called at each byte beyond the maximum; it releases some of them soon */
  constructor(most: number, onExhausted: () => void = () => {}) {
    this.#most = most
    this.#onExhausted = onExhausted
  }

  get exhausted(): boolean {
    return this.bytes > this.#most
  }

  /**
   * The bytes that one connection may hold in addition: half of the room, so that some is left for the
   * next one.
   */
  get share(): number {
    return Math.max(0, Math.floor((INVITED * this.#most - this.bytes - this.promised) / 2))
  }

  /** The bytes that are neither held nor promised. Beyond the maximum it is negative. */
  get room(): number {
    return this.#most - this.bytes - this.promised
  }

  /** More bytes are held, or fewer. */
  add(bytes: number): void {
    this.bytes += bytes
    if (this.bytes > this.#most) this.#onExhausted()
  }
}
