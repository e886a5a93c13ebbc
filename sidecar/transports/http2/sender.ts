/** The sender of a connection: frames in fair shares, no faster than the peer reads (RFC 9113, §5.2). */
import type { Budget } from '../../base/net/buffer-budget.ts'
import type { FrameWriter, Sink } from './frame-writer.ts'
import { HeaderEncoder, RepeatedFields } from './hpack/encoder.ts'
import {
  ConnectionError,
  ERROR,
  FLAG,
  FRAME,
  FRAME_BYTES_DEFAULT,
  FRAME_HEADER_BYTES,
  WINDOW_DEFAULT,
  WINDOW_MAX,
} from './protocol.ts'
import { type FieldsToSend, newOutgoing, type Outgoing, type Stream } from './stream.ts'

/** The frames that are sent are no longer than every peer accepts (§4.2). */
const FRAME_BYTES = FRAME_BYTES_DEFAULT

/**
 * With more bytes of answers than this waiting, no further request is answered on a connection: the least and
 * the most, as there is room. So a peer that reads slowly waits with its requests.
 */
const UNSENT_BYTES_MIN = 65_536
const UNSENT_BYTES_MAX = 262_144

/** A socket, as far as this file uses one. */
export interface Outlet extends Sink {
  /** Whether too much waits to add more. */
  readonly writableNeedDrain: boolean
}

export interface SenderEvents<Head> {
  /** The last frame of a stream was written. */
  onSent(stream: Stream<Head>): void
  /** Bytes of answers were written, with the ends of a number of parts. */
  onBytes(bytes: number, parts: number): void
}

export class Sender<Head> {
  readonly #writer: FrameWriter
  readonly #outlet: Outlet
  readonly #budget: Budget
  readonly #events: SenderEvents<Head>
  readonly #encoder = new HeaderEncoder()
  /** The bytes that the peer still accepts on the connection. */
  #window = WINDOW_DEFAULT
  /** The window that a new stream begins with. */
  initialWindow = WINDOW_DEFAULT
  /** Streams with something that may be sendable, in turns. */
  #ready: Stream<Head>[] = []
  /** Bytes of answers that wait for the peer. */
  unsentBytes = 0
  /** Bytes of answers that were sent. */
  sentBytes = 0
  /** Bytes written to the socket. */
  writtenBytes = 0
  /** Frames that were asked for while another connection had its turn. */
  readonly #later: { readonly type: number; readonly stream: number; readonly value: number }[] = []
  /** Whether the peer was sent the settings, so that it awaits frames. */
  begun = false
  /** Whether the connection has its turn, so that what is written goes out at its end. */
  inTurn = false
  /** Whether the socket is full. */
  full = false

  constructor(writer: FrameWriter, outlet: Outlet, budget: Budget, events: SenderEvents<Head>) {
    this.#writer = writer
    this.#outlet = outlet
    this.#budget = budget
    this.#events = events
  }

  /** Whether too much waits to add more. */
  get congested(): boolean {
    if (this.full || this.unsentBytes <= UNSENT_BYTES_MIN) return this.full
    return this.unsentBytes > Math.min(this.#budget.share, UNSENT_BYTES_MAX)
  }

  /** Where there is no room for answers that wait, none is made that the peer's windows hold back. */
  congestedFor({ sendWindow }: Stream<Head>): boolean {
    return this.congested || (Math.min(sendWindow, this.#window) <= 0 && this.#budget.share === 0)
  }

  /** A frame about the connection or the end of a stream. It does not wait for the peer's window. */
  control(type: number, flags: number, stream: number, payload: Uint8Array): void {
    this.#room(FRAME_HEADER_BYTES + payload.length)
    this.#writer.header(payload.length, type, flags, stream)
    this.#writer.bytes(payload)
  }

  /** Bytes that are not a frame. */
  plain(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#writer.bytes(bytes)
  }

  beginTurn(): void {
    this.inTurn = true
    for (const { type, stream, value } of this.#later.splice(0)) this.controlNumber(type, stream, value)
  }

  /** A frame with one number: now if the connection has its turn, else at the beginning of the next one. */
  controlNumber(type: number, stream: number, value: number): void {
    if (!this.inTurn) {
      this.#later.push({ type, stream, value })
      return
    }
    this.#room(FRAME_HEADER_BYTES + 4)
    this.#writer.header(4, type, FLAG.none, stream)
    this.#writer.uint32(value)
  }

  goAway(lastStream: number, code: number, debug: string): void {
    const text = Buffer.from(debug)
    this.#room(FRAME_HEADER_BYTES + 8 + text.length)
    this.#writer.header(8 + text.length, FRAME.goAway, FLAG.none, 0)
    this.#writer.uint32(lastStream)
    this.#writer.uint32(code)
    this.#writer.bytes(text)
  }

  /** @returns false if the answer does not go out as a whole now; then no byte of it was written */
  answerNow(
    stream: Stream<Head>,
    headers: RepeatedFields,
    prefix: Uint8Array,
    body: Buffer,
    trailers: RepeatedFields,
  ): boolean {
    const bytes = prefix.length + body.length
    if (
      !this.inTurn ||
      this.full ||
      stream.outgoing !== undefined ||
      bytes > FRAME_BYTES ||
      bytes > this.#window ||
      bytes > stream.sendWindow
    )
      return false
    const writer = this.#writer
    const { id } = stream
    const first = this.#encoder.repeated(headers)
    const last = this.#encoder.repeated(trailers)
    this.#room(first.length + bytes + last.length + 3 * FRAME_HEADER_BYTES)
    writer.header(first.length, FRAME.headers, FLAG.endHeaders, id)
    writer.bytes(first)
    writer.header(bytes, FRAME.data, FLAG.none, id)
    writer.bytes(prefix)
    writer.bytes(body)
    writer.header(last.length, FRAME.headers, FLAG.endHeaders | FLAG.endStream, id)
    writer.bytes(last)
    this.#window -= bytes
    this.sentBytes += bytes
    this.#events.onBytes(bytes, 2)
    return true
  }

  /** The stream's answer is complete, or has grown. */
  queue(stream: Stream<Head>): void {
    if (stream.queued) return
    stream.queued = true
    this.#ready.push(stream)
  }

  /** The stream is closed: drops its unsent data. */
  drop(stream: Stream<Head>): void {
    if (stream.outgoing === undefined) return
    this.add(-stream.outgoing.bytes)
    stream.outgoing = undefined
  }

  /** More bytes wait, or fewer. */
  add(bytes: number): void {
    this.unsentBytes += bytes
    this.#budget.add(bytes)
  }

  /** WINDOW_UPDATE of the connection (§6.9.1). @throws ConnectionError beyond the largest window */
  widen(bytes: number): void {
    this.#window += bytes
    if (this.#window > WINDOW_MAX)
      throw new ConnectionError(ERROR.FLOW_CONTROL_ERROR, 'a flow-control window beyond 2^31-1')
  }

  /**
   * SETTINGS_INITIAL_WINDOW_SIZE, which also changes the windows of open streams (§6.9.2).
   *
   * @throws ConnectionError
   */
  setInitialWindow(bytes: number, open: Iterable<Stream<Head>>): void {
    const change = bytes - this.initialWindow
    this.initialWindow = bytes
    for (const stream of open) {
      stream.sendWindow += change
      if (stream.sendWindow > WINDOW_MAX)
        throw new ConnectionError(ERROR.FLOW_CONTROL_ERROR, 'a flow-control window beyond 2^31-1')
      if (stream.outgoing !== undefined) this.queue(stream)
    }
  }

  setHeaderTableSize(bytes: number): void {
    this.#encoder.setTableSize(bytes)
  }

  /** Sends what can be sent, one frame of each stream after the other. */
  pump(): void {
    let progress = true
    while (progress && !this.full && this.#ready.length > 0) {
      progress = false
      const round = this.#ready
      this.#ready = []
      for (const stream of round) {
        stream.queued = false
        if (stream.closed || stream.outgoing === undefined) continue
        if (this.full) this.queue(stream)
        else if (this.#send(stream, stream.outgoing)) progress = true
      }
    }
  }

  /** Hands everything that was written to the socket. */
  flush(): void {
    const { length } = this.#writer
    if (length === 0) return
    this.writtenBytes += length
    this.#writer.flush(this.#outlet)
    this.full = this.#outlet.writableNeedDrain
  }

  /** One frame of the body, with the frames before and after it. @returns whether something was written */
  #send(stream: Stream<Head>, outgoing: Outgoing): boolean {
    const { headers } = outgoing
    if (headers !== undefined) {
      outgoing.headers = undefined
      const alone = outgoing.ends && outgoing.bytes === 0 && outgoing.trailers === undefined
      this.#headers(stream, headers, alone)
      if (alone) return this.#sent(stream)
    }
    if (outgoing.bytes > 0) {
      const bytes = Math.min(outgoing.bytes, FRAME_BYTES, this.#window, stream.sendWindow)
      if (bytes <= 0) {
        // A window of the stream that opens puts it back. For the window of the connection it waits here.
        if (stream.sendWindow > 0) this.queue(stream)
        return headers !== undefined
      }
      const last = outgoing.ends && bytes === outgoing.bytes && outgoing.trailers === undefined
      this.#data(stream, outgoing, bytes, last)
      if (last) return this.#sent(stream)
      if (outgoing.bytes > 0) {
        this.queue(stream)
        return true
      }
    }
    if (!outgoing.ends) {
      stream.outgoing = undefined
      return true
    }
    if (outgoing.trailers !== undefined) this.#headers(stream, outgoing.trailers, true)
    else this.control(FRAME.data, FLAG.endStream, stream.id, NOTHING)
    return this.#sent(stream)
  }

  #sent(stream: Stream<Head>): true {
    stream.outgoing = undefined
    this.#events.onSent(stream)
    return true
  }

  #headers({ id }: Stream<Head>, fields: FieldsToSend, endStream: boolean): void {
    const block =
      fields instanceof RepeatedFields ? this.#encoder.repeated(fields) : this.#encoder.once(fields)
    const end = endStream ? FLAG.endStream : FLAG.none
    let type: number = FRAME.headers
    let at = 0
    do {
      const next = Math.min(at + FRAME_BYTES, block.length)
      this.#room(FRAME_HEADER_BYTES + next - at)
      const flags = (type === FRAME.headers ? end : FLAG.none) | (next === block.length ? FLAG.endHeaders : 0)
      this.#writer.header(next - at, type, flags, id)
      this.#writer.part(block, at, next)
      type = FRAME.continuation
      at = next
    } while (at < block.length)
  }

  #data(stream: Stream<Head>, outgoing: Outgoing, bytes: number, last: boolean): void {
    this.#room(FRAME_HEADER_BYTES + bytes)
    this.#writer.header(bytes, FRAME.data, last ? FLAG.endStream : FLAG.none, stream.id)
    const { parts } = outgoing
    let left = bytes
    let sent = 0
    while (left > 0) {
      const part = parts[sent] as Buffer
      const end = Math.min(part.length, outgoing.offset + left)
      this.#writer.part(part, outgoing.offset, end)
      left -= end - outgoing.offset
      outgoing.offset = end
      if (end === part.length) {
        outgoing.offset = 0
        sent++
      }
    }
    parts.splice(0, sent)
    outgoing.bytes -= bytes
    this.add(-bytes)
    this.#window -= bytes
    stream.sendWindow -= bytes
    this.sentBytes += bytes
    stream.answered = true
    this.#events.onBytes(bytes, sent)
  }

  #room(bytes: number): void {
    if (!this.#writer.hasRoom(bytes)) this.flush()
  }
}

/** The answer that waits to be sent, if an answer cannot go out as a whole. */
export function outgoingAnswer(
  headers: RepeatedFields,
  prefix: Uint8Array,
  body: Buffer,
  trailers: RepeatedFields,
): Outgoing {
  const outgoing = newOutgoing()
  outgoing.headers = headers
  outgoing.parts.push(Buffer.from(prefix), body)
  outgoing.bytes = prefix.length + body.length
  outgoing.trailers = trailers
  outgoing.ends = true
  return outgoing
}

const NOTHING = Buffer.alloc(0)
