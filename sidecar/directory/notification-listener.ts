/**
 * Receives PostgreSQL's notification of every change by any process. It has its own connection, and
 * reconnects.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, QueryConfig } from 'pg'
import { LAST_CHANGE_KNOWN, lastChangeOf } from './last-change.ts'
import { ServerClient, type Servers } from './postgres-servers.ts'

export interface ChangeWatcher {
  /** A notification of a change. */
  notified(payload: string): void
  /** Notifications began to arrive (`on`) or ceased. Those of before it began were missed. */
  listening(on: boolean): void
}

/** Time between two questions to the server whether it still answers, in milliseconds. */
const HEARTBEAT_MS = 5_000

/** The pause before the first reconnection. It doubles with each failure up to the maximum. */
const RETRY_MS = 100
const RETRY_MS_MAX = 5_000

export class ChangeListener {
  readonly #servers: Servers
  readonly #channel: string
  readonly #watcher: ChangeWatcher
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #client: Client | undefined
  /** The last position that the watcher received. */
  #told: boolean | undefined

  constructor(servers: Servers, channel: string, watcher: ChangeWatcher) {
    this.#servers = servers
    this.#channel = channel
    this.#watcher = watcher
  }

  /**
   * Resolves after the first attempt to listen, whether it succeeded or failed. After a failure the attempts
   * continue.
   */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#running = this.#run(resolve)
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#disconnect()
    await this.#running
  }

  async #run(onAttempt: () => void): Promise<void> {
    const { signal } = this.#stop
    for (let failures = 0; !signal.aborted; failures++) {
      if (await this.#listen(onAttempt)) failures = 0
      onAttempt()
      // With jitter, so that not all processes reconnect at the same moment when the server is back.
      const pauseMs = Math.min(RETRY_MS * 2 ** failures, RETRY_MS_MAX) * (0.5 + Math.random() / 2)
      await delay(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Listens until the connection is lost. Returns whether it listened at all. */
  async #listen(onListening: () => void): Promise<boolean> {
    const watcher = this.#watcher
    const client = new ServerClient(this.#servers, 'portcullis listener')
    this.#client = client
    const disconnected = new Promise<void>((resolve) => {
      client.once('end', resolve)
    })
    client.on('notification', ({ payload = '' }) => watcher.notified(payload))
    // `#run` pauses after a failure, and tries again.
    const listening = await this.#begin(client).catch(() => false)
    if (listening) {
      this.#tell(true)
      onListening()
      // A server that hangs, or a network that drops packets, would close nothing for a long time.
      const heartbeat = setInterval(() => {
        client.query('SELECT 1').catch(() => client.connection.stream.destroy())
      }, HEARTBEAT_MS).unref()
      await disconnected
      clearInterval(heartbeat)
    }
    this.#disconnect()
    if (!this.#stop.signal.aborted) this.#tell(false)
    return listening
  }

  async #begin(client: ServerClient): Promise<true> {
    await client.connect()
    await client.query(`LISTEN ${this.#channel}`)
    const { rows } = await client.query<{ change: string }>(LAST_CHANGE_KNOWN)
    const last = lastChangeOf(rows[0]?.change)
    if (last !== undefined) this.#servers.known.note(last)
    return true
  }

  #tell(on: boolean): void {
    if (on === this.#told) return
    this.#told = on
    this.#watcher.listening(on)
  }

  /** Asks on this connection, which no query of a client waits for; `undefined`: there is none. */
  ask(statement: QueryConfig): Promise<Record<string, unknown>[]> | undefined {
    if (this.#told !== true) return undefined
    return this.#client?.query<Record<string, unknown>>(statement).then(({ rows }) => rows)
  }

  /**
   * Closes the socket without the protocol's goodbye, because that would wait for a server that no longer
   * answers.
   */
  #disconnect(): void {
    this.#client?.connection.stream.destroy()
    this.#client = undefined
  }
}
