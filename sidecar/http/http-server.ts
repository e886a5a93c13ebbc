/** The HTTP server: limits for its clients, the health endpoints, and the identity endpoint. */

import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { callError } from '../base/call-error.ts'
import { type Health, readiness } from '../base/health.ts'
import type { HttpError, HttpReply, HttpRequest } from '../base/http/exchange.ts'
import { HttpRoutes } from '../base/http/http-routes.ts'
import { ipAddress, whereabouts } from '../base/ip-address.ts'
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
import type { Reports } from '../base/net/reports.ts'
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
import { Bounds, newReports } from './bounds.ts'
import type { PageRequests } from './control-panel/page-requests.ts'
import { Dispatcher } from './dispatcher.ts'
import { hostProblem } from './host-header.ts'
import { BAD_REQUEST, errorBody, httpErrorOf, sendError, titleOf } from './http-error.ts'
import { type Site, siteOf } from './identity/catalog.ts'
import { addIdentityRoutes } from './identity/identity-routes.ts'
import { sendJson } from './json.ts'
import { type HttpOptions, type HttpTimeLimits, listenAddressOf, openProxies } from './options.ts'
import { logRefusal } from './refusals.ts'
import type { RawAnswer, SecureServers } from './secure.ts'

// Not imported, because an import makes Node create every export of the module.
const { createServer } = process.getBuiltinModule('node:http')

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

/** Where proxies ask about the requests that they receive. */
const AUTHORIZE = ['/authorize', '/authorize/:api']
const EXT_AUTHZ = '/ext-authz/*'
const OF_PROXIES: ReadonlySet<string> = new Set([...AUTHORIZE, EXT_AUTHZ])

/** Where the public keys of IAM tokens are. */
const JWKS = '/.well-known/jwks.json'

const REQUESTS_PER_CONNECTION_MAX = 10_000

/** No cache may store a response: it is only for one requester and one moment. */
const HEADERS = { vary: 'X-Auth-Token', 'cache-control': 'no-store' }
const FIELDS = Object.entries(HEADERS).flat()

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
  const bounds = new Bounds(reports, options.maxConnections)
  const routes = new HttpRoutes()
  let site: Site = siteOf('', options.region, [])
  const hosts = new Set<string>()
  const refuse = (reply: HttpReply, error: HttpError) =>
    (routes.wordingOf(reply.request) ?? sendError)(reply, error, site.identityUrl)
  const dispatcher = new Dispatcher(routes, {
    ...{ bounds, idOf, fieldsOf, trace: await tracingOf(services) },
    addressOf: (raw) => (proxies === undefined ? ipAddress(raw.socket.remoteAddress) : proxies.clientOf(raw)),
    urlOf: options.v3AtRoot ? (raw) => fromRoot(originForm(raw)) : originForm,
    admit: admission(services, options, { hosts, reports, bounds, proxies, refuse }),
    unknown: (request, reply) => answerUnknown(routes, request, reply, refuse),
    unreadable: (_request, reply) => {
      early.count('protocol_error')
      sendError(reply, BAD_REQUEST, '')
    },
    fail: (error, request, reply) => {
      const answer = httpErrorOf(error)
      traceRefusal(services, request, error as Error)
      logRefusal(services, request, error as Error, answer)
      if (reply.raw.headersSent) reply.raw.destroy()
      else refuse(reply, answer)
    },
    leave: (_request, reply) => sendError(reply.header('connection', 'close'), STOPPING, ''),
  })
  const server = newServer(dispatcher.begin, limits, tls, early)

  addHealthRoutes(routes, services.health)
  if (options.identity === undefined) addReferral(routes)
  else await addIdentityRoutes(routes, services, options.identity, () => site)
  const mayLast = (request: IncomingMessage) => {
    tls?.letLast(request)
    bounds.lasts(request)
  }
  const leaving = new AbortController()
  const pages = await addOptionalRoutes(routes, services, options, () => site, mayLast, leaving.signal)
  options.contract?.addTo(routes, { mayLast, sessionOf: pages?.sessionOf })

  const listening = await bounds.listen(server, options.address, options.connections)
  const { port } = listening
  const host = withBrackets(parsed.host)
  const scheme = tls ? 'https' : 'http'
  const own = ['127.0.0.1', 'localhost', '[::1]', host].map((name) => `${scheme}://${name}:${port}`)
  const { publicUrl = `${scheme}://${host}:${port}` } = options
  site = siteOf(publicUrl, options.region, options.catalog)
  for (const name of [...own, publicUrl].flatMap(hostsOf)) hosts.add(name)
  return {
    address: `${host}:${port}`,
    reload: () => proxies?.reload(),
    close: async () => {
      dispatcher.close()
      leaving.abort(callError('STOPPING', {}))
      tls?.close()
      await listening.close()
      proxies?.close()
    },
  }
}

/** The answer to requests on open connections, while the server closes. */
const STOPPING: HttpError = {
  status: 503,
  message: 'the sidecar is stopping; try again',
  retryAfterSeconds: 1,
}

/** Of several, Node makes one text, which is not an id. */
function idOf({ headers }: IncomingMessage): string {
  return givenRequestId([String(headers[REQUEST_ID_HEADER])]) ?? newRequestId()
}

function fieldsOf(id: string): string[] {
  return [...FIELDS, REQUEST_ID, id]
}

interface Admitted {
  readonly hosts: ReadonlySet<string>
  readonly reports: Reports
  readonly bounds: Bounds
  readonly proxies: TrustedProxies | undefined
  readonly refuse: (reply: HttpReply, error: HttpError) => void
}

/** Refuses what no route may see. */
function admission(
  services: HttpServices,
  options: HttpOptions,
  { hosts, reports, bounds, proxies, refuse }: Admitted,
): (request: HttpRequest, reply: HttpReply) => boolean {
  return (request, reply) => {
    // The headers of a request that a proxy asks about are those of its client: Host and Origin, too.
    const path = request.route?.path ?? ''
    const asked = OF_PROXIES.has(path)
    const host = asked && !lacksHost(request.raw) ? undefined : hostProblem(request, hosts, options)
    if (host !== undefined) reports.add('host')
    const wrong = bounds.problem(request, reply) ?? host
    if (wrong !== undefined) {
      refuse(reply, wrong)
      return false
    }
    // Every client gets the same keys, from every address. Envoy sends X-Forwarded-For with its own
    // requests, and no secret.
    const pretended = path === JWKS ? undefined : proxies?.problemOf(request.raw, asked)
    if (pretended === undefined) return true
    traceUnknownProxy(services, request)
    refuse(reply, pretended)
    return false
  }
}

function answerUnknown(
  routes: HttpRoutes,
  { url, method }: HttpRequest,
  reply: HttpReply,
  refuse: (reply: HttpReply, error: HttpError) => void,
): void {
  const allowed = routes.methodsOf(url)
  if (allowed.length === 0) return void refuse(reply, { status: 404, message: 'there is no such path' })
  reply.header('allow', allowed.join(', '))
  if (method === 'OPTIONS') reply.send()
  else refuse(reply, { status: 405, message: `expected one of ${allowed.join(', ')}` })
}

function traceUnknownProxy({ trace }: Reporting, { id, socket }: HttpRequest): void {
  const by = { protocol: 'http', address: whereabouts(ipAddress(socket.remoteAddress)) }
  const details = () => ({ request_id: id })
  trace.record({ level: 'warn', message: 'an unknown proxy was refused', by, details })
}

/** Logins and questions about access leave a separate trace. */
function traceRefusal({ trace }: Reporting, request: HttpRequest, error: Error): void {
  const { id, clientAddress, method, route } = request
  if (route?.ownTrace ?? method === 'POST') return
  const details = () => ({ request_id: id })
  const by = { protocol: 'http', address: whereabouts(clientAddress) }
  trace.refused('an identity call was refused', error, by, details)
}

/** Programs ask it all the time. */
const UNTRACED = { tracing: 'none' } as const

/** The same answers as on the health listener. */
function addHealthRoutes(routes: HttpRoutes, health: Health): void {
  routes.get('/healthz', (_request, reply) => sendJson(reply, 200, { status: 'ok' }), UNTRACED)
  const answer = ({ query }: HttpRequest, reply: HttpReply) => {
    const { ready, body } = readiness(health.state, Object.hasOwn(query, 'verbose'))
    return sendJson(reply, ready ? 200 : 503, body)
  }
  routes.get('/readyz', answer, UNTRACED)
}

/** A sidecar with a directory issues tokens, and has the keys that verify them. */
function addReferral(routes: HttpRoutes): void {
  const refer = () => {
    throw callError('DIRECTORY_ELSEWHERE', {})
  }
  for (const path of ['/identity', '/identity/*', JWKS]) routes.all(path, refer)
}

/** Each is loaded only where it is needed. */
async function addOptionalRoutes(
  routes: HttpRoutes,
  services: HttpServices,
  { authorize, proxies, authzen, jwks, console, ...options }: HttpOptions,
  site: () => Site,
  mayLast: (request: IncomingMessage) => void,
  leaving: AbortSignal,
): Promise<PageRequests | undefined> {
  // Without proxies no client may ask.
  if (authorize && proxies !== undefined) {
    const [{ addAuthorizeRoutes }, { addExtAuthzRoute }] = await Promise.all([
      import('../proxies/authorize-routes.ts'),
      import('../proxies/ext-authz-route.ts'),
    ])
    addAuthorizeRoutes(routes, services, AUTHORIZE)
    addExtAuthzRoute(routes, services, EXT_AUTHZ)
  }
  if (authzen !== undefined) {
    const { addAuthzenRoutes } = await import('./authzen/authzen-routes.ts')
    addAuthzenRoutes(routes, services, authzen, site)
  }
  if (jwks) (await import('./identity/jwks.ts')).addJwksRoute(routes, services, JWKS)
  const panel = services.controlPanel && (await import('./control-panel/control-panel-routes.ts'))
  const pages = panel?.addControlPanelRoutes(routes, services, options, mayLast, leaving)
  if (console !== undefined)
    (await import('./page/console-routes.ts')).addConsoleRoutes(routes, services, console, pages?.sessionOf)
  return pages
}

/** Loaded only where it is needed. */
async function tracingOf({ tracing }: Reporting) {
  if (tracing === undefined) return undefined
  const { traceRequest } = await import('./traced-requests.ts')
  return (request: HttpRequest, reply: HttpReply) => traceRequest(tracing, request, reply)
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
  handle: RequestListener,
  { headersMs, requestMs, keepAliveMs, checkIntervalMs, headerBytesMax }: HttpLimits,
  tls: SecureServers | undefined,
  early: EarlyAnswers,
): Server {
  const server =
    tls?.create(handle) ??
    createServer(
      {
        ServerResponse: WrittenResponse,
        maxHeaderSize: headerBytesMax,
        requireHostHeader: false,
        headersTimeout: headersMs,
        requestTimeout: requestMs,
        keepAliveTimeout: keepAliveMs,
        connectionsCheckingInterval: checkIntervalMs,
      },
      handle,
    )
  if (tls === undefined) {
    // A client that does not read its response.
    server.setTimeout(keepAliveMs)
    server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION_MAX
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => early.end(error, socket as Socket))
  countSilentRefusals(
    server,
    (bound) => early.count(bound),
    (code, socket) => early.end({ code }, socket),
  )
  return server
}

/** The path for one of a Keystone that has a separate host. */
function fromRoot(url: string): string {
  return url.replace(/^\/+v3(?=[/?]|$)/, '/identity/v3')
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
  end({ code }: { readonly code?: string | undefined }, socket: Socket): void {
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
