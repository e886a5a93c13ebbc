/**
 * How a connection of HTTP/1.1 ends while its client is still sending (RFC 9112, section 9.6). Where it is
 * closed with bytes that were not read, or more of them arrive, the system tells the client that it was
 * reset, and the client loses the answer. So first only the sending side ends, and what still arrives is
 * dropped.
 */
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { stopParsing } from './stop-parsing.ts'

/** How long a client may take to read its answer and to close the connection, in milliseconds. */
const LINGER_MS = 2_000

const lingering = new WeakSet<Socket>()

/** Lets the connection of a request end so, if its body is still arriving when Node closes the connection. */
export function lingerAfter(request: Pick<IncomingMessage, 'complete' | 'socket' | 'resume'>): void {
  const { socket } = request
  // Node calls this after the last answer of a connection.
  socket.destroySoon = () => {
    if (request.complete) return Socket.prototype.destroySoon.call(socket)
    request.resume()
    // No request after this one is answered.
    stopParsing(socket)
    endAndLinger(socket)
  }
}

/** Ends the sending side, and closes the connection soon. */
export function endAndLinger(socket: Socket, last = ''): void {
  lingering.add(socket)
  socket.end(last)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** Whether the connection ends soon, and nothing that arrives on it matters. */
export function lingers(socket: Socket): boolean {
  return lingering.has(socket)
}
