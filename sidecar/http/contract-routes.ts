/**
 * The routes of the contract: each call is passed on as it arrived, with the header fields of every answer.
 * Pages of listed origins may make calls, and no others.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
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
      readonly headers: OutgoingHttpHeaders
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
const OWN_SPAN = { config: { tracing: 'none' } } as const

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

  async addTo(server: FastifyInstance, about: AboutRequests): Promise<void> {
    for (const prefix of this.#prefixes)
      await server.register(async (scope) => this.#addService(scope, prefix, about), { prefix })
    let document: Buffer | undefined
    server.get(DOCUMENT, async (_request, reply) => {
      document ??= this.#options.document()
      return reply.header('content-type', 'application/json').send(document)
    })
  }

  async #addService(
    scope: FastifyInstance,
    prefix: string,
    { mayLast, sessionOf }: AboutRequests,
  ): Promise<void> {
    if (this.#origins.size > 0) await this.#addCors(scope)
    const { calls } = this.#options
    // Before the body is looked at: Fastify would read it whole.
    scope.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, next: () => void) => {
      if (request.method !== 'POST') return next()
      const { raw, id } = request
      reply.hijack()
      calls.answer(pathOf(request), {
        request: raw,
        response: reply.raw,
        headers: reply.getHeaders() as OutgoingHttpHeaders,
        address: request.clientAddress,
        requestId: id,
        session: sessionOf?.(raw),
        mayLast: () => mayLast(raw),
      })
    })
    const paths = calls.paths.filter((path) => path.startsWith(`${prefix}/`))
    for (const path of [...paths, `${prefix}/*`])
      scope.post(path.slice(prefix.length), OWN_SPAN, answeredBefore)
  }

  async #addCors(scope: FastifyInstance): Promise<void> {
    const { default: cors } = await import('@fastify/cors')
    await scope.register(cors, {
      origin: [...this.#origins],
      methods: ['POST'],
      allowedHeaders: this.#options.traced ? [...REQUEST_FIELDS, ...TRACE_FIELDS] : REQUEST_FIELDS,
      maxAge: PREFLIGHT_SECONDS,
    })
  }
}

/** The path of the route, or for no method the path as it was asked for. */
function pathOf({ routeOptions, raw }: FastifyRequest): string {
  const { url = '' } = routeOptions
  return url.endsWith('*') ? (raw.url ?? '') : url
}

function answeredBefore(): never {
  throw new Error('expected the call to be answered before its body is read')
}
