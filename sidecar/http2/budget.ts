/** What all connections of a server hold in memory together. */
export class Budget {
  readonly #most: number
  readonly #onExhausted: () => void
  /** Bytes of requests that have arrived and are not answered, with their streams, and of answers that wait to be read. */
  bytes = 0

  /** @param onExhausted is told at each byte beyond the most, and has some of them released soon */
  constructor(most: number, onExhausted: () => void = () => {}) {
    this.#most = most
    this.#onExhausted = onExhausted
  }

  get exhausted(): boolean {
    return this.bytes > this.#most
  }

  /** More bytes are held, or fewer. */
  add(bytes: number): void {
    this.bytes += bytes
    if (this.bytes > this.#most) this.#onExhausted()
  }
}
