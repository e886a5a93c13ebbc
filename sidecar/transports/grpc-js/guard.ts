/**
 * Bounds of connections on grpc-js. It shows neither its connections nor what they hold: the listener gives
 * them, and Node's diagnostics report their streams. docs/decide/security/listeners.md has what stays open.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { constants, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { BySocket } from '../../base/net/by-socket.ts'
import { ConnectionTable, connectionSource, type HeldConnection } from '../../base/net/connection-table.ts'
import { type Holder, muchSinceMs, releaseMost } from '../../base/net/held-bytes.ts'
import { Reports } from '../../base/net/reports.ts'
import type { ClientConnection, Methods } from '../../contract/call.ts'
import type { TransportOptions } from '../transport.ts'

/** Time between two looks at all streams, in milliseconds. */
const LOOK_MS = 100
/** The time that an evicted connection may take to close, in milliseconds. */
const CLOSING_MS = 1_000
/** The cost of a stream, beside the bytes of its request and answer. */
const STREAM_BYTES = 8_192

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_REFUSED_STREAM } = constants

/** Node reports each new stream of HTTP/2 here, also of other servers. */
const CREATED = 'http2.server.stream.created'
type Created = { readonly stream: ServerHttp2Stream; readonly headers: IncomingHttpHeaders }

interface Call {
  readonly stream: ServerHttp2Stream
  readonly beganMs: number
  /** Whether it has one request, which is looked at when it has arrived as a whole. */
  readonly single: boolean
  /** Bytes of the request so far. */
  arrivedBytes: number
}

export class Guard {
  readonly #methods: Methods
  readonly #bounds: TransportOptions['bounds']
  readonly #connectionBytesMax: number
  readonly #unreadBytesMax: number
  readonly reports: Reports
  readonly #table: ConnectionTable<GuardedConnection>
  readonly #bySocket = new BySocket<GuardedConnection>()
  #whenEmpty: (() => void) | undefined
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref()
  readonly #onCreated = (message: unknown) => this.#began(message as Created)

  constructor(methods: Methods, { bounds, maxMessageBytes, onExceeded }: TransportOptions) {
    this.#methods = methods
    this.#bounds = bounds
    // A message that may arrive must fit.
    this.#connectionBytesMax = Math.max(bounds.connectionBufferBytes, 2 * maxMessageBytes)
    // Beside the answer itself, grpc-js and Node keep much for each call that is not read.
    this.#unreadBytesMax = this.#connectionBytesMax / 2
    this.reports = new Reports(onExceeded)
    this.#table = new ConnectionTable({ ...bounds, connectionsPerSource: bounds.connectionsPerAddress })
    subscribe(CREATED, this.#onCreated)
  }

  /** Lets a connection in, or closes it if there is no room for it. @returns whether it was let in */
  admit(socket: Socket, peer: ClientConnection): boolean {
    const connection = new GuardedConnection(socket, peer)
    const bound = this.#table.makeRoom(connection.source, (exceeded) => this.reports.add(exceeded))
    if (bound !== undefined) {
      this.reports.add(bound)
      socket.destroy()
      return false
    }
    this.#table.add(connection)
    this.#bySocket.set(socket, connection)
    socket.once('close', () => {
      this.#table.delete(connection)
      if (this.#table.size === 0) this.#whenEmpty?.()
    })
    return true
  }

  /** Calls the listener when no connection is open any longer. */
  whenEmpty(listener: () => void): void {
    if (this.#table.size === 0) listener()
    else this.#whenEmpty = listener
  }

  /** The connection of a stream; `undefined`: it is closed, or was not let in here. */
  connectionOf({ session }: ServerHttp2Stream): GuardedConnection | undefined {
    return session && this.#bySocket.get(session.socket)
  }

  /** Before a response. The call ends if its connection leaves too many bytes unread. */
  responds(connection: GuardedConnection, stream: ServerHttp2Stream, bytes: number): void {
    connection.unsentBytes += bytes
    connection.sinceMs = performance.now()
    connection.hasAnswered = true
    if (connection.unsentBytes <= this.#unreadBytesMax) return
    // Some of them may have been read since the last look.
    connection.look(performance.now())
    if (connection.unsentBytes + bytes <= this.#unreadBytesMax) return
    this.#refuse(stream, 'buffered_bytes')
  }

  close(): void {
    unsubscribe(CREATED, this.#onCreated)
    clearInterval(this.#timer)
    this.reports.close()
    for (const connection of this.#table) connection.giveWay()
  }

  #refuse(stream: ServerHttp2Stream, bound: string, code = NGHTTP2_ENHANCE_YOUR_CALM): void {
    this.reports.add(bound)
    stream.close(code)
  }

  #began({ stream, headers }: Created): void {
    const connection = this.connectionOf(stream)
    if (connection === undefined) return
    if (connection.unsentBytes > this.#unreadBytesMax) {
      this.#refuse(stream, 'buffered_bytes', NGHTTP2_REFUSED_STREAM)
      return
    }
    const single = this.#methods.get(headers[':path'] ?? '')?.type !== 'bidi'
    const call: Call = { stream, beganMs: performance.now(), single, arrivedBytes: 0 }
    connection.calls.add(call)
    connection.session = stream.session
    connection.sinceMs = call.beganMs
    stream.once('close', () => connection.end(call))
    const arrived = ({ length }: Buffer) => {
      if (!connection.calls.has(call)) return
      call.arrivedBytes += length
      connection.arrivedBytes += length
      if (connection.arrivedBytes <= this.#connectionBytesMax) return
      connection.end(call)
      this.#refuse(stream, 'buffered_bytes')
    }
    // grpc-js pauses the stream before it reads from it, and must have done so before others read.
    if (single) process.nextTick(() => stream.on('data', arrived))
  }

  #look(): void {
    const { requestMs, readerMs, bufferBytes } = this.#bounds
    const nowMs = performance.now()
    let heldBytes = 0
    for (const connection of this.#table) {
      for (const { stream, single, beganMs } of [...connection.calls])
        if (single && beganMs < nowMs - requestMs && !stream.readableEnded)
          this.#refuse(stream, 'request_time')
      if (connection.look(nowMs) >= readerMs) {
        this.reports.add('reader_time')
        connection.releaseAll()
      }
      heldBytes += connection.heldBytes
    }
    if (heldBytes <= bufferBytes) return
    this.reports.add('buffered_bytes')
    releaseMost(this.#table, heldBytes - bufferBytes)
  }
}

export class GuardedConnection implements HeldConnection, Holder {
  readonly #socket: Socket
  readonly source: string
  readonly peer: ClientConnection
  /** Known since the first call. */
  session: Http2Session | undefined
  readonly calls = new Set<Call>()
  sinceMs = performance.now()
  hasAnswered = false
  /** Bytes of requests that its calls have. */
  arrivedBytes = 0
  /** Bytes of answers that wait for the client, as of the last look, and of those since then. */
  unsentBytes = 0
  #writtenBytes = 0
  #readMs = this.sinceMs
  holdsMuchSinceMs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, peer: ClientConnection) {
    this.#socket = socket
    this.peer = peer
    this.source = connectionSource(peer.address)
  }

  get isWorking(): boolean {
    return [...this.calls].some(({ stream, single }) => single && stream.readableEnded && !stream.headersSent)
  }

  get heldBytes(): number {
    return this.arrivedBytes + this.unsentBytes + STREAM_BYTES * this.calls.size
  }

  end(call: Call): void {
    if (this.calls.delete(call)) this.arrivedBytes -= call.arrivedBytes
  }

  /** @returns for how long the client has not read the waiting bytes, in milliseconds */
  look(nowMs: number): number {
    this.unsentBytes = 0
    for (const { stream } of this.calls) this.unsentBytes += stream.writableLength
    const { bytesWritten } = this.#socket
    if (bytesWritten !== this.#writtenBytes || this.unsentBytes === 0) this.#readMs = nowMs
    this.#writtenBytes = bytesWritten
    this.holdsMuchSinceMs = muchSinceMs(this, nowMs)
    return nowMs - this.#readMs
  }

  /** A client that may just have sent a call learns that it was not begun, and sends it again elsewhere. */
  giveWay(): void {
    if (this.calls.size > 0 || this.session?.closed !== false) return void this.#socket.destroy()
    this.session.close()
    setTimeout(() => this.#socket.destroy(), CLOSING_MS).unref()
  }

  releaseAll(): void {
    this.calls.clear()
    this.arrivedBytes = 0
    this.unsentBytes = 0
    this.#socket.destroy()
  }
}
