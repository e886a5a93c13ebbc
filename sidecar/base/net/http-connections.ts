/**
 * The connections of an HTTP server. When there are as many as there may be, one that waits for its client is
 * evicted for a new one, also in the middle of a request. If the server works for all of them, a few more are
 * taken for health checks.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { BySocket } from './by-socket.ts'
import {
  ConnectionTable,
  connectionSource,
  type HeldConnection,
  type TableBound,
} from './connection-table.ts'
import type { ConnectionSource, Listener, Listening } from './connections.ts'
import { lingerAfter } from './linger.ts'
import { stopParsing } from './stop-parsing.ts'

/** The parts of a request and its response that matter here, whichever version of HTTP they have. */
type Request = Pick<IncomingMessage, 'complete' | 'headers' | 'httpVersionMajor' | 'resume' | 'socket'>
type Response = Pick<ServerResponse, 'writableEnded' | 'once' | 'prependOnceListener'>

export interface HttpConnectionLimits {
  /** Most connections. */
  readonly connections: number
  /**
   * Whether the server works on a request whose body is still arriving. Otherwise it waits for the client.
   */
  readonly bodiesStream: boolean
}

/** A bound that was exceeded. */
export type HttpBound = TableBound | 'requests'

/**
 * Connections beyond the bound on which health checks alone are answered: the most of them, and this part of
 * the bound.
 */
const RESERVED_MAX = 16
export const RESERVED_PART = 1 / 4

/** Most requests of a connection of HTTP/2 that are not answered. It announces that many. */
const REQUESTS_MAX = 100

/**
 * How many there may be on HTTP/1.1, whose clients send one at a time, and on HTTP/2 where all connections
 * have many.
 */
const FEW_REQUESTS = 4
const ALL_REQUESTS_MAX = 4_096

/** Time between two looks for connections without a request while the server closes, in milliseconds. */
const CLOSING_POLL_MS = 20

/** How long a connection may then be without one. Node no longer looks for slow clients. */
const CLOSING_IDLE_MS = 1_000

export class HttpConnections {
  readonly #limits: HttpConnectionLimits
  readonly #onExceeded: (bound: HttpBound) => void
  readonly #table: ConnectionTable<HttpConnection>
  readonly #bySocket = new BySocket<HttpConnection>()
  readonly #reserve: number
  #requests = 0

  constructor(limits: HttpConnectionLimits, onExceeded: (bound: HttpBound) => void) {
    this.#limits = limits
    this.#onExceeded = onExceeded
    const { connections } = limits
    this.#reserve = Math.min(RESERVED_MAX, Math.ceil(connections * RESERVED_PART))
    this.#table = new ConnectionTable({ connections, connectionsPerSource: Number.POSITIVE_INFINITY })
  }

  /**
   * Serves the connections that `source` accepts.
   *
   * @throws Error if the address is in use, or cannot be bound
   */
  async serve(
    server: Server,
    listener: Listener,
    address: string,
    source: ConnectionSource,
  ): Promise<Listening> {
    // Starts the checks of slow clients, which a server begins with when it listens.
    server.emit('listening')
    return source.listen(listener, address, (socket) => {
      if (!this.#take(socket)) return void socket.destroy()
      // As an HTTP server sets it for connections that it accepts itself.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      server.emit('connection', socket)
    })
  }

  /** A request has arrived. @returns false: only a health check may be answered on its connection */
  began(request: Request, response: Response): boolean {
    const connection = this.#bySocket.get(request.socket)
    if (connection === undefined) return true
    const exchange: Exchange = { request, response, lasts: false }
    connection.exchanges.add(exchange)
    if (request.httpVersionMajor === 1 && isUnfinished(request)) lingerAfter(request, response)
    connection.sinceMs = performance.now()
    this.#requests++
    response.once('close', () => {
      if (!connection.exchanges.delete(exchange)) return
      connection.sinceMs = performance.now()
      connection.hasAnswered ||= response.writableEnded
      this.#requests--
    })
    if (connection.exchanges.size > this.#requestsMax(request)) {
      this.#onExceeded('requests')
      connection.socket.destroy()
      stopParsing(request.socket)
    }
    return !connection.reserved
  }

  /**
   * The response may go on for ever, as one who watches wants it. The server is not at work on it, and its
   * connection may be evicted.
   */
  lasts(request: Request): void {
    for (const exchange of this.#bySocket.get(request.socket)?.exchanges ?? [])
      if (exchange.request === request) exchange.lasts = true
  }

  #requestsMax({ httpVersionMajor }: Request): number {
    return httpVersionMajor === 1 || this.#requests > ALL_REQUESTS_MAX ? FEW_REQUESTS : REQUESTS_MAX
  }

  /** Closes connections without a request until none are left, or until that time. */
  async drain(server: Server, deadlineMs = Number.POSITIVE_INFINITY): Promise<void> {
    while (this.#table.size > 0 && performance.now() < deadlineMs) {
      server.closeIdleConnections()
      const beforeMs = performance.now() - CLOSING_IDLE_MS
      for (const { socket, exchanges, sinceMs } of this.#table)
        if (exchanges.size === 0 && sinceMs < beforeMs) socket.destroy()
      await new Promise((resolve) => setTimeout(resolve, CLOSING_POLL_MS))
    }
    for (const { socket } of this.#table) socket.destroy()
  }

  /** @returns false if there is no room */
  #take(socket: Socket): boolean {
    const source = connectionSource(socket.remoteAddress)
    const bound = this.#table.makeRoom(source, this.#onExceeded)
    if (bound !== undefined) this.#onExceeded(bound)
    const reserved = bound !== undefined
    if (reserved && this.#table.size >= this.#limits.connections + this.#reserve) return false
    const connection = new HttpConnection(socket, source, {
      reserved,
      bodiesStream: this.#limits.bodiesStream,
      onGone: () => this.#gone(connection),
    })
    this.#bySocket.set(socket, connection)
    this.#table.add(connection)
    socket.once('close', () => this.#gone(connection))
    return true
  }

  #gone(connection: HttpConnection): void {
    this.#table.delete(connection)
    this.#requests -= connection.exchanges.size
    connection.exchanges.clear()
  }
}

interface ConnectionOptions {
  /** Whether it is beyond the bound, for health checks alone. */
  readonly reserved: boolean
  readonly bodiesStream: boolean
  readonly onGone: () => void
}

/** A request and its response. */
interface Exchange {
  readonly request: Request
  readonly response: Response
  /** Whether the response may go on for ever. */
  lasts: boolean
}

class HttpConnection implements HeldConnection {
  readonly socket: Socket
  readonly source: string
  readonly #options: ConnectionOptions
  readonly exchanges = new Set<Exchange>()
  sinceMs = performance.now()
  hasAnswered = false

  constructor(socket: Socket, source: string, options: ConnectionOptions) {
    this.socket = socket
    this.source = source
    this.#options = options
  }

  get reserved(): boolean {
    return this.#options.reserved
  }

  /**
   * A client in the middle of its request, or that does not read its response, waits no less than one without
   * a request.
   */
  get isWorking(): boolean {
    for (const { request, response, lasts } of this.exchanges) {
      const waits = lasts || (!this.#options.bodiesStream && isUnfinished(request))
      if (!response.writableEnded && !waits) return true
    }
    return false
  }

  giveWay(): void {
    this.#options.onGone()
    this.socket.destroy()
  }
}

/** Whether a body follows the headers. */
export function hasBody({ headers }: Pick<Request, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Whether a part of the body is still to come. A request without a body is not complete at once, either. */
export function isUnfinished(request: Pick<Request, 'complete' | 'headers'>): boolean {
  return !request.complete && hasBody(request)
}
