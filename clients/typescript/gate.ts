/**
 * The gate in front of a handler, whatever the framework: it asks the sidecar, and says what to answer where
 * a request must not pass.
 */

import type { IncomingMessage } from 'node:http'
import { denialOf, failureOf, type Headers, headersOfDenial, refusalOf } from '../../engine/denial.ts'
import type { Scope } from '../../engine/index.ts'
import { AnswerCache } from './answer-cache.ts'
import { type Client, connect } from './client.ts'
import { CLOCK } from './clock.ts'
import type { HttpRequest } from './local-routes.ts'
import { isNoAnswer, Reports } from './reports.ts'
import type { AnyCheck, CheckAnswer, RequestHeaders } from './values.ts'

type Asked = Pick<Client, 'check'> & Partial<Pick<Client, 'checkLocally' | 'getMatrix'>>

/** How requests are checked. `Request` is the framework's argument of a handler. */
export interface TokenOptions<Request> {
  /**
   * The sidecar. Default: one connection for the process, to `PORTCULLIS_GRPC_ADDRESS` or 127.0.0.1:50051.
   */
  readonly client?: Asked
  /**
   * The account, and the project if any, that owns the requested resource: from your records or the path,
   * never from the token. A request for which it returns none is denied. Default: only the matrix decides.
   */
  readonly target?: (request: Request) => Scope | undefined | Promise<Scope | undefined>
  /**
   * IP address of the sender, for accounts that restrict addresses. Default: the one that the framework
   * names, if any.
   */
  readonly clientAddress?: (request: Request) => string | undefined
  /**
   * Answer 404 where the resource belongs to others, so that a client does not learn that it exists. Default:
   * false, so 403.
   */
  readonly hideOthers?: boolean
  /**
   * Called where there was no answer: for each request, and once for a connection if no sidecar answers at
   * the start. Called once with an error of the name `UnknownApiError` if the matrix does not have the API:
   * at the start, or at the first denial. Default: lines on standard error, for an outage its first failure,
   * then a count each minute, and its end.
   */
  readonly onFailure?: (error: unknown) => void
  /** Most answers that are kept for as long as the sidecar allows (`cache_for`); 0: none. Default: 1,000. */
  readonly cacheEntries?: number
}

/**
 * How requests are checked whose API and target the routes of the sidecar say. A request that they refuse is
 * answered with 403: no route has it, it does not say whose resource it asks for, or servers could read it in
 * different ways.
 */
export interface RoutedOptions<Request> extends Omit<TokenOptions<Request>, 'target'> {
  readonly routes: true
  readonly target?: undefined
}

/** The id of an API with options; or options that leave it to the routes of the sidecar. */
type Guarding<Request> =
  | readonly [api: string, options?: TokenOptions<Request>]
  | readonly [options: RoutedOptions<Request>]

/** The answer in place of the handler. */
export interface Denial {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

/** The outcome of a request. `left`: the client no longer waits for an answer. */
export type Verdict =
  | { readonly type: 'passes'; readonly answer: CheckAnswer }
  | { readonly type: 'denied'; readonly denial: Denial }
  | { readonly type: 'left' }

/** The facts that a framework knows of a request. */
export interface Arrived {
  readonly headers: RequestHeaders
  /** As it arrived, whatever a framework has made of it since. */
  readonly request: HttpRequest
  /** IP address of the sender, as the framework sees it. */
  readonly address: string | undefined
  /** Aborted as soon as the sender has left. */
  readonly signal: AbortSignal
}

const ENTRIES_MAX = 1_000

export class Gate<Request> {
  /** `undefined`: the routes of the sidecar say it. */
  readonly #api: string | undefined
  readonly #options: TokenOptions<Request>
  readonly #cache: AnswerCache
  readonly #elapsedMs: () => number
  readonly #reports: Reports

  /**
   * @param elapsedMs how much time has passed, in milliseconds
   * @throws TypeError if there is neither an API nor `routes`, or if a target comes with `routes`
   */
  constructor([first, more = {}]: Guarding<Request>, elapsedMs: () => number = () => CLOCK.now()) {
    const isRouted = typeof first === 'object' && first?.routes === true
    if (!isRouted && (typeof first !== 'string' || first === ''))
      throw new TypeError('api: expected the id of an API, or `{ routes: true }`')
    const options = isRouted ? (first as unknown as TokenOptions<Request>) : more
    if (isRouted && options.target !== undefined)
      throw new TypeError('target: expected none, because the routes say it')
    this.#api = isRouted ? undefined : (first as string)
    this.#options = options
    this.#cache = new AnswerCache(options.cacheEntries ?? ENTRIES_MAX, elapsedMs)
    this.#elapsedMs = elapsedMs
    this.#reports = Reports.of(options.client ?? defaultClient, () => this.#client)
    // After the program has begun to serve. One that only builds guards and ends asks nothing.
    setImmediate(() => {
      if (this.#api !== undefined) void this.#reports.begin(this.#api, options.onFailure, elapsedMs)
    }).unref()
  }

  get #client(): Asked {
    return this.#options.client ?? defaultClient()
  }

  /** The outcome of the request. It passes only if the sidecar has said so. Never rejects. */
  async judge(request: Request, arrived: Arrived): Promise<Verdict> {
    try {
      return await this.#judge(request, arrived)
    } catch (error) {
      if (arrived.signal.aborted) return { type: 'left' }
      this.#reports.failed(error, this.#options.onFailure, this.#elapsedMs)
      return { type: 'denied', denial: failureDenial(error) }
    }
  }

  async #judge(request: Request, { headers, request: asked, address, signal }: Arrived): Promise<Verdict> {
    const { target: targetOf, clientAddress } = this.#options
    const client = this.#client
    const target = targetOf && (await targetOf(request))
    // Without a target the check would be about the API alone, and the resource could belong to any account.
    if (targetOf !== undefined && !isScope(target)) return { type: 'denied', denial: TARGET_NOT_FOUND }
    const sender = clientAddress === undefined ? address : clientAddress(request)
    const from = sender !== undefined && { clientAddress: sender }
    const api = this.#api
    const about = (credentials: RequestHeaders): AnyCheck =>
      api === undefined
        ? { request: asked, ...from, credentials }
        : { api, ...(target !== undefined && { target: scopeOf(target) }), ...from, credentials }
    // The routes may look for a target in any header.
    const sent = () => (api === undefined ? pairsOf(headers) : relevantHeaders(headers))
    const known = client.checkLocally?.(about(headers))
    if (known !== undefined) this.#reports.answered(this.#elapsedMs)
    const answer = known ?? (await this.#ask(client, about(sent()), signal))
    if (api !== undefined && answer.reason === 'UNKNOWN_API')
      void this.#reports.unknown(api, this.#options.onFailure)
    if (signal.aborted) return { type: 'left' }
    return answer.allowed ? { type: 'passes', answer } : { type: 'denied', denial: this.#denial(answer) }
  }

  #ask(client: Asked, question: AnyCheck, signal: AbortSignal): Promise<CheckAnswer> {
    return this.#cache.answer(question, async () => {
      const answer = await client.check(question, { signal })
      this.#reports.answered(this.#elapsedMs)
      return answer
    })
  }

  #denial(answer: CheckAnswer): Denial {
    const { reason, route } = answer
    if (route?.refused !== undefined) return withHeaderObject(refusalOf(route.refused, answer.message))
    if (this.#options.hideOthers && (reason === 'ACCOUNT_MISMATCH' || reason === 'PROJECT_MISMATCH'))
      return denial(404, { reason: 'NOT_FOUND', message: 'there is no such resource' })
    return withHeaderObject(denialOf(answer))
  }
}

function denial(status: number, error: { readonly reason: string; readonly message: string }): Denial {
  return withHeaderObject({ status, headers: headersOfDenial(error.reason), body: JSON.stringify({ error }) })
}

function withHeaderObject(answer: Omit<Denial, 'headers'> & { readonly headers: Headers }): Denial {
  return { ...answer, headers: Object.fromEntries(answer.headers) }
}

const TARGET_NOT_FOUND = denial(403, {
  reason: 'TARGET_NOT_FOUND',
  message: 'the request does not say whose resource it asks for',
})

function failureDenial(error: unknown): Denial {
  return withHeaderObject(
    isNoAnswer(error)
      ? failureOf(error.reason === '' ? error.code : error.reason, '1')
      : failureOf('INTERNAL', undefined),
  )
}

function scopeOf({ account, project }: Scope): Scope {
  return { account, ...(project !== undefined && { project }) }
}

function isScope(target: Scope | undefined): target is Scope {
  const { account, project }: { readonly account?: unknown; readonly project?: unknown } = target ?? {}
  return (
    typeof account === 'string' &&
    account !== '' &&
    (project === undefined || (typeof project === 'string' && project !== ''))
  )
}

/**
 * Headers that carry no credential of this kind and differ from request to request. They are not sent, so an
 * answer depends on the others alone and can be reused.
 */
const IRRELEVANT: ReadonlySet<string> = new Set([
  ...[
    'accept',
    'baggage',
    'cache-control',
    'connection',
    'cookie',
    'date',
    'dnt',
    'expect',
    'forwarded',
    'host',
  ],
  ...['keep-alive', 'origin', 'pragma', 'priority', 'range', 'referer', 'te', 'traceparent', 'tracestate'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'upgrade-insecure-requests', 'user-agent', 'via'],
  ...['x-real-ip', 'x-request-id', 'x-correlation-id'],
  ...[
    'x-forwarded-by',
    'x-forwarded-client-cert',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-method',
  ],
  ...[
    'x-forwarded-path',
    'x-forwarded-port',
    'x-forwarded-prefix',
    'x-forwarded-proto',
    'x-forwarded-protocol',
  ],
  ...['x-forwarded-scheme', 'x-forwarded-server', 'x-forwarded-ssl', 'x-forwarded-uri'],
])
const IRRELEVANT_FAMILIES = ['accept-', 'content-', 'if-', 'sec-', 'access-control-', 'x-b3-']

function isIrrelevant(name: string): boolean {
  const lower = name.toLowerCase()
  return IRRELEVANT.has(lower) || IRRELEVANT_FAMILIES.some((family) => lower.startsWith(family))
}

/** The headers that may carry a credential, each value by itself. */
function relevantHeaders(headers: RequestHeaders): [name: string, value: string][] {
  return pairsOf(headers).filter(([name]) => !isIrrelevant(name))
}

/** All headers, each value by itself. */
function pairsOf(headers: RequestHeaders): [name: string, value: string][] {
  const pairs = Symbol.iterator in headers ? Array.from(headers) : Object.entries(headers)
  return pairs.flatMap(([name, values]) =>
    values === undefined ? [] : [values].flat().map((value): [string, string] => [name, value]),
  )
}

/** A request of Node. Those of HTTP/2 and of Fastify's `inject` have no `headersDistinct`. */
export type NodeRequest = Pick<IncomingMessage, 'method' | 'url' | 'rawHeaders'> &
  Partial<Pick<IncomingMessage, 'headersDistinct'>> & { readonly originalUrl?: string }

/** Each header with all its values. With HTTP/2, `:authority` is a `host`. */
export function headersOf({ headersDistinct, rawHeaders }: NodeRequest): NodeJS.Dict<string[]> {
  if (headersDistinct !== undefined) return headersDistinct
  const headers: NodeJS.Dict<string[]> = Object.create(null)
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [written = '', value = ''] = rawHeaders.slice(index, index + 2)
    const name = written === ':authority' ? 'host' : written.toLowerCase()
    if (name.startsWith(':')) continue
    headers[name] ??= []
    // A client of HTTP/2 may send both names of the server. Two that differ are not canonical.
    if (name !== 'host' || !headers[name].includes(value)) headers[name].push(value)
  }
  return headers
}

/** The part that the routes look at. Frameworks may have given the request another `url` since it arrived. */
export function requestOf(
  { method = '', url = '', originalUrl = url }: NodeRequest,
  { host = [] }: NodeJS.Dict<string[]>,
): HttpRequest {
  return { method, host: host.join(), path: originalUrl }
}

let shared: Client | undefined

function defaultClient(): Client {
  shared ??= connect()
  return shared
}

/** Answers with the response object of a framework. */
const ANSWERS = new WeakMap<object, CheckAnswer>()

/** Keeps the answer for the handler. */
export function keepAnswer(request: object, answer: CheckAnswer): void {
  ANSWERS.set(request, answer)
}

/**
 * The answer that let a request pass: `answerOf(request)?.token` is who sent it.
 *
 * @param request what the framework gives to a handler: the request, or Hono's context
 */
export function answerOf(request: object): CheckAnswer | undefined {
  return ANSWERS.get(request)
}
