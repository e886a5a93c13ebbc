/**
 * How much a peer may send on each stream (RFC 9113, §6.9): enough for most requests, and more for longer
 * ones, as there is room.
 */
import type { Limits } from './limits.ts'
import { FRAME_BYTES_DEFAULT, WINDOW_DEFAULT } from './protocol.ts'
import type { Stream } from './stream.ts'

/**
 * The least and the largest window of a stream, unless it waits for the rest of a message that is longer. A
 * frame of the usual size always fits: simple clients send one before they look at a window.
 */
const WINDOW_BYTES_MIN = FRAME_BYTES_DEFAULT
const WINDOW_BYTES_MAX = 262_144

/** For padding, and for the end: clients of nghttp2 say that a request ends only where a byte would fit. */
const SPARE_BYTES = 1_024

/**
 * The window that a new stream begins with, in bytes. All of them share half of what a connection may hold.
 */
export function initialWindowOf({ connectionBufferBytes, streams }: Limits): number {
  const share = Math.floor(connectionBufferBytes / 2 / streams)
  return Math.max(WINDOW_BYTES_MIN, Math.min(share, WINDOW_BYTES_MAX))
}

/**
 * The bytes that a connection may hold: the windows that its streams begin with, and as much for longer
 * messages as is left for them.
 */
export function heldBytesMax(limits: Limits): number {
  return limits.streams * initialWindowOf(limits) + limits.connectionBufferBytes / 2
}

/**
 * The other half is for what is longer. Where that is used up, long messages arrive one after the other. If
 * they all came at the same time, they could wait for each other's room for ever.
 */
export class StreamWindows<Head> {
  readonly #initial: number
  readonly #extraMax: number
  readonly #send: (stream: Stream<Head>, bytes: number) => void
  /** Streams with larger windows, from before the peer knew the settings. */
  #early: Map<Stream<Head>, number> | undefined = new Map()
  /** Bytes that are held or may arrive beyond the initial windows. */
  #extra = 0
  /** Streams whose window was opened for a long message. */
  readonly #long = new Set<Stream<Head>>()
  /** Streams that wait for such a window, and the bytes that they need. */
  readonly #waiting = new Map<Stream<Head>, number>()

  /** @param send sends WINDOW_UPDATE */
  constructor(limits: Limits, send: (stream: Stream<Head>, bytes: number) => void) {
    this.#initial = initialWindowOf(limits)
    this.#extraMax = limits.connectionBufferBytes / 2
    this.#send = send
  }

  /**
   * The window of a stream that begins now. Until the peer knows the settings it may have the usual one of
   * the protocol.
   */
  get ofNew(): number {
    return this.#early === undefined ? this.#initial : Math.max(this.#initial, WINDOW_DEFAULT)
  }

  /** The peer has read the settings. That changes the windows of streams that are open (§6.9.2). */
  acknowledge(open: Iterable<Stream<Head>>): void {
    if (this.#early === undefined) return
    const early = this.#early
    const change = this.#initial - this.ofNew
    this.#early = undefined
    for (const stream of open) stream.receiveWindow += change
    for (const [stream, bytes] of early) stream.expect(bytes)
  }

  /** The application can do nothing before as many bytes more have arrived; 0: before the end has. */
  expect(stream: Stream<Head>, bytes: number): void {
    const { receiveWindow: open, unreleased } = stream
    this.#early?.set(stream, bytes)
    const usual = this.#usual(stream)
    if (open > bytes && open >= usual / 2) return
    const window = Math.max(bytes + SPARE_BYTES, usual - unreleased)
    if (window <= open) return
    const extra = Math.max(0, unreleased + window - this.#initial) - stream.extraWindow
    const isLong = window > usual - unreleased && extra > 0
    if (isLong && this.#long.size > 0 && this.#extra + extra > this.#extraMax) {
      this.#waiting.set(stream, bytes)
      stream.pauseClock()
      return
    }
    if (isLong) this.#long.add(stream)
    if (this.#waiting.delete(stream)) stream.resumeClock()
    stream.receiveWindow = window
    this.#settle(stream)
    this.#send(stream, window - open)
  }

  /** Bytes of the stream are no longer held, or it is closed. */
  released(stream: Stream<Head>): void {
    this.#waiting.delete(stream)
    this.#early?.delete(stream)
    if (stream.extraWindow === 0 && !this.#long.has(stream)) return
    this.#long.delete(stream)
    this.#settle(stream)
    for (const [waiting, bytes] of this.#waiting) {
      this.expect(waiting, bytes)
      if (this.#waiting.has(waiting)) return
    }
  }

  /**
   * A stream whose messages are taken as they come has a larger window each time, while half of what is extra
   * is free.
   */
  #usual(stream: Stream<Head>): number {
    const usual = Math.max(this.#initial, stream.usualWindow)
    const larger = Math.min(2 * usual, WINDOW_BYTES_MAX)
    if (stream.unreleased > 0 || stream.receiveWindow >= usual / 2) return usual
    if (this.#extra - stream.extraWindow + larger - this.#initial > this.#extraMax / 2) return usual
    stream.usualWindow = larger
    return larger
  }

  #settle(stream: Stream<Head>): void {
    const held = stream.unreleased + stream.receiveWindow
    const extra = stream.closed ? 0 : Math.max(0, held - this.#initial)
    this.#extra += extra - stream.extraWindow
    stream.extraWindow = extra
  }
}
