/** Reads the frames of a connection: each type with its rules (RFC 9113, §6). */

import type { Parts } from './connection-parts.ts'
import {
  GOAWAY_BYTES_MIN,
  mustHaveNoStream,
  mustHaveStream,
  mustMeasure,
  NUMBER_BYTES,
  PING_BYTES,
  PRIORITY_BYTES,
  paddedEnd,
  protocolError,
} from './frame-checks.ts'
import { FrameReader, type FrameTaker } from './frame-reader.ts'
import { answerTo } from './other-protocols.ts'
import { ConnectionError, ERROR, FLAG, FRAME, FRAME_BYTES_DEFAULT, SETTING_BYTES } from './protocol.ts'
import type { Session } from './session.ts'
import { applySettings } from './settings.ts'

const NOTHING = Buffer.alloc(0)

export class Frames<Head> implements FrameTaker {
  readonly #session: Session<Head>
  readonly #parts: Parts<Head>
  readonly #reader = new FrameReader(this)
  readonly #onPong: (payload: Buffer) => void
  #gotSettings = false
  #turnOver = false
  #tookFrame = false
  /** When the bytes began to arrive whose rest is awaited; 0: none are. */
  #incompleteSinceMs: number

  /** @param onPong an answer to a ping has arrived */
  constructor(session: Session<Head>, parts: Parts<Head>, onPong: (payload: Buffer) => void) {
    this.#session = session
    this.#parts = parts
    this.#onPong = onPong
    this.#incompleteSinceMs = session.nowMs
  }

  /** Whether there are bytes left from an earlier turn. */
  get paused(): boolean {
    return this.#reader.paused
  }

  read(chunk: Buffer): void {
    this.#run(() => this.#reader.read(chunk))
  }

  /** Memory that keeps frames and header blocks that are not complete, or wait for their turn, in bytes. */
  get heldBytes(): number {
    return this.#reader.heldBytes + (this.#parts.blocks.open?.bytes ?? 0)
  }

  /** Keeps what has arrived for `resume`. */
  keep(chunk: Buffer): void {
    this.#reader.keep(chunk)
  }

  resume(): void {
    this.#run(() => this.#reader.resume())
  }

  discard(): void {
    this.#reader.discard()
  }

  /** @throws ConnectionError if the preface, a frame or a header block takes too long to arrive */
  checkTimes(nowMs: number, requestMs: number): void {
    const since = Math.min(
      this.#incompleteSinceMs || Number.POSITIVE_INFINITY,
      this.#parts.blocks.open?.sinceMs ?? Number.POSITIVE_INFINITY,
    )
    if (nowMs - since >= requestMs)
      throw new ConnectionError(
        ERROR.ENHANCE_YOUR_CALM,
        `the rest of a frame or of its header fields did not arrive within ${requestMs} ms`,
        'request_time',
      )
  }

  #run(work: () => void): void {
    this.#turnOver = false
    this.#tookFrame = false
    work()
    if (!this.#reader.expectsMore) this.#incompleteSinceMs = 0
    // A client that completes a frame has the full time for the next one.
    else if (this.#tookFrame || this.#incompleteSinceMs === 0) this.#incompleteSinceMs = this.#session.nowMs
  }

  pauses(): boolean {
    return this.#turnOver || this.#session.over || this.#parts.sender.full
  }

  isHttp2(): void {
    this.#session.begin()
  }

  notHttp2(first: number): void {
    const error = new ConnectionError(ERROR.PROTOCOL_ERROR, 'the preface of HTTP/2 was expected')
    this.#session.fail(error, answerTo(first))
  }

  checkLength(length: number, _type: number): void {
    if (length > FRAME_BYTES_DEFAULT)
      throw new ConnectionError(ERROR.FRAME_SIZE_ERROR, `a frame of more than ${FRAME_BYTES_DEFAULT} bytes`)
  }

  takeFrame(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    this.#tookFrame = true
    this.#take(type, flags, stream, bytes, start, end)
    if (this.#parts.turn.count(end - start)) this.#turnOver = true
  }

  #take(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    if (this.#parts.blocks.open !== undefined && type !== FRAME.continuation)
      throw protocolError('a frame between the parts of header fields')
    if (!this.#gotSettings && type !== FRAME.settings) throw protocolError('the first frame must be SETTINGS')
    switch (type) {
      case FRAME.data:
        this.#data(flags, stream, bytes, start, end)
        break
      case FRAME.headers:
        this.#headers(flags, stream, bytes, start, end)
        break
      case FRAME.priority:
        this.#priority(stream, bytes, start, end)
        break
      case FRAME.rstStream:
        mustHaveStream(stream)
        mustMeasure(end - start, NUMBER_BYTES)
        this.#session.peerReset(stream)
        break
      case FRAME.settings:
        this.#settings(flags, stream, bytes, start, end)
        break
      case FRAME.pushPromise:
        throw protocolError('a client must not push')
      case FRAME.ping:
        this.#ping(flags, stream, bytes, start, end)
        break
      case FRAME.goAway:
        mustHaveNoStream(stream)
        if (end - start < GOAWAY_BYTES_MIN) mustMeasure(end - start, GOAWAY_BYTES_MIN)
        // The peer closes the connection when its streams have ended.
        this.#parts.rates.idleFrame()
        break
      case FRAME.windowUpdate:
        this.#windowUpdate(stream, bytes, start, end)
        break
      case FRAME.continuation:
        this.#continuation(flags, stream, bytes, start, end)
        break
      default:
        // Unknown types are ignored (§4.1).
        this.#parts.rates.idleFrame()
        break
    }
  }

  #data(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    mustHaveStream(stream)
    const length = end - start
    const endStream = (flags & FLAG.endStream) !== 0
    if (flags & FLAG.padded)
      this.#session.data(stream, length, endStream, bytes, start + 1, paddedEnd(bytes, start, end, 1))
    else this.#session.data(stream, length, endStream, bytes, start, end)
  }

  #headers(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    mustHaveStream(stream)
    const prioritised = (flags & FLAG.priority) !== 0
    let from = start
    let to = end
    if (flags & FLAG.padded) {
      to = paddedEnd(bytes, start, end, prioritised ? 1 + PRIORITY_BYTES : 1)
      from++
    } else if (prioritised && end - start < PRIORITY_BYTES) mustMeasure(end - start, PRIORITY_BYTES)
    const dependsOnItself = prioritised && (bytes.readUInt32BE(from) & 0x7fff_ffff) === stream
    if (prioritised) from += PRIORITY_BYTES
    const endStream = (flags & FLAG.endStream) !== 0
    if (flags & FLAG.endHeaders) this.#session.fields(stream, endStream, bytes, from, to)
    else this.#beginBlock(stream, endStream, bytes, from, to)
    if (dependsOnItself) this.#dependsOnItself(stream)
  }

  #beginBlock(stream: number, endStream: boolean, bytes: Buffer, start: number, end: number): void {
    const { blocks } = this.#parts
    const block = blocks.begin(stream, endStream, this.#session.nowMs)
    blocks.add(block, bytes, start, end)
  }

  #continuation(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    const { blocks } = this.#parts
    const block = blocks.open
    if (block === undefined || block.stream !== stream)
      throw protocolError('CONTINUATION without header fields to continue')
    blocks.add(block, bytes, start, end)
    if ((flags & FLAG.endHeaders) === 0) return
    blocks.open = undefined
    const whole = Buffer.concat(block.parts)
    this.#session.fields(stream, block.endStream, whole, 0, whole.length)
  }

  #priority(stream: number, bytes: Buffer, start: number, end: number): void {
    mustHaveStream(stream)
    this.#parts.rates.idleFrame()
    if (end - start !== PRIORITY_BYTES)
      this.#session.streamError(stream, ERROR.FRAME_SIZE_ERROR, `PRIORITY has ${PRIORITY_BYTES} bytes`)
    else if ((bytes.readUInt32BE(start) & 0x7fff_ffff) === stream) this.#dependsOnItself(stream)
  }

  /** RFC 7540, §5.3.1. RFC 9113 has no such rule, and no client has a reason to do it. */
  #dependsOnItself(stream: number): void {
    this.#session.streamError(stream, ERROR.PROTOCOL_ERROR, 'a stream that depends on itself')
  }

  #settings(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    mustHaveNoStream(stream)
    this.#parts.rates.setting()
    this.#gotSettings = true
    if (flags & FLAG.ack) {
      mustMeasure(end - start, 0)
      this.#parts.windows.acknowledge(this.#parts.streams.list())
      return
    }
    if ((end - start) % SETTING_BYTES !== 0)
      throw new ConnectionError(ERROR.FRAME_SIZE_ERROR, `SETTINGS of ${end - start} bytes`)
    const { sender, streams } = this.#parts
    applySettings(bytes, start, end, {
      headerTableSize: (bytes) => sender.setHeaderTableSize(bytes),
      initialWindow: (bytes) => sender.setInitialWindow(bytes, streams.list()),
    })
    sender.control(FRAME.settings, FLAG.ack, 0, NOTHING)
  }

  #ping(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    mustHaveNoStream(stream)
    mustMeasure(end - start, PING_BYTES)
    this.#parts.rates.ping()
    const payload = bytes.subarray(start, end)
    if (flags & FLAG.ack) this.#onPong(payload)
    else this.#parts.sender.control(FRAME.ping, FLAG.ack, 0, payload)
  }

  #windowUpdate(stream: number, bytes: Buffer, start: number, end: number): void {
    mustMeasure(end - start, NUMBER_BYTES)
    this.#parts.rates.idleFrame()
    const increment = bytes.readUInt32BE(start) & 0x7fff_ffff
    if (stream !== 0) this.#session.widenStream(stream, increment)
    else if (increment === 0) throw protocolError('WINDOW_UPDATE by nothing')
    else this.#parts.sender.widen(increment)
  }
}
