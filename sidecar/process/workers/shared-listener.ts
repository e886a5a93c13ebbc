/**
 * An address on which the primary accepts connections for all workers. The primary keeps each connection
 * until a worker has confirmed that it has it. So a connection that was on its way to a worker that dies goes
 * to another one, and the address stays open while no worker runs. `node:cluster` gives neither: it loses the
 * connection, and closes the address.
 */
import { createServer, type Server, type Socket } from 'node:net'
import type { Listener } from '../../base/net/connections.ts'
import { listenOn } from '../../base/net/listen.ts'
import type { SocketAccess } from '../../base/net/unix-socket.ts'

/** Most connections that wait for a worker. Further ones are closed. */
const WAITING_MAX = 1_024

/** A worker that takes connections. */
export interface Receiver {
  /** Gives it a connection. It answers that it has taken it, that it refuses it, or it ends. */
  giveConnection(listener: Listener, connection: Socket): void
}

export class SharedListener {
  readonly #name: Listener
  readonly #servers: readonly Server[]
  /** The address with the port that was bound. */
  readonly address: string
  readonly #waiting: Socket[] = []
  readonly #receivers = new Set<Receiver>()
  /** The receivers that can take a connection now. The first one is next. */
  readonly #free = new Set<Receiver>()
  /** The connection that each of the other receivers got and has not confirmed. */
  readonly #given = new Map<Receiver, Socket>()
  #closing = false

  /**
   * @param access who may connect to a Unix socket; default: the user and the group of this process
   * @throws Error if the address is in use, or cannot be bound
   */
  static async open(name: Listener, address: string, access?: SocketAccess): Promise<SharedListener> {
    // A connection is not read until a worker has it.
    const newServer = () =>
      Object.assign(createServer({ pauseOnConnect: true }), { maxConnections: WAITING_MAX })
    const { servers, bound } = await listenOn(name, address, newServer, access)
    return new SharedListener(name, servers, bound)
  }

  private constructor(name: Listener, servers: readonly Server[], address: string) {
    this.#name = name
    this.#servers = servers
    this.address = address
    for (const server of servers)
      server.on('connection', (connection) => {
        connection.on('error', () => {})
        this.#waiting.push(connection)
        this.#handOut()
      })
  }

  add(receiver: Receiver): void {
    this.#receivers.add(receiver)
    this.#free.add(receiver)
    this.#handOut()
  }

  /** The receiver has the connection that it was given. */
  taken(receiver: Receiver): void {
    this.#given.get(receiver)?.destroy()
    this.#given.delete(receiver)
    if (this.#receivers.has(receiver)) this.#free.add(receiver)
    this.#handOut()
  }

  /**
   * The receiver has ended or takes no further connections. An unconfirmed connection goes to another one.
   */
  remove(receiver: Receiver): void {
    this.#receivers.delete(receiver)
    this.#free.delete(receiver)
    const given = this.#given.get(receiver)
    this.#given.delete(receiver)
    if (given !== undefined) this.#waiting.unshift(given)
    this.#handOut()
    this.#closeIfUnused()
  }

  /** Closes the address as soon as no receiver takes connections from it. */
  closeWhenUnused(): void {
    this.#closing = true
    this.#closeIfUnused()
  }

  #handOut(): void {
    for (const receiver of this.#free) {
      const connection = this.#waiting.shift()
      if (connection === undefined) return
      this.#free.delete(receiver)
      this.#given.set(receiver, connection)
      receiver.giveConnection(this.#name, connection)
    }
  }

  #closeIfUnused(): void {
    if (!this.#closing || this.#receivers.size > 0) return
    for (const server of this.#servers) server.close()
    for (const connection of this.#waiting.splice(0)) connection.destroy()
  }
}
