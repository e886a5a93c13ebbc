/**
 * https: TLS before HTTP/1.1 and HTTP/2 on one port. The limits of a client of HTTP/1.1 hold for one of
 * HTTP/2 too, and the routes see the requests of both in the same form.
 */
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server } from 'node:http'
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  Http2ServerRequest,
  type Http2Session,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Certificates, WatchedCertificates } from '../base/net/certificates.ts'
import { WrittenResponse } from '../base/net/written-response.ts'

/** A response that is written without a route. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: string
}

export interface SecureLimits {
  /** Longest time to send the first bytes, to end the handshake, and to send the headers, in milliseconds. */
  readonly headersMs: number
  /** Longest time to send a whole request, in milliseconds. */
  readonly requestMs: number
  readonly checkIntervalMs: number
  readonly keepAliveMs: number
  readonly headerBytesMax: number
  readonly requestsPerConnectionMax: number
  /** For how long browsers use https alone for the name of the server, in days. */
  readonly hstsDays: number
  /** Answers a client that does not speak TLS, and closes the connection. */
  readonly refuse: (code: string, connection: Socket) => void
  /** The answer to a request that cannot be read, by the code of Node's error. */
  readonly answer: (code: string) => RawAnswer
}

/** Most requests at the same time on one connection. Of HTTP/1.1 it is one. */
const STREAMS_MAX = 100

/** The first byte of a connection with TLS: a record of the handshake. */
const HANDSHAKE = 0x16

/** Between the name and the value of a header of HTTP/1.1, and after the value. */
const SEPARATOR_BYTES = 2

/**
 * A host for which browsers do not get the order to use https alone: they ignore it for an address, and
 * `localhost` is the name of every other server of that machine, too.
 */
const NO_HSTS = /^(?:localhost\b|[\d.]+(?::|$)|\[|$)/i

const DAY_S = 86_400

type RequestHandler = Parameters<typeof createSecureServer>[1]

export class SecureServers {
  readonly #certificates: WatchedCertificates
  readonly #limits: SecureLimits
  readonly #sessions = new Set<ServerHttp2Session>()
  /** Connections that have not sent anything yet. */
  readonly #silent = new Set<Socket>()
  readonly #unfollow: (() => void)[] = []
  /** The function that stops the timer of a request that arrives. */
  readonly #untimed = new WeakMap<ServerHttp2Stream, () => void>()
  /** How many requests of a connection may last. */
  readonly #lasting = new WeakMap<Http2Session, number>()

  constructor(certificates: WatchedCertificates, limits: SecureLimits) {
    this.#certificates = certificates
    this.#limits = limits
  }

  /** A server for one address. It takes its connections from `connection` events, like every server. */
  create(handle: RequestListener): Server {
    const { requestsPerConnectionMax, keepAliveMs } = this.#limits
    const server = createSecureServer(this.#options(), this.#limitHeaders(handle))
    Object.assign(server, { maxRequestsPerSocket: requestsPerConnectionMax })
    // A client of HTTP/1.1 that does not read its response.
    server.setTimeout(keepAliveMs)
    const unfollow = this.#certificates.follow((changed) => server.setSecureContext(contextOf(changed)))
    this.#unfollow.push(unfollow)
    this.#readBeforeTls(server)
    // Node would let HTTP answer, and an answer that cannot be sent keeps the connection open.
    server.prependListener('tlsClientError', (_error, connection) => connection.destroy())
    // The servers of HTTP do not listen for these: Node would end the process.
    server.on('secureConnection', (connection) => connection.on('error', () => {}))
    server.on('secureConnection', readInTurn)
    server.on('session', (session) => this.#limit(session))
    // It speaks HTTP/1.1, too, and is used as a server of that.
    return server as unknown as Server
  }

  /**
   * A request of HTTP/2 may arrive for as long as it lasts, and its connection may be silent for as long as
   * it answers pings.
   */
  letLast(request: IncomingMessage): void {
    const { stream } = request as { stream?: ServerHttp2Stream }
    const session = stream?.session
    if (stream === undefined || session === undefined) return
    this.#untimed.get(stream)?.()
    const count = (more: number) => this.#lasting.set(session, (this.#lasting.get(session) ?? 0) + more)
    count(1)
    stream.once('close', () => count(-1))
  }

  /** Lets requests finish, and closes the connections of HTTP/2 and those that have not sent anything. */
  close(): void {
    for (const unfollow of this.#unfollow) unfollow()
    for (const connection of this.#silent) connection.destroy()
    for (const session of this.#sessions) {
      session.close()
      setTimeout(() => session.destroy(), this.#limits.requestMs).unref()
    }
  }

  #options(): SecureServerOptions {
    const { headersMs, requestMs, checkIntervalMs, keepAliveMs, headerBytesMax } = this.#limits
    const ofHttp1 = {
      allowHTTP1: true,
      requireHostHeader: false,
      Http1ServerResponse: WrittenResponse,
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: checkIntervalMs,
    }
    return {
      ...contextOf(this.#certificates.current),
      handshakeTimeout: headersMs,
      ...ofHttp1,
      settings: { maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: headerBytesMax },
      Http2ServerRequest: RequestLikeHttp1,
    }
  }

  /**
   * Tells clients that forgot the `s` of https. With TLS alone, they would see a connection that closes for
   * no reason.
   */
  #readBeforeTls(server: Http2SecureServer): void {
    const takers = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', (connection: Socket) => {
      const timer = setTimeout(() => connection.destroy(), this.#limits.headersMs)
      this.#silent.add(connection)
      connection.on('error', () => {})
      connection.once('close', () => {
        clearTimeout(timer)
        this.#silent.delete(connection)
      })
      const look = () => {
        const first: Buffer | null = connection.read(1)
        if (first === null) return void connection.once('readable', look)
        this.#silent.delete(connection)
        if (first[0] !== HANDSHAKE) {
          return this.#limits.refuse('ERR_SSL_HTTP_REQUEST', connection)
        }
        clearTimeout(timer)
        connection.unshift(first)
        for (const take of takers) take.call(server, connection)
      }
      connection.once('readable', look)
    })
  }

  /** HTTP/2 announces this limit to the client, and enforces nothing. */
  #limitHeaders(handle: RequestListener): RequestHandler {
    const hsts = `max-age=${this.#limits.hstsDays * DAY_S}`
    const limited: RequestListener = (request, response) => {
      if (!NO_HSTS.test(request.headers.host ?? '')) response.setHeader('strict-transport-security', hsts)
      const bytes = request.rawHeaders.reduce((sum, text) => sum + text.length + SEPARATOR_BYTES, 0)
      if (bytes <= this.#limits.headerBytesMax) return handle(request, response)
      const { status, headers, body } = this.#limits.answer('HPE_HEADER_OVERFLOW')
      response.writeHead(status, { ...headers }).end(body)
    }
    return limited as unknown as RequestHandler
  }

  /** Limits a connection of HTTP/2 as Node limits one of HTTP/1.1. */
  #limit(session: ServerHttp2Session): void {
    const { headersMs, keepAliveMs, requestsPerConnectionMax } = this.#limits
    this.#sessions.add(session)
    const end = () => session.destroy()
    let open = 0
    let total = 0
    // Only requests count: pings and unfinished headers do not keep a connection open.
    let idle = setTimeout(end, headersMs)
    session.on('stream', (stream) => {
      clearTimeout(idle)
      open++
      if (++total === requestsPerConnectionMax) session.close()
      this.#limitRequest(stream)
      stream.once('close', () => {
        if (--open === 0 && !session.destroyed) idle = setTimeout(end, keepAliveMs)
      })
    })
    // The timeout of the server would destroy the session, also while a request may last.
    session.removeAllListeners('timeout')
    // A client that does not read its responses, or one that is gone while a request lasts.
    session.setTimeout(keepAliveMs, () => {
      // Node does not call this for such a session, but promises nothing. A ping would throw, and end the
      // process.
      if (session.destroyed) return
      if (!this.#lasting.get(session)) return end()
      const unanswered = setTimeout(end, headersMs)
      session.ping((error) => {
        clearTimeout(unanswered)
        if (error) end()
      })
    })
    session.once('close', () => {
      clearTimeout(idle)
      this.#sessions.delete(session)
    })
  }

  #limitRequest(stream: ServerHttp2Stream): void {
    if (stream.endAfterHeaders) return
    const timer = setTimeout(() => {
      if (stream.destroyed) return
      const done = () => stream.close(constants.NGHTTP2_NO_ERROR)
      if (stream.headersSent) return done()
      const { status, headers, body } = this.#limits.answer('ERR_HTTP_REQUEST_TIMEOUT')
      stream.respond({ ':status': status, ...headers })
      stream.end(body, done)
    }, this.#limits.requestMs)
    const stop = () => clearTimeout(timer)
    this.#untimed.set(stream, stop)
    for (const event of ['end', 'close']) stream.once(event, stop)
  }
}

function contextOf({ certificate, key }: Certificates) {
  return { cert: certificate, key, minVersion: 'TLSv1.2' as const }
}

/** A request of HTTP/2 with what a request of HTTP/1.1 has. */
class RequestLikeHttp1 extends Http2ServerRequest {
  constructor(...[stream, headers, options, rawHeaders]: ConstructorParameters<typeof Http2ServerRequest>) {
    super(stream, headersLikeHttp1(headers, stream), options, rawHeaders)
  }

  /** Every value of a repeated header. */
  get headersDistinct(): NodeJS.Dict<string[]> {
    const distinct: NodeJS.Dict<string[]> = Object.create(null)
    const { rawHeaders } = this
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = rawHeaders[index]?.toLowerCase() ?? ''
      if (name.startsWith(':')) continue
      distinct[name] ??= []
      distinct[name].push(rawHeaders[index + 1] ?? '')
    }
    return distinct
  }
}

function headersLikeHttp1(headers: IncomingHttpHeaders, stream: ServerHttp2Stream): IncomingHttpHeaders {
  const { ':authority': authority, host = authority } = headers as NodeJS.Dict<string>
  return {
    ...headers,
    // Two names of the server that differ count as none: a proxy could have looked at the other one.
    host: authority === undefined || authority === host ? host : '',
    // Where HTTP/1.1 has neither this header nor a length, there is no body. HTTP/2 needs none of them for a
    // body.
    ...(!stream.endAfterHeaders && !headers['content-length'] && { 'transfer-encoding': 'chunked' }),
  }
}

/**
 * Reads HTTP/1.1 from the stream of a connection. Node would hand what TLS decrypts to its parser directly,
 * also while the parser is paused because a long answer is still leaving: then the parser fails, and the
 * next request loses its connection. With a separate listener, the stream holds the data back.
 */
function readInTurn(connection: TLSSocket): void {
  if (connection.alpnProtocol !== 'h2') connection.on('data', () => {})
}
