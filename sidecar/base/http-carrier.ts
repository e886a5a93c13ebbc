/** The connections of HTTP/1.1 and HTTP/2, told apart in the same way. */
import type { IncomingMessage } from 'node:http'

/** What carries a request: the same object for all requests of a connection. */
export function carrierOf(request: Pick<IncomingMessage, 'socket'>): object {
  // With HTTP/2 the socket of each request is another object, and the session is the same.
  const { stream } = request as { readonly stream?: { readonly session?: object } }
  return stream?.session ?? request.socket
}
