/** What all connections of a server hold in memory together. */
export class Budget {
  readonly #most: number
  /** Bytes of requests that have arrived and are not answered. */
  bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  get exhausted(): boolean {
    return this.bytes > this.#most
  }
}
