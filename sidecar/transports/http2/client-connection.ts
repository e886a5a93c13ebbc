/**
 * The client's end of a connection, for a program that asks little and is short: Node's own takes as long to
 * load as the rest of such a program. It takes whatever the server sends, up to a bound, and pushes nothing
 * back.
 */
import type { Duplex } from 'node:stream'
import {
  GOAWAY_BYTES_MIN,
  mustMeasure,
  NUMBER_BYTES,
  PING_BYTES,
  PRIORITY_BYTES,
  paddedEnd,
  protocolError,
} from './frame-checks.ts'
import { FrameReader, type FrameTaker } from './frame-reader.ts'
import { HeaderDecoder } from './hpack/decoder.ts'
import { type Field, HeaderEncoder } from './hpack/encoder.ts'
import {
  ConnectionError,
  ERROR,
  FLAG,
  FRAME,
  FRAME_BYTES_DEFAULT,
  FRAME_HEADER_BYTES,
  HEADER_TABLE_BYTES,
  PREFACE,
  SETTING,
  SETTING_BYTES,
  STREAM_ID_MAX,
  WINDOW_DEFAULT,
  WINDOW_MAX,
} from './protocol.ts'
import { applySettings } from './settings.ts'

/** Most bytes of the header fields of an answer. */
const HEADER_LIST_BYTES_MAX = 1_048_576

/** Lengths of the payloads that have one. */
const LENGTHS: ReadonlyMap<number, number> = new Map([
  [FRAME.ping, PING_BYTES],
  [FRAME.windowUpdate, NUMBER_BYTES],
  [FRAME.rstStream, NUMBER_BYTES],
])

export interface Answer {
  /** The header fields and the trailers, the last one of each name. */
  readonly fields: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** The server has ended a request without an answer. */
export class StreamReset extends Error {
  override readonly name = 'StreamReset'
  /** The server has not looked at the request. */
  readonly wasRefused: boolean

  constructor(code: number) {
    super(`the server ended the request (HTTP/2 error ${code})`)
    this.wasRefused = code === ERROR.REFUSED_STREAM
  }
}

/** The answer has more bytes than the client takes. */
export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong'
}

/** A request that has no answer yet. */
interface Asked {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
  readonly fields: Map<string, string>
  readonly parts: Buffer[]
  bytes: number
  /** The part of the body that the windows have not let out yet. */
  unsent: Buffer
  /** How many bytes of the body the server still takes. */
  window: number
}

export class ClientConnection implements FrameTaker {
  readonly #socket: Duplex
  readonly #answerBytesMax: number
  readonly #reader = new FrameReader(this)
  readonly #decoder = new HeaderDecoder(HEADER_TABLE_BYTES, HEADER_LIST_BYTES_MAX)
  readonly #encoder = new HeaderEncoder()
  readonly #asked = new Map<number, Asked>()
  #nextId = 1
  #window = WINDOW_DEFAULT
  #initialWindow = WINDOW_DEFAULT
  /** A header block that arrives in parts. */
  #block: { readonly parts: Buffer[]; readonly flags: number } | undefined
  /** Whether the other side has shown that it speaks HTTP/2. */
  isEstablished = false

  /** @param socket connected or on its way; it is destroyed with the connection */
  constructor(socket: Duplex, answerBytesMax: number) {
    this.#socket = socket
    this.#answerBytesMax = answerBytesMax
    this.#reader.read(PREFACE)
    socket.write(PREFACE)
    this.#write(FRAME.settings, FLAG.none, 0, ownSettings())
    this.#write(FRAME.windowUpdate, FLAG.none, 0, uint32(WINDOW_MAX - WINDOW_DEFAULT))
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error) => this.fail(error))
    socket.on('close', () => this.fail(this.#ended()))
  }

  /** @throws Error if the connection ends, StreamReset if the server ends the request */
  request(fields: readonly Field[], body: Buffer): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const id = this.#nextId
    this.#nextId += 2
    const asked = { resolve, reject, fields: new Map(), parts: [], bytes: 0, unsent: body }
    this.#asked.set(id, { ...asked, window: this.#initialWindow })
    if (this.#socket.destroyed) this.fail(this.#ended())
    const block = this.#encoder.once(fields)
    const endStream = body.length === 0 ? FLAG.endStream : FLAG.none
    for (let at = 0; at < block.length; at += FRAME_BYTES_DEFAULT) {
      const end = at + FRAME_BYTES_DEFAULT
      const endHeaders = end >= block.length ? FLAG.endHeaders : FLAG.none
      const [type, flags] = at === 0 ? [FRAME.headers, endStream] : [FRAME.continuation, FLAG.none]
      this.#write(type, flags | endHeaders, id, block.subarray(at, end))
    }
    this.#sendBodies()
    return promise
  }

  /** Ends the connection, and every request. */
  fail(error: Error): void {
    this.#socket.destroy()
    for (const { reject } of this.#asked.values()) reject(error)
    this.#asked.clear()
  }

  isHttp2(): void {}

  notHttp2(): void {}

  checkLength(length: number, type: number): void {
    if (length > FRAME_BYTES_DEFAULT)
      throw new ConnectionError(ERROR.FRAME_SIZE_ERROR, 'a frame that is too long')
    const expected = LENGTHS.get(type)
    if (expected !== undefined) mustMeasure(length, expected)
    if (type === FRAME.goAway && length < GOAWAY_BYTES_MIN) mustMeasure(length, GOAWAY_BYTES_MIN)
    if (type === FRAME.settings && length % SETTING_BYTES !== 0) mustMeasure(length, SETTING_BYTES)
  }

  pauses(): boolean {
    return false
  }

  takeFrame(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    if (!this.isEstablished && type !== FRAME.settings)
      throw protocolError('expected the settings of HTTP/2 first')
    if (type === FRAME.headers || type === FRAME.continuation)
      this.#takeFields(type, flags, stream, bytes, start, end)
    else if (type === FRAME.data) this.#takeData(flags, stream, bytes, start, end)
    else if (type === FRAME.settings) this.#takeSettings(flags, bytes, start, end)
    else if (type === FRAME.ping && (flags & FLAG.ack) === 0)
      this.#write(FRAME.ping, FLAG.ack, 0, Buffer.from(bytes.subarray(start, end)))
    else if (type === FRAME.windowUpdate) this.#widen(stream, bytes.readUInt32BE(start) & WINDOW_MAX)
    else if (type === FRAME.rstStream) this.#end(stream, new StreamReset(bytes.readUInt32BE(start)))
    else if (type === FRAME.goAway) {
      const last = bytes.readUInt32BE(start) & STREAM_ID_MAX
      for (const id of this.#asked.keys()) if (id > last) this.#end(id, new StreamReset(ERROR.REFUSED_STREAM))
    }
  }

  #ended(): Error {
    return new Error(this.isEstablished ? 'the server ended the connection' : 'Failed to connect')
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.read(chunk)
    } catch (error) {
      const isWrong = error instanceof ConnectionError
      this.fail(isWrong ? new Error(`Protocol error: ${error.message}`) : (error as Error))
    }
  }

  #write(type: number, flags: number, stream: number, payload: Uint8Array): void {
    const head = Buffer.alloc(FRAME_HEADER_BYTES)
    head.writeUIntBE(payload.length, 0, 3)
    head[3] = type
    head[4] = flags
    head.writeUInt32BE(stream, 5)
    this.#socket.write(Buffer.concat([head, payload]))
  }

  #sendBodies(): void {
    for (const [id, asked] of this.#asked)
      for (let ended = false; !ended && !this.#isSent(asked); ) {
        const length = Math.min(asked.unsent.length, FRAME_BYTES_DEFAULT, asked.window, this.#window)
        if (length <= 0) break
        const part = asked.unsent.subarray(0, length)
        asked.unsent = asked.unsent.subarray(length)
        asked.window -= length
        this.#window -= length
        ended = this.#isSent(asked)
        this.#write(FRAME.data, ended ? FLAG.endStream : FLAG.none, id, part)
      }
  }

  #isSent({ unsent }: Asked): boolean {
    return unsent.length === 0
  }

  #widen(stream: number, bytes: number): void {
    const asked = this.#asked.get(stream)
    if (stream === 0) this.#window += bytes
    else if (asked !== undefined) asked.window += bytes
    this.#sendBodies()
  }

  #takeSettings(flags: number, bytes: Buffer, start: number, end: number): void {
    this.isEstablished = true
    if ((flags & FLAG.ack) !== 0) return
    applySettings(bytes, start, end, {
      headerTableSize: (size) => this.#encoder.setTableSize(size),
      initialWindow: (size) => {
        for (const asked of this.#asked.values()) asked.window += size - this.#initialWindow
        this.#initialWindow = size
      },
    })
    this.#write(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0))
    this.#sendBodies()
  }

  #takeFields(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    let [from, to] = [start, end]
    if (type === FRAME.headers) {
      const priority = (flags & FLAG.priority) === 0 ? 0 : PRIORITY_BYTES
      if ((flags & FLAG.padded) !== 0) to = paddedEnd(bytes, from++, end, 1 + priority)
      from += priority
    }
    this.#block ??= { parts: [], flags }
    this.#block.parts.push(Buffer.from(bytes.subarray(from, to)))
    if (this.#block.parts.reduce((sum, { length }) => sum + length, 0) > HEADER_LIST_BYTES_MAX)
      throw new ConnectionError(ERROR.ENHANCE_YOUR_CALM, 'too many header fields')
    if ((flags & FLAG.endHeaders) === 0) return
    const { parts, flags: first } = this.#block
    this.#block = undefined
    const block = Buffer.concat(parts)
    const { fields } = this.#decoder.decode(block, 0, block.length)
    const asked = this.#asked.get(stream)
    for (const { name, value } of fields) asked?.fields.set(name, value)
    if ((first & FLAG.endStream) !== 0) this.#end(stream)
  }

  #takeData(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    const asked = this.#asked.get(stream)
    const isPadded = (flags & FLAG.padded) !== 0
    const [from, to] = isPadded ? [start + 1, paddedEnd(bytes, start, end, 1)] : [start, end]
    if (asked !== undefined) {
      asked.parts.push(Buffer.from(bytes.subarray(from, to)))
      asked.bytes += to - from
      if (asked.bytes > this.#answerBytesMax)
        throw new AnswerTooLong(`expected an answer of at most ${this.#answerBytesMax} bytes`)
      // The window of the request is as wide as it can be, so only what all requests got is given back.
      if (end > start) this.#write(FRAME.windowUpdate, FLAG.none, 0, uint32(end - start))
    }
    if ((flags & FLAG.endStream) !== 0) this.#end(stream)
  }

  /** @param error `undefined`: the answer is complete */
  #end(stream: number, error?: Error): void {
    const asked = this.#asked.get(stream)
    if (asked === undefined) return
    this.#asked.delete(stream)
    const { fields, parts, resolve, reject } = asked
    if (error === undefined) resolve({ fields, body: Buffer.concat(parts) })
    else reject(error)
  }
}

/** No pushes, and as much at once as the server likes to send. */
function ownSettings(): Buffer {
  const payload = Buffer.alloc(2 * SETTING_BYTES)
  payload.writeUInt16BE(SETTING.enablePush, 0)
  payload.writeUInt16BE(SETTING.initialWindowSize, SETTING_BYTES)
  payload.writeUInt32BE(WINDOW_MAX, SETTING_BYTES + 2)
  return payload
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
