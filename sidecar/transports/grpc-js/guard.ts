/**
 * Bounds of connections on grpc-js. It shows neither its connections nor what they hold, so the connections
 * are accepted here, and Node's diagnostics tell of their streams. What is between the two stays without a
 * bound: docs/decide/security/listeners.md says what.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { constants, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { BySocket } from '../../base/net/by-socket.ts'
import { ConnectionTable, connectionSource, type HeldConnection } from '../../base/net/connection-table.ts'
import { type Holder, muchSinceMs, releaseMost } from '../../base/net/held-bytes.ts'
import { Reports } from '../../base/net/reports.ts'
import type { Methods } from '../../contract/call.ts'
import type { TransportOptions } from '../transport.ts'

type Options = Pick<TransportOptions, 'bounds' | 'maxMessageBytes' | 'onExceeded'>

/** Time between two looks at all streams, in milliseconds. */
const LOOK_MS = 100

/** How long a connection that gives way may take to close, in milliseconds. */
const CLOSING_MS = 1_000

/** What a stream costs, beside the bytes of its request and answer. */
const STREAM_BYTES = 8_192

/** Node tells of each new stream of HTTP/2 here, also of other servers. */
const CREATED = 'http2.server.stream.created'

interface Created {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
}

/** A call. */
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
  readonly #bounds: Options['bounds']
  readonly #connectionBytesMax: number
  readonly #unreadBytesMax: number
  readonly #reports: Reports
  readonly #table: ConnectionTable<GuardedConnection>
  readonly #bySocket = new BySocket<GuardedConnection>()
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref()
  readonly #onCreated = (message: unknown) => this.#began(message as Created)

  constructor(methods: Methods, { bounds, maxMessageBytes, onExceeded }: Options) {
    this.#methods = methods
    this.#bounds = bounds
    // A message that may arrive must fit.
    this.#connectionBytesMax = Math.max(bounds.connectionBufferBytes, 2 * maxMessageBytes)
    // Beside the answer itself, grpc-js and Node keep much for each call that is not read.
    this.#unreadBytesMax = this.#connectionBytesMax / 2
    this.#reports = new Reports(onExceeded)
    this.#table = new ConnectionTable({
      connections: bounds.connections,
      connectionsPerSource: bounds.connectionsPerAddress,
    })
    subscribe(CREATED, this.#onCreated)
  }

  /** Lets a connection in, or closes it if there is no room for it. @returns whether it was let in */
  admit(socket: Socket): boolean {
    const source = connectionSource(socket.remoteAddress)
    const bound = this.#table.makeRoom(source, (exceeded) => this.#reports.add(exceeded))
    if (bound !== undefined) {
      this.#reports.add(bound)
      socket.destroy()
      return false
    }
    const connection = new GuardedConnection(socket, source)
    this.#table.add(connection)
    this.#bySocket.set(socket, connection)
    socket.once('close', () => this.#table.delete(connection))
    return true
  }

  /**
   * A response is about to be written, or the call ends because its connection leaves too many bytes unread.
   */
  responds(stream: ServerHttp2Stream, bytes: number): void {
    const connection = this.#of(stream)
    if (connection === undefined) return
    connection.unsentBytes += bytes
    connection.sinceMs = performance.now()
    connection.hasAnswered = true
    if (connection.unsentBytes <= this.#unreadBytesMax) return
    // Some of them may have been read since the last look.
    connection.look(performance.now())
    if (connection.unsentBytes + bytes <= this.#unreadBytesMax) return
    this.#reports.add('buffered_bytes')
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  close(): void {
    unsubscribe(CREATED, this.#onCreated)
    clearInterval(this.#timer)
    this.#reports.close()
    for (const connection of this.#table) connection.giveWay()
  }

  #of(stream: ServerHttp2Stream): GuardedConnection | undefined {
    const socket = stream.session?.socket
    return socket && this.#bySocket.get(socket)
  }

  #began({ stream, headers }: Created): void {
    const connection = this.#of(stream)
    if (connection === undefined) return
    if (connection.unsentBytes > this.#unreadBytesMax) {
      this.#reports.add('buffered_bytes')
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
      return
    }
    const call: Call = {
      stream,
      beganMs: performance.now(),
      single: this.#methods.get(headers[':path'] ?? '')?.type !== 'bidi',
      arrivedBytes: 0,
    }
    connection.begin(call)
    stream.once('close', () => connection.end(call))
    // grpc-js pauses the stream before it reads from it, and must have done so before somebody else reads.
    if (call.single)
      process.nextTick(() =>
        stream.on('data', ({ length }: Buffer) => this.#arrived(connection, call, length)),
      )
  }

  #arrived(connection: GuardedConnection, call: Call, bytes: number): void {
    if (connection.arrived(call, bytes) <= this.#connectionBytesMax) return
    this.#reports.add('buffered_bytes')
    connection.end(call)
    call.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #look(): void {
    const { requestMs, readerMs, bufferBytes } = this.#bounds
    const nowMs = performance.now()
    let heldBytes = 0
    for (const connection of this.#table) {
      for (const { stream } of connection.late(nowMs - requestMs)) {
        this.#reports.add('request_time')
        stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      }
      if (connection.look(nowMs) >= readerMs) {
        this.#reports.add('reader_time')
        connection.releaseAll()
      }
      heldBytes += connection.heldBytes
    }
    if (heldBytes <= bufferBytes) return
    this.#reports.add('buffered_bytes')
    releaseMost(this.#table, heldBytes - bufferBytes)
  }
}

const NONE: readonly Call[] = []

class GuardedConnection implements HeldConnection, Holder {
  readonly #socket: Socket
  /** Known since the first call. */
  #session: Http2Session | undefined
  readonly source: string
  readonly #calls = new Set<Call>()
  sinceMs = performance.now()
  hasAnswered = false
  #arrivedBytes = 0
  /** Bytes of answers that wait for the client, as of the last look, and of those since then. */
  unsentBytes = 0
  #writtenBytes = 0
  #readMs = performance.now()
  holdsMuchSinceMs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, source: string) {
    this.#socket = socket
    this.source = source
  }

  get isWorking(): boolean {
    for (const { stream, single } of this.#calls)
      if (single && stream.readableEnded && !stream.headersSent) return true
    return false
  }

  get heldBytes(): number {
    return this.#arrivedBytes + this.unsentBytes + STREAM_BYTES * this.#calls.size
  }

  begin(call: Call): void {
    this.#calls.add(call)
    this.#session = call.stream.session
    this.sinceMs = call.beganMs
  }

  /** @returns bytes of requests that the connection holds */
  arrived(call: Call, bytes: number): number {
    if (!this.#calls.has(call)) return 0
    call.arrivedBytes += bytes
    this.#arrivedBytes += bytes
    return this.#arrivedBytes
  }

  end(call: Call): void {
    if (this.#calls.delete(call)) this.#arrivedBytes -= call.arrivedBytes
  }

  /** Calls whose request began before that time, and has not arrived as a whole. */
  late(beforeMs: number): readonly Call[] {
    if (this.#calls.size === 0) return NONE
    return [...this.#calls].filter(
      ({ single, stream, beganMs }) => single && beganMs < beforeMs && !stream.readableEnded,
    )
  }

  /** @returns for how long the client has read nothing of what waits for it, in milliseconds */
  look(nowMs: number): number {
    this.unsentBytes = 0
    for (const { stream } of this.#calls) this.unsentBytes += stream.writableLength
    const { bytesWritten } = this.#socket
    if (bytesWritten !== this.#writtenBytes || this.unsentBytes === 0) this.#readMs = nowMs
    this.#writtenBytes = bytesWritten
    this.holdsMuchSinceMs = muchSinceMs(this, nowMs)
    return nowMs - this.#readMs
  }

  /**
   * A client that may just have sent a call learns that it was not begun, so that it sends it again
   * elsewhere.
   */
  giveWay(): void {
    if (this.#calls.size > 0 || this.#session?.closed !== false) return void this.#socket.destroy()
    this.#session.close()
    setTimeout(() => this.#socket.destroy(), CLOSING_MS).unref()
  }

  releaseAll(): void {
    this.#calls.clear()
    this.#arrivedBytes = 0
    this.unsentBytes = 0
    this.#socket.destroy()
  }
}
