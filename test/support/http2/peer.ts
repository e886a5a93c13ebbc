/**
 * A peer of our HTTP/2 in this process, without a network: it sends bytes, and reads frames. The clock is the
 * test's.
 */
import { Duplex } from 'node:stream'
import type { Application } from '../../../sidecar/transports/http2/application.ts'
import { HeaderDecoder } from '../../../sidecar/transports/http2/hpack/decoder.ts'
import { Http2Server } from '../../../sidecar/transports/http2/http2-server.ts'
import type { Limits } from '../../../sidecar/transports/http2/limits.ts'
import { type Bound, ERROR, FRAME_HEADER_BYTES } from '../../../sidecar/transports/http2/protocol.ts'

/** A frame that the server has sent. */
export interface Received {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** The server's side of a connection. Its writes are taken at once, unless the peer does not read. */
class Socket extends Duplex {
  readonly written: Buffer[] = []
  #blocked: (() => void) | undefined
  reads = true

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written.push(Buffer.from(chunk))
    if (this.reads) done()
    else this.#blocked = done
  }

  /** The peer reads what was written, and goes on reading. */
  unblock(): void {
    this.reads = true
    this.#blocked?.()
    this.#blocked = undefined
  }
}

export interface Peering {
  readonly limits?: Partial<Limits>
  /** The address that the peer connects from. */
  readonly address?: string
}

/** A server with a clock that only goes on when the test says so. */
export class TestServer<Head> {
  nowMs = 1_000_000
  readonly http2: Http2Server<Head>
  readonly exceeded: Bound[] = []

  constructor(app: Application<Head>, limits: Partial<Limits> = {}) {
    this.http2 = new Http2Server(app, {
      limits,
      clock: () => this.nowMs,
      onExceeded: (bound) => this.exceeded.push(bound),
    })
  }

  connect(address?: string): TestPeer {
    const socket = new Socket({ allowHalfOpen: true })
    socket.on('error', () => {})
    this.http2.accept(socket, { address })
    return new TestPeer(socket)
  }

  /** Lets time pass, with all the looks at the connections that happen in it. */
  pass(ms: number): void {
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.nowMs += Math.min(250, end - this.nowMs)
      this.http2.tick()
    }
  }
}

export class TestPeer {
  readonly socket: Socket
  readonly #decoder = new HeaderDecoder(4_096, 1_048_576)
  #seen = 0

  constructor(socket: Socket) {
    this.socket = socket
  }

  /** Sends bytes. The server works on them before this returns, as far as one turn goes. */
  send(...bytes: readonly Buffer[]): this {
    this.socket.emit('data', Buffer.concat(bytes))
    return this
  }

  /** Forgets what was written, so that a long test does not keep it. */
  forget(): void {
    this.socket.written.length = 0
    this.#seen = 0
  }

  get ended(): boolean {
    return this.socket.writableEnded || this.socket.destroyed
  }

  /** All frames that have come since this was last called. */
  received(): Received[] {
    const bytes = Buffer.concat(this.socket.written).subarray(this.#seen)
    const frames: Received[] = []
    let at = 0
    while (at + FRAME_HEADER_BYTES <= bytes.length) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3)
      frames.push({
        type: bytes.readUInt8(at + 3),
        flags: bytes.readUInt8(at + 4),
        stream: bytes.readUInt32BE(at + 5),
        payload: bytes.subarray(at + FRAME_HEADER_BYTES, end),
      })
      at = end
    }
    this.#seen += at
    return frames
  }

  /** The fields of a header block. All blocks must be read in their order. */
  fields({ payload }: Received): Record<string, string> {
    const { fields } = this.#decoder.decode(payload, 0, payload.length)
    return Object.fromEntries(fields.map(({ name, value }) => [name, value]))
  }
}

const NAMES = Object.fromEntries(Object.entries(ERROR).map(([name, code]) => [code, name]))
const TYPES = [
  'DATA',
  'HEADERS',
  'PRIORITY',
  'RST_STREAM',
  'SETTINGS',
  'PUSH_PROMISE',
  'PING',
  'GOAWAY',
  'WINDOW_UPDATE',
  'CONTINUATION',
]

/**
 * The meaning of a frame, in a word or two: `GOAWAY PROTOCOL_ERROR`, `RST_STREAM 1 CANCEL`,
 * `HEADERS 1 END_STREAM`.
 */
export function described({ type, flags, stream, payload }: Received): string {
  const name = TYPES[type] ?? `type ${type}`
  if (name === 'GOAWAY') return `GOAWAY ${NAMES[payload.readUInt32BE(4)]}`
  if (name === 'RST_STREAM') return `RST_STREAM ${stream} ${NAMES[payload.readUInt32BE(0)]}`
  if (name === 'DATA' || name === 'HEADERS')
    return `${name} ${stream}${(flags & 1) === 1 ? ' END_STREAM' : ''}`
  if (name === 'SETTINGS' || name === 'PING') return `${name}${(flags & 1) === 1 ? ' ACK' : ''}`
  return stream === 0 ? name : `${name} ${stream}`
}

/** The debug data of a GOAWAY. */
export function debugData({ payload }: Received): string {
  return payload.subarray(8).toString()
}
