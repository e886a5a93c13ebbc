/**
 * Finds what belongs to a connection by a socket of it that Node shows: the same one, a proxy of it, or TLS
 * on it.
 */
import type { Socket } from 'node:net'

/** The fields that identify a TCP connection. */
type Ends = Partial<Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress'>>

export class BySocket<T> {
  /** A proxy has it too. */
  readonly #mark = Symbol('connection')
  readonly #byEnds = new Map<string, T>()

  /** @param socket that was accepted. It is forgotten when it closes. */
  set(socket: Socket, value: T): void {
    Object.assign(socket, { [this.#mark]: value })
    const ends = endsOf(socket)
    if (ends === undefined) return
    this.#byEnds.set(ends, value)
    socket.once('close', () => {
      if (this.#byEnds.get(ends) === value) this.#byEnds.delete(ends)
    })
  }

  get(socket: Ends): T | undefined {
    const marked = (socket as { readonly [mark: symbol]: T | undefined })[this.#mark]
    if (marked !== undefined) return marked
    const ends = endsOf(socket)
    return ends === undefined ? undefined : this.#byEnds.get(ends)
  }
}

/**
 * Both ends of a TCP connection, which no other open connection has; undefined: a Unix socket, or the client
 * is gone.
 */
function endsOf({ remoteAddress, remotePort, localAddress }: Ends): string | undefined {
  return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress}`
}
