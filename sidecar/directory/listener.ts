/** Hears of every change that any process makes, on a connection of its own that is made again when it is lost. */
import { setTimeout as delay } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'

export interface ChangeWatcher {
  /** Something changed, or may have changed unheard. What was read before this may no longer hold. */
  changed(): void
  /** Whether changes of other processes are heard of now. */
  listening(on: boolean): void
}

const RETRY_MS = 100
const RETRY_MS_MAX = 5_000

export class ChangeListener {
  readonly #connection: ClientConfig
  readonly #channel: string
  readonly #watcher: ChangeWatcher
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #client: Client | undefined

  constructor(connection: ClientConfig, channel: string, watcher: ChangeWatcher) {
    this.#connection = connection
    this.#channel = channel
    this.#watcher = watcher
  }

  /** Resolves when the first attempt has come to something or to nothing; it goes on either way. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#running = this.#run(resolve)
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#cut()
    await this.#running
  }

  async #run(tried: () => void): Promise<void> {
    const { signal } = this.#stop
    for (let failures = 0; !signal.aborted; failures++) {
      if (await this.#listen(tried)) failures = 0
      tried()
      // With jitter: the processes of a directory that comes back do not all come at once.
      const pauseMs = Math.min(RETRY_MS * 2 ** failures, RETRY_MS_MAX) * (0.5 + Math.random() / 2)
      await delay(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Listens until the connection is lost; returns whether it had been there. */
  async #listen(heard: () => void): Promise<boolean> {
    const watcher = this.#watcher
    let listening = false
    try {
      const client = new Client(this.#connection)
      this.#client = client
      const lost = new Promise<void>((resolve) => {
        client.once('end', resolve)
      })
      // The end follows; an error that nobody listens for would end the process.
      client.on('error', () => {})
      client.on('notification', () => watcher.changed())
      await client.connect()
      await client.query(`LISTEN ${this.#channel}`)
      listening = true
      // What changed while nobody listened was not heard.
      watcher.changed()
      watcher.listening(true)
      heard()
      await lost
    } catch {
      // The pause and the next attempt are all there is to do.
    }
    this.#cut()
    if (listening && !this.#stop.signal.aborted) watcher.listening(false)
    return listening
  }

  /** Without a goodbye: a server that went silent would be waited for. */
  #cut(): void {
    this.#client?.connection.stream.destroy()
    this.#client = undefined
  }
}
