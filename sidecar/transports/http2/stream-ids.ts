/** The streams that a peer has opened (RFC 9113, §5.1.1), and those that were reset here. */

/** The least count of an ignored frame: the shortest messages of gRPC have about as many bytes. */
const IGNORED_BYTES_MIN = 16

export class StreamIds {
  readonly #resetsMax: number
  /**
   * Streams that were reset here, oldest first, with what may be on its way to them in bytes. It is ignored
   * (§5.4.2).
   */
  readonly #reset = new Map<number, number>()
  /** The streams that the peer left out when it opened the last one that left any out. */
  #leftOutFrom = 0
  #leftOutTo = 0
  /** The last stream that the peer has opened. */
  last = 0

  /** @param resetsMax how many resets to remember: as many as there can be streams */
  constructor(resetsMax: number) {
    this.#resetsMax = resetsMax
  }

  /** Whether the peer may open that stream: ids of a client are odd and increase. */
  isNew(id: number): boolean {
    return id > this.last && (id & 1) === 1
  }

  open(id: number): void {
    if (id > this.last + 2) {
      this.#leftOutFrom = this.last + 2
      this.#leftOutTo = id - 2
    }
    this.last = id
  }

  /** Whether the stream was never opened, and can no longer be opened. */
  isLost(id: number): boolean {
    return (id & 1) === 0 || (id >= this.#leftOutFrom && id <= this.#leftOutTo)
  }

  /** Whether the stream has never been in use. */
  isIdle(id: number): boolean {
    return (id > this.last || (id & 1) === 0) && !this.#reset.has(id)
  }

  /** @param windowBytes what the peer could send when the stream was reset */
  addReset(id: number, windowBytes: number): void {
    this.#reset.set(id, windowBytes)
    if (this.#reset.size <= this.#resetsMax) return
    const [oldest] = this.#reset.keys()
    this.#reset.delete(oldest as number)
  }

  /**
   * Counts what arrives on a stream that was reset here.
   *
   * @returns what may still be on its way, in bytes; undefined: it was not reset here
   */
  ignore(id: number, bytes: number): number | undefined {
    const windowBytes = this.#reset.get(id)
    if (windowBytes === undefined) return undefined
    const left = windowBytes - Math.max(bytes, IGNORED_BYTES_MIN)
    this.#reset.set(id, left)
    return left
  }
}
