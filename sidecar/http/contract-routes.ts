/**
 * The routes of the contract: each call is passed on as it arrived, with the header fields of every answer.
 * Pages of listed origins may make calls, and no others.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpReply, HttpRequest } from '../base/http/exchange.ts'
import type { HttpRoutes } from '../base/http/http-routes.ts'
import type { IpAddress } from '../base/ip-address.ts'

/** The part that answers the calls. */
export interface Calls {
  /** `/package.Service/Method` of every method. */
  readonly paths: readonly string[]
  answer(
    path: string,
    exchange: {
      readonly request: IncomingMessage
      readonly response: ServerResponse
      /** Of every answer: names in small letters and values, in turn. */
      readonly fields: readonly string[]
      readonly address: IpAddress | undefined
      readonly requestId: string
      /** SHA-256 of the secret of its session; `undefined`: it has none. */
      readonly session?: Buffer | undefined
      /** The requests of the call may arrive for as long as it lasts. */
      readonly mayLast: () => void
    },
  ): void
}

/** The server's knowledge of requests. */
export interface AboutRequests {
  /** Lifts the limits on time of a request of HTTP/2. */
  readonly mayLast: (request: IncomingMessage) => void
  /** SHA-256 of the secret of the session that a request of the page has; absent: logins are off. */
  readonly sessionOf?: ((request: IncomingMessage) => Buffer | undefined) | undefined
}

export interface ContractOptions {
  readonly calls: Calls
  /** Origins whose pages may make calls. */
  readonly origins: readonly string[]
  /** Whether calls are recorded as spans, which the trace of a page may have. */
  readonly traced: boolean
  /** Reads the OpenAPI document. */
  readonly document: () => Buffer
}

const DOCUMENT = '/openapi.json'

/** How long a browser may remember that calls are allowed, in seconds. */
const PREFLIGHT_SECONDS = 600

/** Header fields that clients of Connect and gRPC-Web send, and the two with credentials. */
const REQUEST_FIELDS = [
  ...['Content-Type', 'Connect-Protocol-Version', 'Connect-Timeout-Ms', 'Connect-Content-Encoding'],
  ...[
    'Connect-Accept-Encoding',
    'Grpc-Timeout',
    'X-Grpc-Web',
    'X-User-Agent',
    'Authorization',
    'X-Auth-Token',
  ],
]

/** The fields that name the trace of a call. */
const TRACE_FIELDS = ['traceparent', 'tracestate']

/** The handler of a call has a separate span for it. */
const CALL = { tracing: 'none', readsBody: true } as const

export class ContractRoutes {
  readonly #options: ContractOptions
  readonly #origins: ReadonlySet<string>
  readonly #prefixes: readonly string[]

  constructor(options: ContractOptions) {
    this.#options = options
    this.#origins = new Set(options.origins)
    this.#prefixes = [...new Set(options.calls.paths.map((path) => path.slice(0, path.lastIndexOf('/'))))]
  }

  /** Whether a page of that origin may ask for that URL. */
  allows(origin: string, url: string): boolean {
    return this.#origins.has(origin) && this.has(url)
  }

  /** Whether a URL is one of the contract. */
  has(url: string): boolean {
    return this.#prefixes.some((prefix) => url.startsWith(`${prefix}/`))
  }

  addTo(routes: HttpRoutes, about: AboutRequests): void {
    for (const prefix of this.#prefixes) this.#addService(routes, prefix, about)
    let document: Buffer | undefined
    routes.get(DOCUMENT, (_request, reply) => {
      document ??= this.#options.document()
      reply.header('content-type', 'application/json').send(document)
    })
  }

  #addService(routes: HttpRoutes, prefix: string, { mayLast, sessionOf }: AboutRequests): void {
    const { calls } = this.#options
    const hasOrigins = this.#origins.size > 0
    const answer = (request: HttpRequest, reply: HttpReply) => {
      if (hasOrigins) this.#allowOrigin(request, reply)
      const { raw, id } = request
      calls.answer(pathOf(request), {
        request: raw,
        response: reply.raw,
        fields: reply.fields,
        address: request.clientAddress,
        requestId: id,
        session: sessionOf?.(raw),
        mayLast: () => mayLast(raw),
      })
    }
    const paths = calls.paths.filter((path) => path.startsWith(`${prefix}/`))
    for (const path of [...paths, `${prefix}/*`]) routes.post(path, answer, CALL)
    if (hasOrigins) routes.add(['OPTIONS'], `${prefix}/*`, this.#answerPreflight)
  }

  /** Says which origin may read the answer, and that another origin gets another answer. */
  #allowOrigin({ headers: { origin } }: HttpRequest, reply: HttpReply): void {
    reply.header('vary', `${reply.getHeader('vary')}, Origin`)
    if (origin !== undefined && this.#origins.has(origin)) reply.header('access-control-allow-origin', origin)
  }

  /** Answers the question of a browser whether a page of another origin may make a call. */
  readonly #answerPreflight = (request: HttpRequest, reply: HttpReply): void => {
    this.#allowOrigin(request, reply)
    const { origin, 'access-control-request-method': method } = request.headers
    if (!origin || !method) {
      reply.code(400).header('content-type', 'text/plain; charset=utf-8')
      reply.send(Buffer.from('Invalid Preflight Request'))
      return
    }
    const fields = this.#options.traced ? [...REQUEST_FIELDS, ...TRACE_FIELDS] : REQUEST_FIELDS
    reply.headers({
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': fields.join(', '),
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      // Some browsers wait for a body where there is no length.
      'content-length': '0',
    })
    reply.code(204).send()
  }
}

/** The path of the route, or for no method the path as it was asked for. */
function pathOf({ route, url }: HttpRequest): string {
  const { path = '*' } = route ?? {}
  return path.endsWith('*') ? url : path
}
