/** The streams of a connection: the frames of each state (RFC 9113, §5.1). It does not know a socket. */
import type { Application } from './application.ts'
import type { Parts } from './connection-parts.ts'
import type { HeaderBlocks } from './header-blocks.ts'
import type { Host } from './host.ts'
import type { RepeatedFields } from './hpack/encoder.ts'
import {
  ConnectionError,
  type Draining,
  ERROR,
  type ErrorCode,
  FLAG,
  FRAME,
  STREAM_ID_MAX,
  WINDOW_MAX,
} from './protocol.ts'
import type { Rates } from './rates.ts'
import type { ReceiveWindow } from './receive-window.ts'
import { trailerFault } from './request-head.ts'
import { outgoingAnswer, type Sender } from './sender.ts'
import { settingsPayload } from './settings.ts'
import { Stream, type StreamOwner } from './stream.ts'
import type { StreamIds } from './stream-ids.ts'
import type { StreamTable } from './stream-table.ts'
import type { StreamWindows } from './stream-windows.ts'
import type { Turn } from './turn.ts'

/** The cost of a stream, beside its header fields and the bytes of its request and answer. */
const STREAM_BYTES = 2_048

export class Session<Head> implements StreamOwner<Head> {
  readonly #app: Application<Head>
  readonly #host: Host
  readonly #streams: StreamTable<Stream<Head>>
  readonly #ids: StreamIds
  readonly #waiting = new Set<Stream<Head>>()
  /** Whether a request waits because the peer does not read answers. */
  heldBack = false
  readonly #sender: Sender<Head>
  readonly #blocks: HeaderBlocks<Head>
  readonly #rates: Rates
  /** The memory of the open streams beside the bytes of their requests and answers. */
  headBytes = 0
  /** Handlers that still run although their stream is closed. */
  #orphans = 0
  readonly #window: ReceiveWindow
  readonly #windows: StreamWindows<Head>
  readonly #turn: Turn
  /** Whether the application had more to do than this turn has time for. */
  interrupted = false
  draining: Draining = 'no'
  /** Whether reading has ended: the connection only sends its rest, and ends. */
  over = false

  constructor(app: Application<Head>, host: Host, parts: Parts<Head>) {
    this.#app = app
    this.#host = host
    this.#streams = parts.streams
    this.#ids = parts.ids
    this.#sender = parts.sender
    this.#blocks = parts.blocks
    this.#rates = parts.rates
    this.#window = parts.window
    this.#windows = parts.windows
    this.#turn = parts.turn
  }

  get nowMs(): number {
    return this.#host.nowMs
  }

  /** The server's preface (§3.4), after the client's: a client of another protocol could not read it. */
  begin(): void {
    if (this.#sender.begun) return
    this.#sender.begun = true
    this.#sender.control(FRAME.settings, FLAG.none, 0, settingsPayload(this.#host.limits))
    this.#openWindow()
  }

  beginTurn(): void {
    this.#host.writer.claim()
    this.#turn.begin()
    this.interrupted = false
    this.#sender.beginTurn()
  }

  /** Sends what can be sent, and lets those go on that waited for it. */
  endTurn(): void {
    this.#app.turnEnds()
    do this.#sender.pump()
    while (this.#resumeWaiting())
    this.#openWindow()
    this.#sender.inTurn = false
    this.#sender.flush()
    this.#host.writer.release()
  }

  #openWindow(): void {
    const wider = this.over || !this.#sender.begun ? 0 : this.#window.update(!this.#sender.congested)
    if (wider > 0) this.#sender.controlNumber(FRAME.windowUpdate, 0, wider)
  }

  yields(): boolean {
    const { isOver } = this.#turn
    if (isOver) this.interrupted = true
    return isOver
  }

  // Streams, as the application uses them.

  answer(
    stream: Stream<Head>,
    headers: RepeatedFields,
    prefix: Uint8Array,
    body: Buffer,
    trailers: RepeatedFields,
  ): void {
    if (this.#sender.answerNow(stream, headers, prefix, body, trailers)) this.sent(stream)
    else {
      stream.outgoing = outgoingAnswer(headers, prefix, body, trailers)
      this.#sender.add(stream.outgoing.bytes)
      this.queue(stream)
    }
  }

  congestedFor(stream: Stream<Head>): boolean {
    return this.#sender.congestedFor(stream)
  }

  queue(stream: Stream<Head>): void {
    this.#sender.queue(stream)
    if (!this.#sender.inTurn) this.#host.wake()
  }

  added(_stream: Stream<Head>, bytes: number): void {
    this.#sender.add(bytes)
  }

  release(stream: Stream<Head>, bytes: number): void {
    const released = Math.min(bytes, stream.unreleased)
    stream.unreleased -= released
    this.#window.release(released)
    this.#windows.released(stream)
  }

  expect(stream: Stream<Head>, bytes: number): void {
    this.#windows.expect(stream, bytes)
  }

  waitForRoom(stream: Stream<Head>): void {
    this.#waiting.add(stream)
    if (!this.#sender.inTurn) this.#host.wake()
  }

  finished(stream: Stream<Head>): void {
    if (stream.closed) this.#orphans--
  }

  // Frames, as the peer sends them.

  /** DATA (§6.1). @param length with the padding, which counts for the windows (§6.9) */
  data(id: number, length: number, endStream: boolean, bytes: Buffer, start: number, end: number): void {
    this.#window.take(length)
    if (start === end && !endStream) this.#rates.idleFrame()
    const stream = this.#streams.get(id)
    if (stream === undefined) {
      this.#onClosed(id, 'DATA', length)
      return
    }
    stream.receiveWindow -= length
    stream.unreleased += length
    this.#window.hold(length)
    if (stream.remoteEnded) this.#fault(stream.id, ERROR.STREAM_CLOSED)
    else if (stream.receiveWindow < 0) this.#fault(stream.id, ERROR.FLOW_CONTROL_ERROR)
    else if (!stream.takesBody(end - start, endStream)) this.#fault(stream.id, ERROR.PROTOCOL_ERROR)
    else {
      stream.remoteEnded = endStream
      this.#app.data(stream, bytes, start, end)
    }
  }

  /** A header block (§6.2) that opens a stream, or trailers. */
  fields(id: number, endStream: boolean, bytes: Buffer, start: number, end: number): void {
    const stream = this.#streams.get(id)
    if (stream !== undefined) this.#trailers(stream, endStream, bytes, start, end)
    else if (this.#ids.isNew(id)) this.#open(id, endStream, bytes, start, end)
    else {
      this.#blocks.fields(bytes, start, end)
      if (this.#ids.isLost(id))
        throw new ConnectionError(ERROR.PROTOCOL_ERROR, 'stream ids are odd and increase (§5.1.1)')
      this.#rates.idleFrame()
      this.#onClosed(id, 'HEADERS', end - start)
    }
  }

  /** RST_STREAM (§6.4) */
  peerReset(id: number): void {
    this.#mustHaveBegun(id, 'RST_STREAM')
    const stream = this.#streams.get(id)
    // Many clients reset each stream whose end they know, also one that has ended.
    if (stream === undefined || stream.answered) this.#rates.idleFrame()
    else this.#rates.cancelled()
    if (stream !== undefined) this.#close(stream, false)
  }

  /** WINDOW_UPDATE (§6.9) of a stream */
  widenStream(id: number, bytes: number): void {
    this.#mustHaveBegun(id, 'WINDOW_UPDATE')
    const stream = this.#streams.get(id)
    // An increment of nothing is an error also where the answer was faster (§6.9).
    if (bytes === 0) this.#fault(id, ERROR.PROTOCOL_ERROR)
    else if (stream !== undefined) {
      stream.sendWindow += bytes
      if (stream.sendWindow > WINDOW_MAX) this.#fault(id, ERROR.FLOW_CONTROL_ERROR)
      else if (stream.outgoing !== undefined) this.#sender.queue(stream)
    }
  }

  /** An error of a stream, or of the connection if the stream is not open. */
  streamError(id: number, code: ErrorCode, message: string): void {
    const stream = this.#streams.get(id)
    if (stream === undefined) throw new ConnectionError(code, message)
    this.#fault(stream.id, code)
  }

  /** Asks the peer to open no further streams (§6.8), with a warning first: some may be on their way. */
  announceEnd(): void {
    if (this.draining !== 'no') return
    this.draining = 'announced'
    this.begin()
    this.#sender.goAway(STREAM_ID_MAX, ERROR.NO_ERROR, '')
  }

  /** Says which stream is the last one that is answered. */
  tellLastStream(reason: string): void {
    if (this.draining === 'last_stream_told') return
    this.draining = 'last_stream_told'
    this.#sender.goAway(this.#ids.last, ERROR.NO_ERROR, reason)
    this.over ||= this.draining === 'last_stream_told' && this.#streams.size === 0
  }

  /** Ends the connection with an error (§5.4.1). @param answer the text for a client of another protocol */
  fail({ code, message, bound }: ConnectionError, answer?: Uint8Array): void {
    if (this.over) return
    if (bound !== undefined) this.#host.exceeded(bound)
    else if (code !== ERROR.NO_ERROR) this.#host.exceeded('protocol_error')
    if (answer !== undefined && !this.#sender.begun) this.#sender.plain(answer)
    else {
      this.begin()
      this.#sender.goAway(this.#ids.last, code, message)
    }
    this.abandon()
  }

  /** Closes all streams, because the connection is gone. */
  abandon(): void {
    this.over = true
    for (const stream of this.#streams.list()) this.#close(stream, false)
    this.#waiting.clear()
  }

  /** Tells the application about messages whose rest does not arrive. */
  checkTimes(nowMs: number): void {
    const { requestMs } = this.#host.limits
    for (const stream of this.#streams.list()) {
      // It waits for room here.
      if (this.#window.starved) stream.resumeClock()
      if (stream.incompleteSinceMs === 0 || nowMs - stream.incompleteSinceMs < requestMs) continue
      stream.complete()
      this.#host.exceeded('request_time')
      this.#app.late(stream)
    }
  }

  #open(id: number, endStream: boolean, bytes: Buffer, start: number, end: number): void {
    if (this.draining === 'last_stream_told') {
      this.#blocks.fields(bytes, start, end) // They may still change the table.
      this.#rates.idleFrame()
      this.#ids.addReset(id, this.#windows.ofNew)
      return
    }
    this.#ids.open(id)
    const { app, fault, contentLength, tooLarge, bytes: fieldBytes } = this.#blocks.request(bytes, start, end)
    const malformed = fault !== '' || (endStream && contentLength > 0)
    if (tooLarge) this.#host.exceeded('header_list')
    // A few bytes can ask for a large list again and again.
    if (tooLarge) this.#rates.fault()
    if (malformed) this.#fault(id, ERROR.PROTOCOL_ERROR)
    else if (this.#streams.size + this.#orphans >= this.#host.limits.streams) {
      this.#host.exceeded('streams')
      this.#rates.idleFrame()
      this.#resetId(id, ERROR.REFUSED_STREAM, this.#windows.ofNew)
    } else {
      this.#rates.request()
      const stream = new Stream<Head>(this, id, app as Head, {
        remoteEnded: endStream,
        receiveWindow: this.#windows.ofNew,
        sendWindow: this.#sender.initialWindow,
        contentLength,
        headBytes: STREAM_BYTES + fieldBytes,
      })
      this.#streams.add(stream)
      this.#holdHead(stream.headBytes)
      this.#app.open(stream)
    }
  }

  #trailers(stream: Stream<Head>, endStream: boolean, bytes: Buffer, start: number, end: number): void {
    const { fields } = this.#blocks.fields(bytes, start, end)
    if (stream.remoteEnded) this.#fault(stream.id, ERROR.STREAM_CLOSED)
    // Fields in the middle of a body do not exist (§8.1).
    else if (!endStream || trailerFault(fields) !== '' || !stream.takesBody(0, true))
      this.#fault(stream.id, ERROR.PROTOCOL_ERROR)
    else {
      stream.remoteEnded = true
      this.#app.data(stream, bytes, end, end)
    }
  }

  /** A frame of a stream that is not open. */
  #onClosed(id: number, type: string, bytes: number): void {
    this.#mustHaveBegun(id, type)
    // It was on its way when the stream was reset (§5.1), as far as the window went.
    const left = this.#ids.ignore(id, bytes)
    if (left === undefined) throw new ConnectionError(ERROR.STREAM_CLOSED, `${type} on a closed stream`)
    if (left < 0) this.#rates.idleFrame()
  }

  /** Nothing but HEADERS and PRIORITY may come on an idle stream (§5.1). */
  #mustHaveBegun(id: number, type: string): void {
    if (this.#ids.isIdle(id)) throw new ConnectionError(ERROR.PROTOCOL_ERROR, `${type} on an idle stream`)
  }

  /** Ends a stream because of what the peer did (§5.4.2), even if it has ended. It always counts. */
  #fault(id: number, code: ErrorCode): void {
    const stream = this.#streams.get(id)
    this.#resetId(id, code, stream?.receiveWindow ?? this.#windows.ofNew)
    if (stream !== undefined) this.#close(stream, false)
    this.#rates.fault()
  }

  /** @param windowBytes what the peer may have sent before it knows of the reset */
  #resetId(id: number, code: ErrorCode, windowBytes: number): void {
    this.#ids.addReset(id, windowBytes)
    this.control(FRAME.rstStream, id, code)
  }

  /** Sends a frame with one number, in this turn or soon. */
  control(type: number, stream: number, value: number): void {
    this.#sender.controlNumber(type, stream, value)
    if (!this.#sender.inTurn) this.#host.wake()
  }

  /** The answer is complete. */
  sent(stream: Stream<Head>): void {
    // Further bytes of the peer are useless (§8.1).
    if (!stream.remoteEnded) this.#resetId(stream.id, ERROR.NO_ERROR, stream.receiveWindow)
    this.#rates.answered()
    this.#close(stream, true)
  }

  #close(stream: Stream<Head>, answered: boolean): void {
    stream.closed = true
    this.#streams.delete(stream.id)
    this.#holdHead(-stream.headBytes)
    if (this.#waiting.size > 0) this.#waiting.delete(stream)
    if (stream.unreleased > 0) this.#window.release(stream.unreleased)
    this.#windows.released(stream)
    this.#sender.drop(stream)
    if (stream.busy) this.#orphans++
    if (!answered && stream.state !== undefined) this.#app.aborted(stream)
    this.over ||= this.draining === 'last_stream_told' && this.#streams.size === 0
  }

  #holdHead(bytes: number): void {
    this.headBytes += bytes
    this.#host.budget.add(bytes)
  }

  /** @returns whether something went on, so that there may be more to send */
  #resumeWaiting(): boolean {
    this.heldBack = false
    if (this.#waiting.size === 0 || this.#sender.congested) return false
    let resumed = false
    for (const stream of this.#waiting) {
      if (this.#sender.congested || this.yields()) {
        this.#host.wake()
        break
      }
      const isHeldBack = this.#sender.congestedFor(stream)
      if (isHeldBack) this.heldBack = true
      if (isHeldBack || stream.outgoing !== undefined) continue
      this.#waiting.delete(stream)
      this.#app.resume(stream)
      resumed = true
    }
    return resumed
  }
}
