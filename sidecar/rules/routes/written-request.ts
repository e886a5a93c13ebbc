/** A request as a person writes it: a method, a URL or a path, and headers. */
import type { RouteRequest } from './route.ts'

/**
 * The request to find a route for. The URL is not parsed by rules of URLs, because those would correct what
 * must be shown.
 *
 * @param headers by name in lower case
 */
export function requestOf(method: string, url: string, headers: ReadonlyMap<string, string[]>): RouteRequest {
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  const target = rest === undefined ? url : rest.startsWith('/') ? rest : `/${rest}`
  return {
    method,
    host: authority ?? headers.get('host')?.join(', '),
    target,
    header: (name) => headers.get(name),
  }
}
