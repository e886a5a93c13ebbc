/** The HTTP server: limits for its clients, the health endpoints, and the identity endpoint. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactory,
} from 'fastify'
import { callError } from '../base/call-error.ts'
import { type Health, readiness } from '../base/health.ts'
import { type IpAddress, ipAddress, whereabouts } from '../base/ip-address.ts'
import type { WatchedCertificates } from '../base/net/certificates.ts'
import {
  countSilentRefusals,
  type EarlyBound,
  type EarlyLimits,
  earlyRefusalOf,
  lacksHost,
} from '../base/net/early-refusals.ts'
import { originForm } from '../base/net/http-request.ts'
import { endAndLinger, lingers } from '../base/net/linger.ts'
import { answerText, WrittenResponse } from '../base/net/written-response.ts'
import { givenRequestId, newRequestId, REQUEST_ID_HEADER } from '../base/request-id.ts'
import type { Observing } from '../proxies/observation.ts'
import type { TrustedProxies } from '../proxies/trusted-proxies.ts'
import type { Administering } from '../usecases/administration/administer.ts'
import type { Admitting, PerCall, Reporting, Ruled } from '../usecases/capabilities.ts'
import type { Verifying } from '../usecases/check.ts'
import type { Operating } from '../usecases/control-panel/operator.ts'
import type { Issuing } from '../usecases/issue.ts'
import type { LoginTracing } from '../usecases/login-trace.ts'
import type { Authenticating } from '../usecases/requester.ts'
import { Routes } from './allowed-methods.ts'
import { Bounds, newReports } from './bounds.ts'
import type { PageRequests } from './control-panel/page-requests.ts'
import { hostProblem } from './host-header.ts'
import { BODY_BYTES_MAX, errorBody, type HttpError, httpErrorOf, sendError, titleOf } from './http-error.ts'
import { type Site, siteOf } from './identity/catalog.ts'
import { addIdentityRoutes } from './identity/identity-routes.ts'
import { sendJson } from './json.ts'
import { type HttpOptions, type HttpTimeLimits, listenAddressOf, openProxies } from './options.ts'
import { logRefusal } from './refusals.ts'
import type { RawAnswer, SecureServers } from './secure.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the client, as its connection or a trusted proxy has it; `undefined`: none is known. */
    readonly clientAddress: IpAddress | undefined
  }
}

export interface HttpServer {
  /** The address with the port that was bound. */
  readonly address: string
  /** Reads the secrets of the proxies again. */
  reload(): void
  close(): Promise<void>
}

export type HttpServices = PerCall<Verifying & Issuing & Authenticating & Administering> &
  Ruled &
  Admitting &
  Reporting &
  Operating &
  LoginTracing &
  Observing &
  Pick<Authenticating, 'authority'> & { readonly health: Health }

const TIME_LIMITS: HttpTimeLimits = {
  headersMs: 5_000,
  requestMs: 10_000,
  keepAliveMs: 60_000,
  checkIntervalMs: 1_000,
}

/** Longest parameter of a path: an id of 128 characters, of which each may be encoded. */
const PARAMETER_LENGTH_MAX = 3 * 128

/** Where proxies ask about the requests that they receive. */
const AUTHORIZE = ['/authorize', '/authorize/:api']
const EXT_AUTHZ = '/ext-authz/*'
const OF_PROXIES: ReadonlySet<string> = new Set([...AUTHORIZE, EXT_AUTHZ])

/** Where the public keys of IAM tokens are. */
const JWKS = '/.well-known/jwks.json'

const REQUESTS_PER_CONNECTION_MAX = 10_000

/** No cache may store a response: it is only for one requester and one moment. */
const HEADERS = { vary: 'X-Auth-Token', 'cache-control': 'no-store' }

/**
 * Keystone's header for the id of a request. The id is in the log line of a request that is refused or fails,
 * too.
 */
const REQUEST_ID = 'x-openstack-request-id'

/**
 * @throws Error if the address is in use, if other machines can reach it, or if the proxies cannot be known
 */
export async function startHttpServer(services: HttpServices, options: HttpOptions): Promise<HttpServer> {
  const parsed = listenAddressOf(options)
  const limits = { ...TIME_LIMITS, ...options.timeLimits, headerBytesMax: options.headerBytesMax }
  const reports = newReports(services)
  const early = new EarlyAnswers(limits, (bound) => reports.add(bound))
  const tls =
    options.certificates && (await secureServers(options.certificates, limits, early, options.hstsDays))
  const proxies = await openProxies(options, services.log)
  const server = newServer(proxies, limits, tls, early, options.v3AtRoot)
  const routes = new Routes()
  server.addHook('onRoute', ({ url, method, config }) => routes.add(url, method, config?.sendError))
  const bounds = new Bounds(reports, server, options.maxConnections)
  let site: Site = siteOf('', options.region, [])
  const hosts = new Set<string>()
  const refuse = (reply: FastifyReply, error: HttpError) =>
    (routes.wordingOf(reply.request) ?? sendError)(reply, error, site.identityUrl)
  await addTracingIfOn(server, services)
  server.addHook('onRequest', (request, reply, next) => {
    reply.headers(HEADERS).header(REQUEST_ID, request.id)
    // The headers of a request that a proxy asks about are those of its client: Host and Origin, too.
    const asked = OF_PROXIES.has(request.routeOptions.url ?? '')
    const host = asked && !lacksHost(request.raw) ? undefined : hostProblem(request, hosts, options)
    if (host !== undefined) reports.add('host')
    const wrong = bounds.problem(request, reply) ?? host
    if (wrong !== undefined) return void refuse(reply, wrong)
    // Every client gets the same keys, from every address. Envoy sends X-Forwarded-For with its own
    // requests, and no secret.
    if (request.routeOptions.url === JWKS) return bounds.begin(request.raw, next)
    const pretended = proxies?.problemOf(request.raw, asked)
    if (pretended === undefined) return bounds.begin(request.raw, next)
    traceUnknownProxy(services, request)
    refuse(reply, pretended)
  })
  server.addHook('onClose', async () => proxies?.close())
  server.setErrorHandler(async (error: Error, request, reply) => {
    const answer = httpErrorOf(error)
    traceRefusal(services, request, error)
    logRefusal(services, request, error, answer)
    return refuse(reply, answer)
  })
  answerUnknownPaths(server, routes, refuse)
  // Fastify parses no bodies of any type. A route that needs a body reads it itself.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => body)

  addHealthRoutes(server, services.health)
  if (options.identity === undefined) addReferral(server)
  else await addIdentityRoutes(server, services, options.identity, () => site)
  const mayLast = (request: IncomingMessage) => {
    tls?.letLast(request)
    bounds.lasts(request)
  }
  const pages = await addOptionalRoutes(server, services, options, () => site, mayLast)
  await addContract(server, options, mayLast, pages)

  const { port, close } = await bounds.listen(server, options.address, options.connections)
  const host = withBrackets(parsed.host)
  const scheme = tls ? 'https' : 'http'
  const own = ['127.0.0.1', 'localhost', '[::1]', host].map((name) => `${scheme}://${name}:${port}`)
  const { publicUrl = `${scheme}://${host}:${port}` } = options
  site = siteOf(publicUrl, options.region, options.catalog)
  for (const name of [...own, publicUrl].flatMap(hostsOf)) hosts.add(name)
  return {
    address: `${host}:${port}`,
    reload: () => proxies?.reload(),
    close,
  }
}

function answerUnknownPaths(
  server: FastifyInstance,
  routes: Routes,
  refuse: (reply: FastifyReply, error: HttpError) => FastifyReply,
): void {
  server.setNotFoundHandler(async (request, reply) => {
    const allowed = routes.methodsOf(request.url)
    if (allowed.length === 0) return refuse(reply, { status: 404, message: 'there is no such path' })
    reply.header('allow', allowed.join(', '))
    if (request.method === 'OPTIONS') return reply.code(200).send()
    return refuse(reply, { status: 405, message: `expected one of ${allowed.join(', ')}` })
  })
}

function traceUnknownProxy({ trace }: Reporting, { id, socket }: FastifyRequest): void {
  const by = { protocol: 'http', address: whereabouts(ipAddress(socket.remoteAddress)) }
  const details = () => ({ request_id: id })
  trace.record({ level: 'warn', message: 'an unknown proxy was refused', by, details })
}

/** Logins and questions about access leave a separate trace. */
function traceRefusal({ trace }: Reporting, request: FastifyRequest, error: Error): void {
  const { id, clientAddress, method, routeOptions } = request
  if (routeOptions.config?.ownTrace ?? method === 'POST') return
  const details = () => ({ request_id: id })
  const by = { protocol: 'http', address: whereabouts(clientAddress) }
  trace.refused('an identity call was refused', error, by, details)
}

/** Programs ask it all the time. */
const UNTRACED = { config: { tracing: 'none' } } as const

/** The same answers as on the health listener. */
function addHealthRoutes(server: FastifyInstance, health: Health): void {
  server.get('/healthz', UNTRACED, async (_request, reply) => sendJson(reply, 200, { status: 'ok' }))
  server.get('/readyz', UNTRACED, async ({ query }, reply) => {
    const { ready, body } = readiness(health.state, Object.hasOwn(query as object, 'verbose'))
    return sendJson(reply, ready ? 200 : 503, body)
  })
}

/** A sidecar with a directory issues tokens, and has the keys that verify them. */
function addReferral(server: FastifyInstance): void {
  const refer = async () => {
    throw callError('DIRECTORY_ELSEWHERE', {})
  }
  for (const path of ['/identity', '/identity/*', JWKS]) server.all(path, refer)
}

/** Each is loaded only where it is needed. */
async function addOptionalRoutes(
  server: FastifyInstance,
  services: HttpServices,
  { authorize, proxies, authzen, jwks, console, ...options }: HttpOptions,
  site: () => Site,
  mayLast: (request: IncomingMessage) => void,
): Promise<PageRequests | undefined> {
  // Without proxies no client may ask.
  if (authorize && proxies !== undefined) {
    const [{ addAuthorizeRoutes }, { addExtAuthzRoute }] = await Promise.all([
      import('../proxies/authorize-routes.ts'),
      import('../proxies/ext-authz-route.ts'),
    ])
    addAuthorizeRoutes(server, services, AUTHORIZE)
    addExtAuthzRoute(server, services, EXT_AUTHZ)
  }
  if (authzen !== undefined) {
    const { addAuthzenRoutes } = await import('./authzen/authzen-routes.ts')
    addAuthzenRoutes(server, services, authzen, site)
  }
  if (jwks) (await import('./identity/jwks.ts')).addJwksRoute(server, services, JWKS)
  const panel = services.controlPanel && (await import('./control-panel/control-panel-routes.ts'))
  const pages = panel?.addControlPanelRoutes(server, services, options, mayLast)
  if (console !== undefined)
    (await import('./page/console-routes.ts')).addConsoleRoutes(server, services, console, pages?.sessionOf)
  return pages
}

/** Loaded only where it is needed. */
async function addTracingIfOn(server: FastifyInstance, { tracing }: Reporting): Promise<void> {
  if (tracing !== undefined) (await import('./traced-requests.ts')).addTracing(server, tracing)
}

async function addContract(
  server: FastifyInstance,
  { contract }: HttpOptions,
  mayLast: (request: IncomingMessage) => void,
  pages: PageRequests | undefined,
): Promise<void> {
  await contract?.addTo(server, { mayLast, sessionOf: pages?.sessionOf })
}

/** Loaded only where it is needed. */
async function secureServers(
  certificates: WatchedCertificates,
  limits: HttpLimits,
  early: EarlyAnswers,
  hstsDays: number,
): Promise<SecureServers> {
  const { SecureServers } = await import('./secure.ts')
  return new SecureServers(certificates, {
    ...{ ...limits, hstsDays },
    requestsPerConnectionMax: REQUESTS_PER_CONNECTION_MAX,
    refuse: (code, socket) => early.end({ code }, socket),
    answer: (code) => early.answerTo(code),
  })
}

/** How slow a client may be, and how long its headers. */
type HttpLimits = HttpTimeLimits & Pick<HttpOptions, 'headerBytesMax'>

function newServer(
  proxies: TrustedProxies | undefined,
  { headersMs, requestMs, keepAliveMs, checkIntervalMs, headerBytesMax }: HttpLimits,
  tls: SecureServers | undefined,
  early: EarlyAnswers,
  v3AtRoot: boolean,
): FastifyInstance {
  const serverFactory: FastifyServerFactory | undefined = tls && ((handle) => tls.create(handle))
  const server = Fastify({
    logger: false,
    ...(serverFactory && { serverFactory }),
    rewriteUrl: (request) => (v3AtRoot ? fromRoot(originForm(request)) : originForm(request)),
    // No route has a schema, so the compilers for schemas need not be loaded.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: requestMs,
    // A client that does not read its response.
    connectionTimeout: keepAliveMs,
    keepAliveTimeout: keepAliveMs,
    maxRequestsPerSocket: REQUESTS_PER_CONNECTION_MAX,
    http: {
      ServerResponse: WrittenResponse,
      maxHeaderSize: headerBytesMax,
      requireHostHeader: false,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkIntervalMs,
    },
    // Some clients put a slash between a base that ends with one and a path that begins with one. Keystone
    // redirects them.
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: PARAMETER_LENGTH_MAX,
    },
    // Of several, Node makes one text, which is not an id.
    genReqId: ({ headers }) => givenRequestId([String(headers[REQUEST_ID_HEADER])]) ?? newRequestId(),
    clientErrorHandler: (error, socket) => early.end(error, socket),
    // For a path that cannot be decoded, Fastify calls no hook.
    frameworkErrors: (error, request, reply) => {
      early.count('protocol_error')
      sendError(reply.headers(HEADERS).header(REQUEST_ID, request.id), httpErrorOf(error), '')
    },
  })
  countSilentRefusals(
    server.server,
    (bound) => early.count(bound),
    (code, socket) => early.end({ code }, socket),
  )
  server.decorateRequest('clientAddress', {
    getter() {
      return proxies === undefined ? ipAddress(this.socket.remoteAddress) : proxies.clientOf(this.raw)
    },
  })
  if (tls) {
    server.addHook('preClose', async () => tls.close())
    // HTTP/2 does not have the header that Fastify sets for a body that is too large.
    server.addHook('onSend', async ({ raw }, reply) => {
      if (raw.httpVersionMajor === 2) reply.removeHeader('connection')
    })
  }
  return server
}

/** The path for one of a Keystone that has a separate host. */
function fromRoot(url: string): string {
  return url.replace(/^\/+v3(?=[/?]|$)/, '/identity/v3')
}

function noCompiler(): never {
  throw new Error('expected routes without schemas')
}

/** Answers what never becomes a request, because it is not HTTP, too long or too slow. */
class EarlyAnswers {
  readonly #limits: EarlyLimits
  readonly count: (bound: EarlyBound) => void

  constructor({ headerBytesMax, requestMs }: HttpLimits, count: (bound: EarlyBound) => void) {
    this.#limits = { headerBytesMax, inTime: `the complete request within ${requestMs / 1000} s` }
    this.count = count
  }

  answerTo(code: string | undefined): RawAnswer {
    const { bound, status, expected } = earlyRefusalOf(code, this.#limits)
    this.count(bound)
    const body = JSON.stringify(errorBody({ status, message: `expected ${expected}` }))
    return {
      status,
      headers: {
        ...HEADERS,
        [REQUEST_ID]: newRequestId(),
        'content-type': 'application/json',
        'content-length': body.length,
      },
      body,
    }
  }

  /** Writes directly to the socket. */
  end({ code }: { readonly code?: string }, socket: Socket): void {
    if (lingers(socket)) return
    if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const { status, headers, body } = this.answerTo(code)
    endAndLinger(socket, answerText(status, titleOf(status), headers, body))
  }
}

/** The possible Host headers for a URL: with the port, and also without it if it is the default port. */
function hostsOf(publicUrl: string): string[] {
  const { protocol, hostname, host, port } = new URL(publicUrl)
  return [host, `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`]
}

function withBrackets(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
