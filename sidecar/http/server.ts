/** The HTTP server: who may talk to it and for how long, whether the process lives and answers, the identity endpoint. */
import type { AddressInfo, Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { readRange } from '../authority/addresses.ts'
import { addressInUse, isLoopback, parseAddress } from '../base/address.ts'
import { CallError } from '../base/call-error.ts'
import type { Services } from '../usecases/services.ts'
import { type CatalogService, type Site, siteOf } from './catalog.ts'
import { BODY_BYTES_MAX, errorBody, type HttpError, httpErrorOf, sendError, titleOf } from './errors.ts'
import { addIdentityRoutes } from './identity.ts'
import { sendJson } from './json.ts'

export interface HttpOptions {
  readonly address: string
  /** Where clients find the server; `undefined`: where it listens. */
  readonly publicUrl: string | undefined
  /** Region of the catalog's endpoints. */
  readonly region: string
  /** Further services of the catalog. */
  readonly catalog: readonly CatalogService[]
  /** Whose word is taken for where a request came from: addresses and ranges. */
  readonly trustedProxies: readonly string[]
}

export interface HttpServer {
  /** With the port that was bound. */
  readonly address: string
  /** From now on `/readyz` says 503. */
  stopBeingReady(): void
  close(): Promise<void>
}

/** Headers of one request, in bytes: two tokens of the largest size do not fit, two of ours many times. */
const HEADER_BYTES_MAX = 16_384

/** Who sends slower than this is not waited for, in milliseconds. */
const HEADERS_MS_MAX = 5_000
const REQUEST_MS_MAX = 10_000
/** How often slow senders are looked for. */
const CHECK_INTERVAL_MS = 1_000

/** How long a connection may stand without a request, in milliseconds. */
const KEEP_ALIVE_MS = 60_000
const REQUESTS_PER_CONNECTION_MAX = 10_000
const CONNECTIONS_MAX = 1_000

/** Answers are for one asker and one moment. */
const HEADERS = { vary: 'X-Auth-Token', 'cache-control': 'no-store' }

/** @throws Error where the address is in use or can be reached from other machines, or a proxy is no address */
export async function startHttpServer(services: Services, options: HttpOptions): Promise<HttpServer> {
  const parsed = listenAddressOf(options)
  const server = newServer(trustedRanges(options.trustedProxies))
  const routes = new Map<string, readonly string[]>()
  server.addHook('onRoute', ({ url, method }) => {
    routes.set(url, [...(routes.get(url) ?? []), method].flat().sort())
  })
  let ready = true
  let site: Site = siteOf('', options.region, [])
  const hosts = new Set<string>()
  const refuse = (reply: FastifyReply, error: HttpError) => sendError(reply, error, site.identityUrl)

  // A page in a browser on this machine can have its host name resolve to 127.0.0.1 and then ask here.
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS)
    if (!hosts.has(request.headers.host?.toLowerCase() ?? '') || request.headers.origin !== undefined)
      return refuse(reply, {
        status: 403,
        message: 'expected a request to this server by a name of its own, and no Origin',
      })
  })
  server.setErrorHandler(async (error: Error, request, reply) => {
    const answer = httpErrorOf(error)
    const { cause } = error
    if (cause instanceof CallError && cause.row.login === 'refused')
      services.log.info(
        { reason: cause.reason, client_address: request.ip },
        'a login with the right password was refused; its client is told only that it failed',
      )
    if (answer.status === 500) services.log.error({ err: error }, 'internal error')
    return refuse(reply, answer)
  })
  server.setNotFoundHandler(async (request, reply) => {
    const allowed = methodsOf(routes, request.url)
    if (allowed.length === 0) return refuse(reply, { status: 404, message: 'there is no such path' })
    reply.header('allow', allowed.join(', '))
    return refuse(reply, { status: 405, message: `expected one of ${allowed.join(', ')}` })
  })
  // Whatever the type: a body is read by the route that wants one.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => body)

  server.get('/healthz', async (_request, reply) => sendJson(reply, 200, { status: 'ok' }))
  server.get('/readyz', async (_request, reply) =>
    sendJson(reply, ready ? 200 : 503, { status: ready ? 'ready' : 'stopping' }),
  )
  addIdentityRoutes(server, services, () => site)

  await listen(server, options.address, parsed)
  const { port } = server.server.address() as AddressInfo
  const host = bracketed(parsed.host)
  site = siteOf(options.publicUrl ?? `http://${host}:${port}`, options.region, options.catalog)
  for (const name of ['127.0.0.1', 'localhost', '[::1]', host]) hosts.add(`${name}:${port}`)
  if (options.publicUrl !== undefined) for (const name of hostsOf(options.publicUrl)) hosts.add(name)
  return {
    address: `${host}:${port}`,
    stopBeingReady: () => {
      ready = false
    },
    close: () => server.close(),
  }
}

/** @throws Error as `startHttpServer` does for what can be told before it starts, whether or not it is to */
export function checkHttpOptions(options: HttpOptions): void {
  trustedRanges(options.trustedProxies)
  if (options.address !== 'off') listenAddressOf(options)
}

function listenAddressOf({ address }: HttpOptions): { readonly host: string; readonly port: number } {
  const parsed = parseAddress('http.address', address, 'off')
  if (parsed.type === 'tcp' && isLoopback(parsed.host)) return parsed
  throw new Error(
    `http address ${address}: expected HOST:PORT of this machine (127.0.0.1, [::1] or localhost), or off`,
  )
}

function newServer(trustedProxies: string[]): FastifyInstance {
  const server = Fastify({
    logger: false,
    // No route has a schema: what would compile one is not even loaded.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxRequestsPerSocket: REQUESTS_PER_CONNECTION_MAX,
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
    },
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    routerOptions: { ignoreTrailingSlash: true },
    clientErrorHandler: refuseConnection,
    // A path that cannot be decoded reaches no hook.
    frameworkErrors: (error, _request, reply) => sendError(reply.headers(HEADERS), httpErrorOf(error), ''),
  })
  // Without the second, workers hand a connection that none of them takes around among themselves, and do nothing else.
  Object.assign(server.server, { maxConnections: CONNECTIONS_MAX, dropMaxConnection: true })
  return server
}

function noCompiler(): never {
  throw new Error('expected routes without schemas')
}

/** What is no HTTP, too long or too slow never becomes a request; the answer is written as it is. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, message } = connectionErrorOf(error.code)
  const body = JSON.stringify(errorBody({ status, message }))
  const headers = {
    ...HEADERS,
    'content-type': 'application/json',
    'content-length': body.length,
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${titleOf(status)}\r\n${lines.join('')}\r\n${body}`)
}

function connectionErrorOf(code: string | undefined): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return { status: 431, message: `expected headers of at most ${HEADER_BYTES_MAX} bytes` }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, message: `expected a whole request within ${REQUEST_MS_MAX / 1000} s` }
  return { status: 400, message: 'expected a request of HTTP/1.1' }
}

/** The methods that a path takes; none: there is no such path. Not asked of the router, to which `*` and `:` mean something. */
function methodsOf(routes: ReadonlyMap<string, readonly string[]>, url: string): readonly string[] {
  const path = url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? ''
  return routes.get(path) ?? []
}

async function listen(
  server: FastifyInstance,
  address: string,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    await server.close()
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw addressInUse({ listener: 'http', address })
    throw error
  }
}

function trustedRanges(proxies: readonly string[]): string[] {
  return proxies.map((proxy, index) => {
    const reading = readRange(proxy)
    if (!reading.ok) throw new Error(`http.trusted_proxies[${index}]: expected ${reading.expected}`)
    return reading.range
  })
}

/** How the Host header can name the server behind a URL: with its port, and without where it is the usual one. */
function hostsOf(publicUrl: string): string[] {
  const { protocol, hostname, host, port } = new URL(publicUrl)
  return [host, `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`]
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
