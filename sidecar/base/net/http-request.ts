/** The common part of requests to servers of HTTP: their connection, their origin, and their headers. */
import type { IncomingMessage } from 'node:http'
import type { IpAddress } from '../ip-address.ts'

/** The request as the HTTP server passes it to its routes, as far as it is read here. */
interface Received {
  readonly raw: IncomingMessage
  readonly socket: { readonly remotePort?: number | undefined }
  readonly clientAddress: IpAddress | undefined
}

/** A target with scheme and host, which every server takes, too (RFC 9112, section 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i

/**
 * Path and query of a request. Where its target names the host as well, both hosts must be the same one: two
 * that differ count as none, because a proxy could have looked at the other one.
 */
export function originForm(request: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const { url = '', headers } = request
  if (url.startsWith('/')) return url
  const [, authority, rest = ''] = ABSOLUTE_FORM.exec(url) ?? []
  if (authority === undefined) return url
  const { host = authority } = headers
  headers.host = host.toLowerCase() === authority.toLowerCase() ? host : ''
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** The carrier of a request: the same object for all requests of a connection, of HTTP/1.1 and of HTTP/2. */
export function carrierOf(request: Pick<IncomingMessage, 'socket'>): object {
  // With HTTP/2 the socket of each request is another object, and the session is the same.
  const { stream } = request as { readonly stream?: { readonly session?: object } }
  return stream?.session ?? request.socket
}

const CONNECTIONS = new WeakMap<object, { readonly name: string }>()

/**
 * The connection of a request: the same object for all requests on it. The name distinguishes the connections
 * of a client.
 */
export function connectionOf({ raw, socket }: Pick<Received, 'raw' | 'socket'>): { readonly name: string } {
  const carrier = carrierOf(raw)
  let connection = CONNECTIONS.get(carrier)
  if (connection === undefined) {
    connection = { name: String(socket.remotePort) }
    CONNECTIONS.set(carrier, connection)
  }
  return connection
}

/**
 * Every value of a header. Node collects the values of all headers at the first look at one, so it is not
 * asked for a header that is absent.
 *
 * @param name in small letters
 */
export function valuesOf(
  request: Pick<IncomingMessage, 'headers' | 'headersDistinct'>,
  name: string,
): readonly string[] {
  return request.headers[name] === undefined ? [] : (request.headersDistinct[name] ?? [])
}

/** Whether a header came more than once. @param name in small letters */
export function isRepeated({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const field = rawHeaders[at] as string
    if (field.length === name.length && field.toLowerCase() === name) count++
  }
  return count > 1
}

/** Every header with each of its values. */
export function headersOf({ raw }: Pick<Received, 'raw'>): [name: string, values: string[]][] {
  const { headersDistinct } = raw
  const headers: [name: string, values: string[]][] = []
  for (const name in headersDistinct) headers.push([name, headersDistinct[name] as string[]])
  return headers
}
