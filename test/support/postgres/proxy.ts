/** Stands between a host and PostgreSQL, and can do what networks do: cut connections, or go silent. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** How the connection of a listener introduces itself in its first message. */
const LISTENER = Buffer.from('application_name\0portcullis listener\0')

interface Pair {
  readonly near: Socket
  readonly far: Socket
  listener: boolean
  /** Whether the last bytes were the client's. */
  asking: boolean
  /** Nothing of it comes through any more. */
  lost: boolean
}

export class PostgresProxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #listenersRefused = false
  #silent = false
  #lateMs = 0
  #roundTrips = 0
  #port: number

  private constructor(port: number) {
    this.#port = port
    this.#server = createServer((near) => this.#accept(near))
  }

  /** @param port of the server */
  static async start(port: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(port)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** How often clients have sent something after an answer, but for those that listen for changes. */
  get roundTrips(): number {
    return this.#roundTrips
  }

  /** Cuts the connections that listen for changes, and lets no other begin, until the next call. */
  refuseListeners(refused: boolean): void {
    this.#listenersRefused = refused
    if (refused) for (const pair of this.#pairs) if (pair.listener) cut(pair)
  }

  /**
   * Nothing comes through any more, without a notice; connections that are there stay open. Bytes from
   * meanwhile come through when the silence ends, as TCP would send them again.
   */
  goSilent(silent: boolean): void {
    this.#silent = silent
    for (const { near, far } of this.#pairs)
      for (const side of [near, far]) silent ? side.pause() : side.resume()
  }

  /** From now on everything takes this long to come through, in milliseconds, in each direction. */
  beLate(ms: number): void {
    this.#lateMs = ms
  }

  /**
   * Leads to another server from now on. Connections that are there stay open, and nothing of them comes
   * through any more: the machine behind them is gone, or a firewall has forgotten them.
   */
  moveTo(port: number): void {
    this.#port = port
    for (const pair of this.#pairs) pair.lost = true
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) cut(pair)
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(near: Socket): void {
    const pair: Pair = {
      ...{ near, far: connect(this.#port, '127.0.0.1') },
      ...{ listener: false, asking: false, lost: false },
    }
    this.#pairs.add(pair)
    near.once('data', (first) => {
      pair.listener = first.includes(LISTENER)
      if (pair.listener && this.#listenersRefused) cut(pair)
    })
    for (const [from, to] of [
      [near, pair.far],
      [pair.far, near],
    ] as const) {
      let arrivesMs = 0
      const write = (bytes: Buffer) => {
        if (!pair.lost && !to.destroyed) to.write(bytes)
      }
      from.on('data', (bytes) => {
        if (from === near && !pair.asking && !pair.listener) this.#roundTrips++
        pair.asking = from === near
        // Later bytes do not overtake it.
        arrivesMs = Math.max(arrivesMs, Date.now() + this.#lateMs)
        const waitMs = arrivesMs - Date.now()
        if (waitMs <= 0) write(bytes)
        else setTimeout(() => write(bytes), waitMs)
      })
      if (this.#silent) from.pause()
      from.on('error', () => {})
      from.on('close', () => {
        // The client gets no notice when a connection that is lost ends.
        if (pair.lost && from !== near) return
        to.destroy()
        this.#pairs.delete(pair)
      })
    }
  }
}

function cut({ near, far }: Pair): void {
  near.destroy()
  far.destroy()
}
