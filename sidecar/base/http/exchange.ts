/** A request and its reply, as routes see them: the same for HTTP/1.1 and HTTP/2. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import type { Readable } from 'node:stream'
import type { CallErrorReason } from '../call-error.ts'
import type { IpAddress } from '../ip-address.ts'
import type { MaybePromise } from '../maybe-promise.ts'

/** An error response. */
export interface HttpError {
  readonly status: number
  /** Never contains a value of the request. */
  readonly message: string
  readonly retryAfterSeconds?: number
  /** For protocols that have a place for it. */
  readonly reason?: CallErrorReason
  /** Further machine-readable facts. Never contains a secret. */
  readonly metadata?: Readonly<Record<string, string>>
}

export type Handler = (request: HttpRequest, reply: HttpReply) => MaybePromise<unknown>

export type SendError = (reply: HttpReply, error: HttpError, identityUrl: string) => HttpReply

export interface RouteOptions {
  /** How the route words its errors; default: as Keystone does. */
  readonly sendError?: SendError
  /** Whether the route itself leaves a trace of refusals; default: one for POST does. */
  readonly ownTrace?: boolean
  /** Whether its requests have spans; default: they have, where there are traces. */
  readonly tracing?: 'none'
  /** Runs before the body is read. */
  readonly onRequest?: (request: HttpRequest) => Promise<void>
  /** Whether the handler reads the body itself. */
  readonly readsBody?: boolean
  /** Whether a route for GET answers HEAD too, without a body; default: it does. */
  readonly answersHead?: boolean
}

export interface Route extends RouteOptions {
  readonly path: string
  readonly handle: Handler
}

export type Params = Readonly<Record<string, string | undefined>>

export class HttpRequest {
  readonly raw: IncomingMessage
  /** Of the client, or made for it. */
  readonly id: string
  /** `undefined`: no route fits. */
  readonly route: Route | undefined
  readonly params: Params
  /** `undefined`: the request has none, or it is not read yet. */
  body: Buffer | undefined
  readonly #addressOf: (raw: IncomingMessage) => IpAddress | undefined

  constructor(
    raw: IncomingMessage,
    id: string,
    route: Route | undefined,
    params: Params,
    addressOf: (raw: IncomingMessage) => IpAddress | undefined,
  ) {
    this.raw = raw
    this.id = id
    this.route = route
    this.params = params
    this.#addressOf = addressOf
  }

  get headers(): IncomingMessage['headers'] {
    return this.raw.headers
  }

  get method(): string {
    return this.raw.method ?? ''
  }

  /** Path and query. */
  get url(): string {
    return this.raw.url ?? ''
  }

  get socket(): IncomingMessage['socket'] {
    return this.raw.socket
  }

  /** Of the client, as its connection or a trusted proxy has it; `undefined`: none is known. */
  get clientAddress(): IpAddress | undefined {
    return this.#addressOf(this.raw)
  }

  get query(): ParsedUrlQuery {
    const at = this.url.indexOf('?')
    return parse(at < 0 ? '' : this.url.slice(at + 1))
  }
}

export class HttpReply {
  readonly raw: ServerResponse
  readonly request: HttpRequest
  /** Names in small letters and values, in turn. */
  readonly #fields: string[]
  #status = 200

  /** @param fields names in small letters and values, in turn */
  constructor(raw: ServerResponse, request: HttpRequest, fields: string[]) {
    this.raw = raw
    this.request = request
    this.#fields = fields
  }

  code(status: number): this {
    this.#status = status
    return this
  }

  /** Sets a header in place of one of that name. @param name in small letters */
  header(name: string, value: string): this {
    const at = this.#indexOf(name)
    if (at < 0) this.#fields.push(name, value)
    else this.#fields[at + 1] = value
    return this
  }

  headers(headers: Readonly<Record<string, string>>): this {
    for (const name in headers) this.header(name, headers[name] as string)
    return this
  }

  removeHeader(name: string): this {
    const at = this.#indexOf(name)
    if (at >= 0) this.#fields.splice(at, 2)
    return this
  }

  getHeader(name: string): string | undefined {
    const at = this.#indexOf(name)
    return at < 0 ? undefined : this.#fields[at + 1]
  }

  /** The headers so far: names in small letters and values, in turn. */
  get fields(): readonly string[] {
    return this.#fields
  }

  /** Sends head and body. The head has the length of the body, also where HEAD asks for no body. */
  send(body?: Buffer): this {
    const hasLength = this.#status !== 204 && this.#status !== 304
    if (hasLength) this.header('content-length', String(body?.length ?? 0))
    this.#writeHead()
    this.raw.end(this.request.method === 'HEAD' || !hasLength ? undefined : body)
    return this
  }

  /** Sends a body whose length is not known. It ends with the connection. */
  stream(body: Readable): this {
    const { raw } = this
    this.#writeHead()
    raw.once('close', () => body.destroy())
    body.once('error', () => raw.destroy())
    body.pipe(raw)
    return this
  }

  redirect(url: string, status: number): this {
    return this.header('location', url).code(status).send()
  }

  #writeHead(): void {
    // HTTP/2 has no such header.
    if (this.request.raw.httpVersionMajor === 2) this.removeHeader('connection')
    this.raw.writeHead(this.#status, this.#fields)
  }

  #indexOf(name: string): number {
    for (let at = 0; at < this.#fields.length; at += 2) if (this.#fields[at] === name) return at
    return -1
  }
}
