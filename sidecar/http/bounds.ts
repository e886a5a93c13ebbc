/**
 * The resources that clients of the HTTP server may hold: connections, requests, and bodies that have not
 * arrived as a whole.
 */
import type { IncomingMessage, Server } from 'node:http'
import { parseAddress } from '../base/address.ts'
import type { HttpError, HttpReply, HttpRequest } from '../base/http/exchange.ts'
import type { ConnectionSource } from '../base/net/connections.ts'
import { HttpConnections, isUnfinished } from '../base/net/http-connections.ts'
import { carrierOf } from '../base/net/http-request.ts'
import { ownConnections } from '../base/net/listen.ts'
import { Reports } from '../base/net/reports.ts'
import type { Reporting } from '../usecases/capabilities.ts'

export interface HttpListener {
  /** The port that was bound. */
  readonly port: number
  /** Lets requests finish, then closes. */
  close(): Promise<void>
}

const CONNECTIONS_MAX = 1_000

/** Most bytes of unfinished bodies, of all clients. One body has `BODY_BYTES_MAX` at most. */
const ARRIVING_BYTES_MAX = 33_554_432

/** The cost of a part of a body beside its bytes. Parts can have one byte each. */
const PART_BYTES = 128

/** Paths that are answered also where there are too many connections. */
const HEALTH: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** The reports to operators of exceeded bounds, and of requests that no route sees. */
export function newReports({ log, meters }: Pick<Reporting, 'log' | 'meters'>): Reports {
  return new Reports((counts) => {
    meters?.exceeded('http', counts)
    log.warn(
      { listener: 'http', exceeded: counts },
      'connections or requests were refused because a limit was reached',
    )
  })
}

export class Bounds {
  readonly #connections: HttpConnections
  readonly #bodies = new Bodies(() => this.#reports.add('buffered_bytes'))
  readonly #reports: Reports
  /** The carrier of the request that began last, while the bytes that brought it are read. */
  #begun: object | undefined
  readonly #forget = () => {
    this.#begun = undefined
  }

  constructor(reports: Reports, connectionsMax = CONNECTIONS_MAX) {
    this.#reports = reports
    this.#connections = new HttpConnections(
      { connections: Math.min(CONNECTIONS_MAX, connectionsMax), bodiesStream: false },
      (bound) => this.#reports.add(bound),
    )
  }

  /** Counts a request that begins. @returns what is wrong with it; undefined: nothing */
  problem({ raw, url }: HttpRequest, reply: HttpReply): HttpError | undefined {
    const hasRoom = this.#connections.began(raw, reply.raw)
    if (hasRoom || HEALTH.has(url)) return undefined
    reply.header('connection', 'close')
    return { status: 503, message: 'too many connections; try again', retryAfterSeconds: 1 }
  }

  /**
   * Begins the work on a request: in the next turn of the event loop, where the same bytes of its connection
   * have begun another one. So others do not wait for all that a client has sent at once.
   */
  begin(request: IncomingMessage, work: () => void): void {
    const carrier = carrierOf(request)
    if (this.#begun === carrier) return void setImmediate(work)
    if (this.#begun === undefined) process.nextTick(this.#forget)
    this.#begun = carrier
    work()
  }

  /** Holds the body of a request until it is read. A handler that reads the body itself has bounds for it. */
  hold(request: IncomingMessage): void {
    if (isUnfinished(request)) this.#bodies.add(request)
  }

  /** The response to a request may go on for ever. */
  lasts(request: IncomingMessage): void {
    this.#connections.lasts(request)
  }

  /** @throws Error if the address is in use, or cannot be bound */
  async listen(
    http: Server,
    address: string,
    source: ConnectionSource = ownConnections(),
  ): Promise<HttpListener> {
    const listening = await this.#connections.serve(http, 'http', address, source).catch((error: unknown) => {
      http.close()
      throw error
    })
    const bound = parseAddress('http.address', listening.address)
    return {
      port: bound.type === 'tcp' ? bound.port : 0,
      close: async () => {
        listening.close()
        http.close()
        // A server waits only for connections that it has accepted itself.
        await this.#connections.drain(http)
        this.#reports.close()
      },
    }
  }
}

type Body = IncomingMessage

/** Bodies that are arriving, the oldest first. Beyond the bound the oldest ones are given up. */
class Bodies {
  readonly #onExceeded: () => void
  readonly #arriving = new Map<Body, number>()
  #bytes = 0

  constructor(onExceeded: () => void) {
    this.#onExceeded = onExceeded
  }

  add(body: Body): void {
    this.#arriving.set(body, 0)
    // The route reads the body, after a while. Until then nothing may be taken from it.
    body.pause()
    body.on('data', ({ length }: Buffer) => this.#arrived(body, length + PART_BYTES))
    for (const event of ['end', 'close']) body.once(event, () => this.#delete(body))
  }

  #arrived(body: Body, bytes: number): void {
    const before = this.#arriving.get(body)
    if (before === undefined) return
    this.#arriving.set(body, before + bytes)
    this.#bytes += bytes
    for (const [oldest] of this.#arriving) {
      if (this.#bytes <= ARRIVING_BYTES_MAX) return
      this.#onExceeded()
      this.#delete(oldest)
      if ('stream' in oldest) (oldest as { stream: { destroy(): void } }).stream.destroy()
      else oldest.destroy()
    }
  }

  #delete(body: Body): void {
    this.#bytes -= this.#arriving.get(body) ?? 0
    this.#arriving.delete(body)
  }
}
