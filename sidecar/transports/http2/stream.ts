/** A stream: one request and its answer. The application answers through it. */
import type { Field, RepeatedFields } from './hpack/encoder.ts'

/** Header fields to send: those of many answers, or those of one. */
export type FieldsToSend = RepeatedFields | readonly Field[]

/** The data that waits to be sent. */
export interface Outgoing {
  headers: FieldsToSend | undefined
  /** Bytes of the body; the first one from `offset` on. */
  readonly parts: Buffer[]
  offset: number
  /** How many bytes the parts have that were not sent. */
  bytes: number
  trailers: FieldsToSend | undefined
  /** Whether nothing comes after that. */
  ends: boolean
}

/** The part of the connection that a stream needs. */
export interface StreamOwner<Head> {
  answer(
    stream: Stream<Head>,
    headers: RepeatedFields,
    prefix: Uint8Array,
    body: Buffer,
    trailers: RepeatedFields,
  ): void
  queue(stream: Stream<Head>): void
  added(stream: Stream<Head>, bytes: number): void
  release(stream: Stream<Head>, bytes: number): void
  expect(stream: Stream<Head>, bytes: number): void
  waitForRoom(stream: Stream<Head>): void
  finished(stream: Stream<Head>): void
  /** Whether an answer of the stream would need to wait for its peer. */
  congestedFor(stream: Stream<Head>): boolean
  yields(): boolean
  readonly nowMs: number
}

export class Stream<Head> {
  readonly id: number
  readonly head: Head
  readonly #owner: StreamOwner<Head>
  /** For the application. If it is set, it is called when the stream is closed. */
  state: unknown
  /** Whether the peer has sent everything. */
  remoteEnded: boolean
  /** Whether the peer was sent a part of the body. */
  answered = false
  /** Whether the stream has ended, on either side. */
  closed = false
  /** Whether a handler still runs. Such a stream counts, even if the peer has reset it. */
  busy = false
  /** How much the peer may send and we may send, in bytes (RFC 9113, §6.9). */
  receiveWindow: number
  sendWindow: number
  /** The bytes that the stream holds beside those of its request and answer. */
  readonly headBytes: number
  /** Bytes that arrived and count against the window of the connection. */
  unreleased = 0
  /**
   * State of `StreamWindows` for it: the window that it usually has, and how far it is beyond the one that
   * it began with.
   */
  usualWindow = 0
  extraWindow = 0
  /** How much of the announced body is missing, in bytes; negative: nothing was announced. */
  contentLeft: number
  /** When the bytes began to arrive whose rest is awaited; 0: nothing is awaited. */
  incompleteSinceMs = 0
  outgoing: Outgoing | undefined
  /** Whether the stream is among those that can send. */
  queued = false

  constructor(
    owner: StreamOwner<Head>,
    id: number,
    head: Head,
    options: {
      remoteEnded: boolean
      receiveWindow: number
      sendWindow: number
      contentLength: number
      headBytes: number
    },
  ) {
    this.#owner = owner
    this.id = id
    this.head = head
    this.remoteEnded = options.remoteEnded
    this.receiveWindow = options.receiveWindow
    this.sendWindow = options.sendWindow
    this.contentLeft = options.contentLength
    this.headBytes = options.headBytes
  }

  /** Whether too much waits to be sent on the connection to add more. */
  get congested(): boolean {
    return this.#owner.congestedFor(this)
  }

  /**
   * Whether the connection has had its turn. An application with more to do asks with `waitForRoom` for the
   * next one.
   */
  get yields(): boolean {
    return this.#owner.yields()
  }

  /** How many bytes of this stream wait to be sent. */
  get unsentBytes(): number {
    return this.outgoing?.bytes ?? 0
  }

  /**
   * Sends a whole answer: the fast path.
   *
   * @param prefix is copied;
   * @param body must not change until it is sent
   */
  answer(headers: RepeatedFields, prefix: Uint8Array, body: Buffer, trailers: RepeatedFields): void {
    if (!this.closed) this.#owner.answer(this, headers, prefix, body, trailers)
  }

  sendHeaders(headers: FieldsToSend): void {
    if (this.closed) return
    this.#queued().headers = headers
  }

  /** Sends a part of the body. @param prefix is copied; @param body must not change until it is sent */
  sendData(prefix: Uint8Array, body: Buffer): void {
    if (this.closed) return
    const outgoing = this.#queued()
    outgoing.parts.push(Buffer.from(prefix), body)
    outgoing.bytes += prefix.length + body.length
    this.#owner.added(this, prefix.length + body.length)
  }

  /** Ends the answer. @param trailers absent: there are none */
  end(trailers?: FieldsToSend): void {
    if (this.closed) return
    const outgoing = this.#queued()
    outgoing.trailers = trailers
    outgoing.ends = true
  }

  /** The application no longer holds these bytes of the body. When the stream is closed, it holds none. */
  release(bytes: number): void {
    if (!this.closed) this.#owner.release(this, bytes)
  }

  /**
   * The application can go on when a number of further bytes has arrived, or with 0 when the request has
   * ended. The peer may send them as soon as there is room.
   */
  expect(bytes: number): void {
    if (!this.closed && !this.remoteEnded) this.#owner.expect(this, bytes)
  }

  /** Asks for a call when the peer has read enough that more can be sent. */
  waitForRoom(): void {
    if (!this.closed) this.#owner.waitForRoom(this)
  }

  /** The application awaits the rest of a message. After a while it learns that the rest is late. */
  awaitRest(): void {
    if (this.incompleteSinceMs === 0) this.incompleteSinceMs = this.#owner.nowMs
  }

  /** The rest must wait for room here, and not for the peer. */
  pauseClock(): void {
    if (this.incompleteSinceMs > 0) this.incompleteSinceMs = Number.POSITIVE_INFINITY
  }

  /** The peer has room for the rest. */
  resumeClock(): void {
    if (this.incompleteSinceMs > 0) this.incompleteSinceMs = this.#owner.nowMs
  }

  /** Nothing is awaited. */
  complete(): void {
    this.incompleteSinceMs = 0
  }

  /** The handler has ended. */
  finished(): void {
    if (!this.busy) return
    this.busy = false
    this.#owner.finished(this)
  }

  /**
   * Counts bytes of the body.
   *
   * @returns whether it is still, or at its end, as long as was announced (§8.1.1)
   */
  takesBody(bytes: number, ends: boolean): boolean {
    if (this.contentLeft < 0) return true
    this.contentLeft -= bytes
    return ends ? this.contentLeft === 0 : this.contentLeft >= 0
  }

  #queued(): Outgoing {
    this.outgoing ??= newOutgoing()
    this.#owner.queue(this)
    return this.outgoing
  }
}

export function newOutgoing(): Outgoing {
  return { headers: undefined, parts: [], offset: 0, bytes: 0, trailers: undefined, ends: false }
}
