/** The names of this server, and the pages that may ask it. */

import type { HttpError, HttpRequest } from '../base/http/exchange.ts'
import { lacksHost } from '../base/net/early-refusals.ts'
import { isRepeated } from '../base/net/http-request.ts'
import type { ContractRoutes } from './contract-routes.ts'

/** Where the page is. Its links are relative, so it ends with a slash. */
export const PAGE = '/console/'

/** How the page of this server is reached. */
export interface PageAddress {
  /** Whether the server speaks https. */
  readonly secure: boolean
  /** URL of the server for clients; `undefined`: its own address. */
  readonly publicUrl: string | undefined
}

interface OriginOptions extends PageAddress {
  readonly contract?: ContractRoutes | undefined
  /** Whether the page may call the contract; `undefined`: it is not served. */
  readonly console: { readonly verify: boolean } | undefined
}

/**
 * The fault of the Host and the Origin of a request. This prevents DNS rebinding: a page in a browser
 * on this machine could make its own host name resolve to 127.0.0.1.
 */
export function hostProblem(
  { raw, headers }: HttpRequest,
  hosts: ReadonlySet<string>,
  options: OriginOptions,
): HttpError | undefined {
  // Node keeps the first of several. A proxy could have looked at another one (RFC 9112 §3.2).
  if (lacksHost(raw) || isRepeated(raw, 'host')) return { status: 400, message: 'expected one Host header' }
  const { origin, host = '' } = headers
  // The host first: one that is not ours may not be a host at all, and makes no URL.
  if (
    hosts.has(host.toLowerCase()) &&
    (origin === undefined || isAllowedOrigin(origin, raw.url ?? '', host, options))
  )
    return undefined
  return { status: 403, message: 'expected a Host header with a name of this server, and no Origin header' }
}

/**
 * Pages of listed origins may call the contract. So may our own page where it verifies; browsers send its
 * origin also when they load its scripts.
 */
function isAllowedOrigin(
  origin: string,
  url: string,
  host: string,
  { contract, console, ...address }: OriginOptions,
): boolean {
  if (contract?.allows(origin, url)) return true
  if (console === undefined || !isOwnOrigin(origin, host, address)) return false
  return url.startsWith(PAGE) || (console.verify && contract?.has(url) === true)
}

/**
 * Whether a request comes from our own page: as the request names the server, or as `http.public_url` does,
 * where a proxy may say https and another host. A page that came over http from a host that is reached by
 * https is not ours.
 *
 * @param host a name of this server
 */
export function isOwnOrigin(
  origin: string,
  host: string | undefined,
  { secure, publicUrl }: PageAddress,
): boolean {
  const known = publicUrl === undefined ? undefined : new URL(publicUrl)
  if (origin === known?.origin) return true
  const named = `${secure ? 'https' : 'http'}://${host}`.toLowerCase()
  const byProxy = known?.protocol === 'https:' && !secure && new URL(named).hostname === known.hostname
  return origin.toLowerCase() === named && !byProxy
}
