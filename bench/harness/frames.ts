/**
 * A connection of the driver: HTTP/2 with frames written by hand. The client of `node:http2` takes ten times
 * as long for a call as the sidecar does, so that it would measure itself. Header fields that repeat are one
 * byte each, as with any client of gRPC.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { HeaderDecoder } from '../../sidecar/transports/http2/hpack/decoder.ts'
import { HeaderEncoder, type RepeatedFields } from '../../sidecar/transports/http2/hpack/encoder.ts'
import {
  FLAG,
  FRAME,
  FRAME_BYTES_DEFAULT,
  FRAME_HEADER_BYTES,
  HEADER_TABLE_BYTES,
  PREFACE,
  SETTING,
  SETTING_BYTES,
  WINDOW_DEFAULT,
} from '../../sidecar/transports/http2/protocol.ts'

/** The part of a call that handles its answer. */
export interface Exchange {
  /** A part of the answer. The bytes are only lent. */
  data(bytes: Buffer, start: number, end: number): void
  /** The answer is complete. @param status of gRPC; undefined: it has none */
  ended(status: string | undefined): void
}

/** A part of a request. */
interface Sending {
  readonly stream: number
  readonly bytes: Buffer
  readonly end: boolean
}

/** No answer waits for a window of this size. */
const WINDOW_BYTES = 16 * 1024 * 1024

const HEADER_LIST_BYTES = 16_384
const NOTHING = Buffer.alloc(0)

export class FrameConnection {
  readonly #socket: Socket
  readonly #encoder = new HeaderEncoder()
  readonly #decoder = new HeaderDecoder(HEADER_TABLE_BYTES, HEADER_LIST_BYTES)
  readonly #exchanges = new Map<number, Exchange>()
  readonly #ready = Promise.withResolvers<void>()
  /** Called when the connection is no longer usable. */
  onFailure: (error: Error) => void = this.#ready.reject
  #nextStream = 1
  /** How much the server accepts on the connection, in bytes, and the frames that wait for it. */
  #window = WINDOW_DEFAULT
  #waiting: Sending[] = []
  /** The beginning of a frame whose rest has not arrived. */
  #partial = NOTHING
  /** Bytes of answers that were not yet acknowledged to the server. */
  #consumed = 0
  /** Frames that go out together. */
  #out: Buffer[] = []

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.turn(() => this.#read(chunk)))
    socket.on('error', (error) => this.onFailure(error))
    socket.on('close', () => this.onFailure(new Error('the server has closed the connection')))
    this.#out.push(...greeting())
    this.#flush()
  }

  /** @param address `HOST:PORT`. Resolves when the server has sent its settings. */
  static async open(address: string): Promise<FrameConnection> {
    const { hostname, port } = new URL(`http://${address}`)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    const connection = new FrameConnection(socket)
    await connection.#ready.promise
    return connection
  }

  close(): void {
    this.onFailure = () => {}
    this.#socket.destroy()
  }

  /** Does some work, and sends what it has brought together. */
  turn(work: () => void): void {
    try {
      work()
      this.#flush()
    } catch (error) {
      this.onFailure(error as Error)
    }
  }

  /** Begins a call. @returns its stream */
  begin(fields: RepeatedFields, exchange: Exchange): number {
    const stream = this.#nextStream
    this.#nextStream += 2
    this.#exchanges.set(stream, exchange)
    this.#out.push(frame(FRAME.headers, FLAG.endHeaders, stream, this.#encoder.repeated(fields)))
    return stream
  }

  /**
   * Sends a part of the request, as soon as the connection has room for all of it. The window of the stream
   * is not looked at: the bytes on one stream are fewer than any server accepts.
   *
   * @param end whether it is the last part
   */
  send(stream: number, bytes: Buffer, end: boolean): void {
    this.#waiting.push({ stream, bytes, end })
    this.#sendWaiting()
  }

  #sendWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (next.bytes.length > this.#window) return
      this.#waiting.shift()
      this.#window -= next.bytes.length
      this.#data(next)
    }
  }

  #data({ stream, bytes, end }: Sending): void {
    let at = 0
    do {
      const part = bytes.subarray(at, at + FRAME_BYTES_DEFAULT)
      at += part.length
      const flags = end && at === bytes.length ? FLAG.endStream : FLAG.none
      this.#out.push(frame(FRAME.data, flags, stream, part))
    } while (at < bytes.length)
  }

  #read(chunk: Buffer): void {
    const bytes = this.#partial.length === 0 ? chunk : Buffer.concat([this.#partial, chunk])
    let at = 0
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3)
      if (end > bytes.length) break
      this.#take(bytes, at, at + FRAME_HEADER_BYTES, end)
      at = end
    }
    this.#partial = at === bytes.length ? NOTHING : Buffer.from(bytes.subarray(at))
    if (this.#consumed > WINDOW_BYTES / 2) {
      this.#out.push(widened(this.#consumed))
      this.#consumed = 0
    }
  }

  #take(bytes: Buffer, header: number, start: number, end: number): void {
    const flags = bytes[header + 4] as number
    const stream = bytes.readUInt32BE(header + 5)
    switch (bytes[header + 3]) {
      case FRAME.data:
        this.#consumed += end - start
        this.#exchangeOf(stream).data(bytes, start, end)
        if (flags & FLAG.endStream) this.#end(stream, undefined)
        break
      case FRAME.headers: {
        const { fields } = this.#decoder.decode(bytes, start, end)
        if (flags & FLAG.endStream)
          this.#end(stream, fields.find(({ name }) => name === 'grpc-status')?.value)
        break
      }
      case FRAME.settings:
        if (flags & FLAG.ack) break
        this.#settings(bytes, start, end)
        this.#out.push(frame(FRAME.settings, FLAG.ack, 0, NOTHING))
        this.#ready.resolve()
        break
      case FRAME.ping:
        if ((flags & FLAG.ack) === 0)
          this.#out.push(frame(FRAME.ping, FLAG.ack, 0, bytes.subarray(start, end)))
        break
      case FRAME.windowUpdate:
        if (stream !== 0) break
        this.#window += bytes.readUInt32BE(start)
        this.#sendWaiting()
        break
      default:
        throw new Error(`a frame of type ${bytes[header + 3]} where answers are due`)
    }
  }

  #settings(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at += SETTING_BYTES)
      if (bytes.readUInt16BE(at) === SETTING.headerTableSize)
        this.#encoder.setTableSize(bytes.readUInt32BE(at + 2))
  }

  #end(stream: number, status: string | undefined): void {
    const exchange = this.#exchangeOf(stream)
    this.#exchanges.delete(stream)
    exchange.ended(status)
  }

  #exchangeOf(stream: number): Exchange {
    const exchange = this.#exchanges.get(stream)
    if (exchange === undefined) throw new Error(`a frame of stream ${stream}, which has ended`)
    return exchange
  }

  #flush(): void {
    if (this.#out.length === 0) return
    this.#socket.write(this.#out.length === 1 ? (this.#out[0] as Buffer) : Buffer.concat(this.#out))
    this.#out = []
  }
}

/** The first frames of a client: no answer waits for a window. */
export function greeting(): Buffer[] {
  return [PREFACE, settings(), widened(WINDOW_BYTES - WINDOW_DEFAULT)]
}

function settings(): Buffer {
  const payload = Buffer.alloc(2 * SETTING_BYTES)
  payload.writeUInt16BE(SETTING.enablePush, 0)
  payload.writeUInt16BE(SETTING.initialWindowSize, SETTING_BYTES)
  payload.writeUInt32BE(WINDOW_BYTES, SETTING_BYTES + 2)
  return frame(FRAME.settings, FLAG.none, 0, payload)
}

/** Room for a number of further bytes of answers on the connection. */
export function widened(bytes: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(bytes)
  return frame(FRAME.windowUpdate, FLAG.none, 0, payload)
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(stream, 5)
  bytes.set(payload, FRAME_HEADER_BYTES)
  return bytes
}
