/**
 * How a connection of HTTP/1.1 ends while its client is still sending (RFC 9112, section 9.6). Where it is
 * closed with bytes that were not read, or more of them arrive, the system resets the client, and the client
 * loses the answer. So first only the sending side ends, and further bytes are dropped, slowly and up to
 * a bound: others must not wait for it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { stopParsing } from './stop-parsing.ts'

/** How long a client may take to read its answer and to close the connection, in milliseconds. */
const LINGER_MS = 2_000

/** Most bytes that are read of one client after its answer. Beyond them it must wait for the end. */
const DISCARDED_BYTES_MAX = 1_048_576

/** Bytes that are dropped at a time. One read of the system brings it. */
const PART_BYTES = 65_536

/** The cost of a chunk beside its bytes. Chunks can have one byte each. */
const CHUNK_BYTES = 128

/** Time between two such parts, of all connections together, in milliseconds. */
const PACE_MS = 1

const lingering = new WeakSet<Socket>()
const discarding = new WeakSet<Readable>()

/** The streams that wait until they may be read again, in the order of its turns. */
const waiting = new Set<Readable>()

type Request = IncomingMessage & { readonly stream?: { close(): void } }

/** Lets the connection of a request end so, if its body is still arriving when Node closes the connection. */
export function lingerAfter(
  request: Pick<IncomingMessage, 'complete' | 'socket'>,
  response: Pick<ServerResponse, 'prependOnceListener'>,
): void {
  const { socket } = request
  // Where nothing has read the body, Node drops it in its own listener, and at full speed.
  response.prependOnceListener('finish', () => {
    if (!request.complete) discard(request as IncomingMessage)
  })
  // Node calls this after the last answer of a connection.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket)
    else if (!lingers(socket)) endAndLinger(socket)
  }
}

/** Drops the rest of a request that has its answer. Beyond the bound its connection or its stream ends. */
export function discard(request: Request): void {
  drop(request, () => {
    if (request.httpVersionMajor === 2) request.stream?.close()
    else if (!lingers(request.socket)) {
      stopParsing(request.socket)
      endSoon(request.socket)
    }
  })
}

/** Ends the sending side, and closes the connection soon. No request after it is answered. */
export function endAndLinger(socket: Socket, last = ''): void {
  endSoon(socket, last)
  // To parse what is dropped would cost more than to read it.
  socket.removeAllListeners('data')
  drop(socket, () => {})
}

/** Whether the connection ends soon, and nothing that arrives on it matters. */
export function lingers(socket: Socket): boolean {
  return lingering.has(socket)
}

function endSoon(socket: Socket, last = ''): void {
  lingering.add(socket)
  socket.end(last)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** @param onTooMuch is called at the bound; then reading stops */
function drop(from: Readable, onTooMuch: () => void): void {
  if (discarding.has(from)) return
  discarding.add(from)
  let left = DISCARDED_BYTES_MAX
  let part = 0
  from.on('data', ({ length }: Buffer) => {
    part += length + CHUNK_BYTES
    if (part < PART_BYTES) return
    from.pause()
    left -= part
    part = 0
    if (left <= 0) return onTooMuch()
    waiting.add(from)
    if (waiting.size === 1) setTimeout(dropNext, PACE_MS)
  })
  from.resume()
}

function dropNext(): void {
  for (const next of waiting) {
    waiting.delete(next)
    next.resume()
    break
  }
  if (waiting.size > 0) setTimeout(dropNext, PACE_MS)
}
