/** How much of each resource connections may use. */

/** All of them are bounds on what a peer may do; none of them is a promise to it. */
export interface Limits {
  /** Most connections at the same time: of all peers, and of one IP address. */
  readonly connections: number
  readonly connectionsPerAddress: number
  /**
   * Most streams at the same time on one connection. Those whose handler still runs count, even if the peer
   * reset them.
   */
  readonly streams: number
  /** Largest list of header fields in bytes (RFC 9113, §6.5.2). */
  readonly headerListBytes: number
  /** Most bytes of requests that one connection may have in flight. Its flow-control window is as large. */
  readonly connectionBufferBytes: number
  /** Most bytes of requests and answers that all connections may have in flight. */
  readonly bufferBytes: number
  /** Most streams that a peer may reset in a second. */
  readonly resetsPerSecond: number
  /** Most pings in a second, most settings, and most other frames that bring a request no further. */
  readonly controlFramesPerSecond: number
  /** How long a connection may work before the next one has its turn, in milliseconds. */
  readonly turnMs: number
  /** How long the preface, a header block or a message may take to arrive, in milliseconds. */
  readonly requestMs: number
  /** How long a peer may leave an answer unread, in milliseconds. */
  readonly readerMs: number
  /** How long a connection may stay open without a stream, in milliseconds. */
  readonly idleMs: number
  /**
   * After this time a peer is asked to connect again, in milliseconds. A tenth more or less, so that not all
   * do at once.
   */
  readonly ageMs: number
  /**
   * A silent connection is asked for a sign of life after this time, and closed after the second, in
   * milliseconds.
   */
  readonly keepaliveMs: number
  readonly keepaliveTimeoutMs: number
}

export const DEFAULT_LIMITS: Limits = {
  connections: 8_192,
  connectionsPerAddress: 4_096,
  streams: 1_000,
  headerListBytes: 16_384,
  connectionBufferBytes: 16_777_216,
  bufferBytes: 134_217_728,
  resetsPerSecond: 500,
  controlFramesPerSecond: 1_000,
  turnMs: 0.5,
  requestMs: 20_000,
  readerMs: 60_000,
  idleMs: 1_800_000,
  ageMs: 3_600_000,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 20_000,
}
