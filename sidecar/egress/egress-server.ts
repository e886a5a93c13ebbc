/**
 * Egress: an HTTP listener for the applications of this machine. They send requests without a credential;
 * each goes to the target of its route with the credential that the API takes. There is no other target.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { credentialHeaders, type Engine } from '../../engine/index.ts'
import { isLoopback, type ListenAddress, parseAddress } from '../base/address.ts'
import type { ConnectionSource, Listening } from '../base/net/connections.ts'
import {
  countSilentRefusals,
  type EarlyBound,
  type EarlyLimits,
  earlyRefusalOf,
  TUNNEL,
} from '../base/net/early-refusals.ts'
import { HttpConnections, hasBody } from '../base/net/http-connections.ts'
import { originForm } from '../base/net/http-request.ts'
import { endAndLinger, lingers } from '../base/net/linger.ts'
import { ownConnections } from '../base/net/listen.ts'
import { Reports } from '../base/net/reports.ts'
import { WrittenResponse } from '../base/net/written-response.ts'
import { readRequestTarget } from '../base/request-target.ts'
import type { Secret } from '../base/secret.ts'
import { traceCarrierOf } from '../base/tracing.ts'
import type { PerCall, Recognizing, Reporting } from '../usecases/capabilities.ts'
import { admit, isRenewable, outgoing } from '../usecases/egress.ts'
import type { Issuing } from '../usecases/issue.ts'
import { forward } from './forward.ts'
import { endWith, spanOf } from './forward-trace.ts'
import { type RequestHeaders, readHeaders, strippedNames } from './headers.ts'
import { type Refusal, refusalFor, refusalText, sendRefusal } from './refusal.ts'
import { type Route, type Target, Targets } from './target.ts'

export type { Route } from './target.ts'

// Not imported, because an import makes Node create every export of the module, and some of them are large.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

export type EgressServices = PerCall<Issuing> & Recognizing & Reporting

export interface EgressOptions {
  /** `HOST:PORT` of this machine, or `unix:PATH`. */
  readonly address: string
  readonly routes: readonly Route[]
  /** Accepts the connections; `undefined`: this process does. */
  readonly connections?: ConnectionSource | undefined
  /** Most connections, if they are fewer than 1,000. */
  readonly maxConnections?: number | undefined
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs?: (() => number) | undefined
  /** Most bytes of headers in one request. */
  readonly headerBytesMax: number
  /** Longest time to send the headers, in milliseconds. */
  readonly headersMs?: number | undefined
}

export interface EgressServer {
  /** The address with the port that was bound. */
  readonly address: string
  /** Lets requests finish for a time in milliseconds, then closes. */
  close(drainMs: number): Promise<void>
}

const HEADERS_MS = 5_000
const CONNECTIONS_MAX = 1_000

/**
 * How long a small body may take, times as long as the headers. A longer body may take as long as it flows.
 */
const KEPT_BODY_FACTOR = 2

/** How long a connection may stay open without a request, in milliseconds. */
const KEEP_ALIVE_MS = 60_000

/**
 * How much longer a connection may be silent than a target: a client that neither sends nor reads is cut off.
 */
const IDLE_MARGIN_MS = 30_000

const HTTP_EXPECTED = 'an HTTP/1.1 request'

/** Methods that echo a request, with the credential in it. */
const ECHOING: ReadonlySet<string> = new Set(['TRACE', 'TRACK'])

/** @throws Error if the address is in use, or if other machines can reach it */
export async function startEgress(services: EgressServices, options: EgressOptions): Promise<EgressServer> {
  const parsed = egressAddressOf(options.address)
  const targets = new Targets(options.routes, options.monotonicMs ?? (() => performance.now()))
  const server = newServer(options)
  const reports = new Reports((counts) => {
    services.meters?.exceeded('egress', counts)
    services.log.warn(
      { listener: 'egress', exceeded: counts },
      'connections or requests were refused because a limit was reached',
    )
  })
  const connections = new HttpConnections(
    { connections: Math.min(CONNECTIONS_MAX, options.maxConnections ?? CONNECTIONS_MAX), bodiesStream: true },
    (bound) => reports.add(bound),
  )
  const keptMs = KEPT_BODY_FACTOR * (options.headersMs ?? HEADERS_MS)
  const limits = {
    headerBytesMax: options.headerBytesMax,
    inTime: `the headers within ${(options.headersMs ?? HEADERS_MS) / 1000} s`,
  }
  const door = new Door({ services, targets, connections, keptMs, limits, reports }, server)
  let listening: Listening
  try {
    const { address, connections: source = ownConnections() } = options
    listening = await connections.serve(server, 'egress', address, source)
  } catch (error) {
    await targets.destroy()
    throw error
  }
  door.open(parsed, listening.address)
  return {
    address: listening.address,
    close: async (drainMs) => {
      door.close()
      listening.close()
      server.close()
      await connections.drain(server, performance.now() + drainMs)
      reports.close()
      await targets.destroy()
    },
  }
}

/** @throws Error if other machines can reach the address */
export function egressAddressOf(address: string): ListenAddress {
  const parsed = parseAddress('egress.address', address, 'unix:PATH, or off')
  if (parsed.type === 'unix' || isLoopback(parsed.host)) return parsed
  throw new Error(
    `egress address ${address}: expected HOST:PORT of this machine (127.0.0.1, [::1] or localhost), unix:PATH, or off`,
  )
}

function newServer({ routes, headerBytesMax, headersMs = HEADERS_MS }: EgressOptions): Server {
  const server = createServer({
    ServerResponse: WrittenResponse,
    insecureHTTPParser: false,
    requireHostHeader: false,
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersMs,
    // A body may take as long as it flows.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1_000,
    noDelay: true,
  })
  // The size of all headers bounds their number. A server drops those beyond the number, and would go on
  // without them.
  server.maxHeadersCount = 0
  server.timeout = Math.max(...routes.map(({ timeoutMs }) => timeoutMs)) + IDLE_MARGIN_MS
  return server
}

interface DoorOptions {
  readonly services: EgressServices
  readonly targets: Targets
  readonly connections: HttpConnections
  /** How long a body that is kept may take to arrive, in milliseconds. */
  readonly keptMs: number
  readonly limits: EarlyLimits
  readonly reports: Reports
}

/** The checks that a request passes before it is forwarded. */
class Door {
  readonly #services: EgressServices
  readonly #targets: Targets
  readonly #connections: HttpConnections
  readonly #keptMs: number
  readonly #limits: EarlyLimits
  readonly #reports: Reports
  /**
   * Host headers that name this server; `undefined`: every one does, because no browser reaches a Unix
   * socket.
   */
  #hosts: ReadonlySet<string> | undefined = new Set()
  #closing = false
  #engine: Engine | undefined
  /** Headers that do not go on, under the matrix of that engine. */
  #stripped: ReadonlySet<string> = new Set()

  constructor({ services, targets, connections, keptMs, limits, reports }: DoorOptions, server: Server) {
    this.#services = services
    this.#targets = targets
    this.#connections = connections
    this.#keptMs = keptMs
    this.#limits = limits
    this.#reports = reports
    server.on('request', (request, response) => this.#receive(request, response, false))
    server.on('checkContinue', (request, response) => this.#receive(request, response, true))
    countSilentRefusals(
      server,
      (bound) => reports.add(bound),
      (code, socket) => this.#endConnection(code, socket),
    )
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (lingers(socket as Socket)) return
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else this.#endConnection(error.code, socket as Socket)
    })
  }

  /** Answers what never becomes a request, because it is not HTTP, too long or too slow. */
  #endConnection(code: string | undefined, socket: Socket): void {
    const { bound, status, expected } = earlyRefusalOf(code, this.#limits)
    this.#reports.add(bound)
    const refusal =
      code === TUNNEL
        ? refusalFor('METHOD_NOT_SUPPORTED')
        : { ...refusalFor('REQUEST_INVALID', expected), status }
    socket.on('error', () => {})
    endAndLinger(socket, refusalText(refusal, STATUS_CODES[status] ?? 'Error'))
  }

  /** From now on requests that name this address are let in. */
  open(parsed: ListenAddress, address: string): void {
    if (parsed.type === 'unix') this.#hosts = undefined
    else {
      const port = address.slice(address.lastIndexOf(':'))
      this.#hosts = new Set(['127.0.0.1', 'localhost', '[::1]'].map((name) => name + port).concat(address))
    }
  }

  /** From now on each connection ends with its answer. */
  close(): void {
    this.#closing = true
  }

  #receive(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const hasRoom = this.#connections.began(request, response)
    if (this.#closing) response.shouldKeepAlive = false
    const services = this.#services.forCall()
    const headers = readHeaders(request.rawHeaders, this.#strippedUnder(services.engine))
    const entry = hasRoom ? this.#enter(request, headers) : refused(refusalFor('TOO_MANY_CONNECTIONS'))
    if (entry.refusal !== undefined) {
      const bound = BOUNDS[entry.refusal.reason]
      if (bound !== undefined) this.#reports.add(bound)
      // A body that comes anyway is not read, so nothing can follow it.
      sendRefusal(response, { ...entry.refusal, close: entry.refusal.close || hasBody(request) })
      return
    }
    const { target, path } = entry
    response.once('close', () => target.leave())
    const call = this.#services.tracing?.begin(traceCarrierOf(request), () => spanOf(request, target.route))
    const { span } = call ?? {}
    if (span !== undefined) endWith(span, response)
    const exchange = {
      ...{ request, response, target, path, expectsContinue, isRenewable, span },
      headers: headers.forwarded,
      credential: (rejected?: Secret) => outgoing(services, target.route, rejected),
      keptMs: this.#keptMs,
      trace: this.#services.trace,
    }
    if (call === undefined) void forward(exchange)
    else void call.run(() => forward(exchange))
  }

  #enter(request: IncomingMessage, headers: RequestHeaders): Entry {
    const { method = '' } = request
    const url = originForm(request)
    // An older client does not know an answer in chunks.
    if (request.httpVersion !== '1.1') return refused(refusalFor('REQUEST_INVALID', HTTP_EXPECTED))
    if (headers.hosts !== 1) return refused(refusalFor('REQUEST_INVALID', 'one Host header'))
    // A page in a browser on this machine could make its own host name resolve to 127.0.0.1, and needs no
    // answer to do harm.
    if (!this.#isOurHost(request.headers.host) || headers.ofBrowser)
      return refused(refusalFor('HOST_NOT_ALLOWED'))
    if (ECHOING.has(method)) return refused(refusalFor('METHOD_NOT_SUPPORTED'))
    const reading = readRequestTarget(url)
    if (!reading.ok) return refused(refusalFor('REQUEST_INVALID', reading.expected))
    const upgrade = request.headers.upgrade?.toLowerCase()
    // An offer of HTTP/2 may be passed over; a WebSocket cannot.
    if (upgrade !== undefined && upgrade !== 'h2c') return refused(refusalFor('UPGRADE_NOT_SUPPORTED'))
    const target = this.#targets.find(reading.path)
    if (target === undefined) return refused(refusalFor('NO_ROUTE'))
    const admission = admit(this.#services.callers, target.route, headers.proxyAuthorization)
    if (admission === 'unknown') return refused(refusalFor('PROXY_AUTHENTICATION_REQUIRED'))
    if (admission === 'not_allowed') return refused(refusalFor('CALLER_NOT_ALLOWED'))
    if (!target.enter()) return refused(refusalFor('TOO_MANY_REQUESTS'))
    return { target, path: target.pathFor(reading.path, reading.query) }
  }

  #isOurHost(host: string | undefined): boolean {
    return this.#hosts === undefined || this.#hosts.has(host?.toLowerCase() ?? '')
  }

  #strippedUnder(engine: Engine): ReadonlySet<string> {
    if (engine !== this.#engine) {
      this.#engine = engine
      this.#stripped = strippedNames(credentialHeaders(engine.tokenKinds.values()))
    }
    return this.#stripped
  }
}

/** The bound that a request broke that is refused before its route is looked for, by the reason. */
const BOUNDS: Readonly<Record<string, EarlyBound | undefined>> = {
  REQUEST_INVALID: 'protocol_error',
  METHOD_NOT_SUPPORTED: 'protocol_error',
  UPGRADE_NOT_SUPPORTED: 'protocol_error',
  HOST_NOT_ALLOWED: 'host',
}

type Entry =
  | { readonly target: Target; readonly path: string; readonly refusal?: undefined }
  | { readonly refusal: Refusal }

function refused(refusal: Refusal): Entry {
  return { refusal }
}
