/** A server of HTTP/2: counts the connections, and looks after all of them once in a while. */
import type { Duplex } from 'node:stream'
import { Budget } from '../../base/net/buffer-budget.ts'
import { ConnectionTable, connectionSource, type TableBound } from '../../base/net/connection-table.ts'
import { releaseMost } from '../../base/net/held-bytes.ts'
import type { Application, Peer } from './application.ts'
import { Connection, type ConnectionOwner } from './connection.ts'
import { FrameWriter } from './frame-writer.ts'
import { DEFAULT_LIMITS, type Limits } from './limits.ts'
import { BOUNDS, type Bound } from './protocol.ts'
import { Relief } from './relief.ts'
import { Schedule } from './schedule.ts'

export interface ServerOptions {
  readonly limits?: Partial<Limits>
  /** A bound was exceeded: the connection or the stream that did it is refused or ended. */
  readonly onExceeded?: (bound: Bound) => void
  /** A clock that only goes forward, in milliseconds. */
  readonly clock?: () => number
}

/** Time between two looks at all connections, in milliseconds. */
const TICK_MS = 250
const TICKS_A_SECOND = 4

export class Http2Server<Head> implements ConnectionOwner<Head> {
  readonly app: Application<Head>
  readonly limits: Limits
  readonly budget: Budget
  readonly schedule: Schedule
  readonly writer = new FrameWriter()
  /** How often each bound was exceeded. */
  readonly exceededCounts: Record<Bound, number>
  readonly #onExceeded: NonNullable<ServerOptions['onExceeded']>
  readonly #clock: () => number
  readonly #connections: ConnectionTable<Connection<Head>>
  readonly #onGivenWay = (bound: TableBound): void => this.exceeded(bound)
  #nowMs: number
  #ticks = 0
  readonly #relief = new Relief()
  #closing = false
  #releasing = false
  #timer: NodeJS.Timeout | undefined
  #whenEmpty: (() => void) | undefined

  constructor(app: Application<Head>, options: ServerOptions = {}) {
    this.app = app
    this.limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.budget = new Budget(this.limits.bufferBytes, () => this.#releaseLater())
    const { connections, connectionsPerAddress: connectionsPerSource } = this.limits
    this.#connections = new ConnectionTable({ connections, connectionsPerSource })
    this.exceededCounts = Object.fromEntries(BOUNDS.map((bound) => [bound, 0])) as Record<Bound, number>
    this.#onExceeded = options.onExceeded ?? (() => {})
    this.#clock = options.clock ?? (() => performance.now())
    this.schedule = new Schedule(this.limits, this.#clock)
    this.#nowMs = this.#clock()
  }

  /** The time as of the last tick, or of the last connection. */
  get nowMs(): number {
    return this.#nowMs
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Serves a connection, or closes it if there is no room for it. @param socket plain or with TLS */
  accept(socket: Duplex, peer: Peer): void {
    this.#nowMs = this.#clock()
    const bound = this.#connections.makeRoom(connectionSource(peer.address), this.#onGivenWay)
    if (bound !== undefined || this.#closing) {
      if (bound !== undefined) this.exceeded(bound)
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    this.#connections.add(new Connection(this, socket, peer))
    this.#timer ??= setInterval(() => this.tick(), TICK_MS).unref()
  }

  /**
   * Looks at everything that depends on time. The server does so by itself; tests with their own clock call
   * it.
   */
  tick(): void {
    this.#nowMs = this.#clock()
    const newSecond = ++this.#ticks % TICKS_A_SECOND === 0
    for (const connection of this.#connections) connection.tick(newSecond)
    this.#relief.relieve(this.#connections, this.#nowMs)
    this.#release()
  }

  /** Held bytes may be released only when no connection has its turn. */
  #releaseLater(): void {
    if (this.#releasing) return
    this.#releasing = true
    setImmediate(() => {
      this.#releasing = false
      this.#release()
    })
  }

  #release(): void {
    releaseMost(this.#connections, this.budget.bytes - this.limits.bufferBytes)
  }

  exceeded(bound: Bound): void {
    this.exceededCounts[bound]++
    this.#onExceeded(bound)
  }

  closed(connection: Connection<Head>): void {
    this.schedule.leave(connection)
    this.#connections.delete(connection)
    if (this.#connections.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#whenEmpty?.()
  }

  /** Lets streams end for up to `drainMs`, then closes the connections that are left. */
  async close(drainMs: number): Promise<void> {
    this.#closing = true
    if (this.#connections.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#whenEmpty = resolve
    for (const connection of this.#connections) connection.drain()
    const limit = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy()
    }, drainMs)
    await promise
    clearTimeout(limit)
  }
}
