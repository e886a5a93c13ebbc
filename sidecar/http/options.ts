/**
 * The options of the HTTP server and their check, which needs no server. Where HTTP is off, no more than this
 * is loaded.
 */
import { isLoopback, parseAddress } from '../base/address.ts'
import type { WatchedCertificates } from '../base/net/certificates.ts'
import type { ConnectionSource } from '../base/net/connections.ts'
import type { ProxyOptions, TrustedProxies } from '../proxies/trusted-proxies.ts'
import type { Reporting } from '../usecases/capabilities.ts'
import type { AuthzenOptions } from './authzen/authzen-routes.ts'
import type { ContractRoutes } from './contract-routes.ts'
import { type CatalogService, checkCatalog } from './identity/catalog.ts'
import type { IdentityOptions } from './identity/identity-routes.ts'
import type { ConsoleOptions } from './page/console-routes.ts'

export interface HttpOptions {
  readonly address: string
  /** Whether the server speaks https. */
  readonly secure: boolean
  /** For how long browsers use https alone for the name of a server that speaks it, in days. */
  readonly hstsDays: number
  /** Of a server that speaks https. */
  readonly certificates?: WatchedCertificates | undefined
  /** URL of the server for clients; `undefined`: `http://` or `https://` and its address. */
  readonly publicUrl: string | undefined
  /** Region of the endpoints in the catalog. */
  readonly region: string
  /** Further services in the catalog. */
  readonly catalog: readonly CatalogService[]
  /** Whether `/v3` means `/identity/v3`. */
  readonly v3AtRoot: boolean
  /** `undefined`: another sidecar has the directory, and this one refers clients to it. */
  readonly identity: IdentityOptions | undefined
  /** The contract of gRPC over HTTP; `undefined`: it is off. */
  readonly contract?: ContractRoutes | undefined
  /** The proxies whose header X-Forwarded-For is trusted; `undefined`: there are none. */
  readonly proxies: ProxyOptions | undefined
  /** Whether proxies may ask about the requests that they receive. */
  readonly authorize: boolean
  /** Whether the public keys of IAM tokens are shown. */
  readonly jwks: boolean
  /** How AuthZEN is answered; `undefined`: it is not. */
  readonly authzen: AuthzenOptions | undefined
  /** The rights of the page; `undefined`: it is not served. */
  readonly console: ConsoleOptions | undefined
  /** Accepts the connections; `undefined`: this process does. */
  readonly connections?: ConnectionSource | undefined
  /** Most connections, if they are fewer than 1,000. */
  readonly maxConnections?: number | undefined
  /** Most bytes of headers in one request. */
  readonly headerBytesMax: number
  /** Time limits for clients that differ from the usual ones. */
  readonly timeLimits?: Partial<HttpTimeLimits> | undefined
}

/** How slow a client may be, in milliseconds. */
export interface HttpTimeLimits {
  /** Longest time to send the headers. */
  readonly headersMs: number
  /** Longest time to send the whole request. */
  readonly requestMs: number
  /** How long a connection may stay open without a request. */
  readonly keepAliveMs: number
  /** How often the server looks for slow clients. */
  readonly checkIntervalMs: number
}

/**
 * Checks the options without starting, also if HTTP is off.
 *
 * @throws Error as `startHttpServer` does for invalid options
 */
export async function checkHttpOptions(options: HttpOptions): Promise<void> {
  checkCatalog(options.catalog, options.region)
  if (options.address !== 'off') listenAddressOf(options)
  if (options.authorize && options.proxies === undefined)
    throw new Error(
      'http.authorize: expected http.trusted_proxies too, the addresses of the proxies that ask',
    )
  const proxies = await openProxies(options)
  proxies?.close()
}

/** Loaded only where it is needed. */
export async function openProxies(
  { proxies }: HttpOptions,
  log?: Reporting['log'],
): Promise<TrustedProxies | undefined> {
  return proxies && new (await import('../proxies/trusted-proxies.ts')).TrustedProxies(proxies, log)
}

export function listenAddressOf(options: HttpOptions): { readonly host: string; readonly port: number } {
  const { address, secure, publicUrl } = options
  const parsed = parseAddress('http.address', address, 'off')
  if (parsed.type !== 'tcp' || !(secure || isLoopback(parsed.host)))
    throw new Error(
      secure
        ? `http address ${address}: expected HOST:PORT, or off`
        : `http address ${address}: expected HOST:PORT of this machine (127.0.0.1, [::1] or localhost), or off; an address that other machines can reach needs http.tls`,
    )
  // Discovery and the catalog show clients an address that no client can reach.
  if (EVERY_ADDRESS.has(parsed.host) && publicUrl === undefined)
    throw new Error(`http address ${address}: expected http.public_url, the URL that clients use`)
  return parsed
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
