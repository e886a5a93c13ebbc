/**
 * The line to a hub: the stream of what changes, and the questions. If the hub is lost, or says nothing, the
 * next one of the configuration takes its place. Questions go to the hub of the stream, so that its answers
 * and its positions are of one directory.
 */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import {
  ChannelCredentials,
  Client,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import { callError } from '../../base/call-error.ts'
import { FORWARDED_HEADER } from '../../base/forwarded-header.ts'
import type { Secret } from '../../base/secret.ts'
import { type Presented, RefusedElsewhere } from '../elsewhere.ts'
import { type HubChanges, WrongHub } from './hub-changes.ts'
import { readHubResponse, WATCH_CHANGES, watchChangesRequest } from './hub-messages.ts'

/** A hub sends a response at least every second. One that is silent for longer is left. */
const QUIET_MS_MAX = 2_000

/**
 * How long one stream is read. The clocks of two machines run apart by some milliseconds in that time; a new
 * stream compares them anew.
 */
const STREAM_MS_MAX = 600_000

/** Pause after all hubs have failed, in milliseconds: longer after each further time. */
const PAUSE_MS = 100
const PAUSE_MS_MAX = 2_000

/** Most bytes of a response: the rules of a large matrix. */
const RESPONSE_BYTES_MAX = 256 * 1024 * 1024

/** Files of TLS, as they are now. */
interface HubTls {
  readonly ca: Buffer
  readonly certificate: Buffer
  readonly key: Buffer
}

export interface HubLineOptions {
  /** `HOST:PORT` of each hub, in the order in which they are tried. */
  readonly addresses: readonly string[]
  /** Read for each connection, because certificates change; `undefined`: the hubs are on this machine. */
  readonly tls: () => HubTls | undefined
  /** The caller token; `undefined`: the client certificate says who calls. */
  readonly token: () => Secret | undefined
  /** How long a hub may take to answer, in milliseconds. */
  readonly timeoutMs: number
  readonly changes: HubChanges
  readonly onFollowing: (address: string, rulesDigest: string | undefined) => void
  /** The hub has said its rules: when it is followed, and when they have changed. */
  readonly onRules?: () => void
  readonly onLost: (address: string, error: Error) => void
}

export class HubLine {
  readonly #options: HubLineOptions
  readonly #stop = new AbortController()
  #client: Client | undefined
  #running: Promise<void> | undefined
  /** While the hubs are tried in turn: resolves when one is followed, or each has failed once. */
  #trying: PromiseWithResolvers<void> | undefined
  #index = 0

  constructor(options: HubLineOptions) {
    this.#options = options
  }

  /** Follows until `close`. Resolves when a hub is followed, or each has failed once. */
  async start(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running = this.#follow(resolve)
    await promise
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#tried()
    this.#client?.close()
    await this.#running
  }

  /**
   * Asks the hub that is followed, as this sidecar, and the next one if that hub is lost meanwhile: the
   * question must change nothing.
   *
   * @throws CallError `DIRECTORY_UNAVAILABLE`; RefusedElsewhere
   */
  async ask(path: string, request: Buffer): Promise<Buffer> {
    const client = this.#client
    try {
      return await this.#call(path, request, this.#metadata())
    } catch (error) {
      if (error instanceof RefusedElsewhere) throw error
      // The stream ends with the same connection, and may learn of it a moment later.
      await turn()
      await this.#trying?.promise
      if (this.#client === client) throw error
      return this.#call(path, request, this.#metadata())
    }
  }

  /**
   * Hands on the call of another one, with what it presents. It must not get the rights of this sidecar.
   *
   * @throws CallError `DIRECTORY_UNAVAILABLE`; RefusedElsewhere
   */
  forward(path: string, request: Buffer, presented: Presented): Promise<Buffer> {
    const metadata = new Metadata()
    for (const [name, values] of Object.entries(presented))
      for (const value of values) metadata.add(name, value)
    metadata.set(FORWARDED_HEADER, '1')
    return this.#call(path, request, metadata)
  }

  #call(path: string, request: Buffer, metadata: Metadata): Promise<Buffer> {
    const client = this.#client
    if (client === undefined) return Promise.reject(callError('DIRECTORY_UNAVAILABLE', {}))
    const deadline = Date.now() + this.#options.timeoutMs
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, unchanged, unchanged, request, metadata, { deadline }, (error, answer) =>
        error === null && answer !== undefined ? resolve(answer) : reject(refusalOf(error)),
      )
    })
  }

  async #follow(onReady: () => void): Promise<void> {
    const { addresses, onLost } = this.#options
    const { signal } = this.#stop
    for (let failed = 0; !signal.aborted; ) {
      const address = addresses[this.#index % addresses.length] as string
      let followed = false
      try {
        await this.#read(address, () => {
          followed = true
          failed = 0
          this.#tried()
          onReady()
        })
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof WrongHub) this.#distrust()
        if (followed) this.#trying = Promise.withResolvers()
        onLost(address, error as Error)
        this.#index++
        if (!followed && ++failed % addresses.length === 0) {
          this.#tried()
          onReady()
          const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (failed / addresses.length - 1))
          await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {})
        }
      }
    }
  }

  #tried(): void {
    this.#trying?.resolve()
    this.#trying = undefined
  }

  /** Neither what it said counts, nor what it would answer. */
  #distrust(): void {
    this.#options.changes.distrust()
    this.#client?.close()
    this.#client = undefined
  }

  /** Reads one stream. Resolves when it was read for long enough. */
  async #read(address: string, onFirst: () => void): Promise<void> {
    const { changes, tls, onFollowing, onRules } = this.#options
    const client = new Client(address, credentialsOf(tls()), {
      'grpc.max_receive_message_length': RESPONSE_BYTES_MAX,
      // Each worker, and each stream after a failure, has a connection of its own.
      'grpc.use_local_subchannel_pool': 1,
    })
    const earlier = this.#client
    changes.begin()
    const stream: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
      WATCH_CHANGES,
      unchanged,
      unchanged,
      watchChangesRequest(changes.followed?.position, changes.basis),
      this.#metadata(),
    )
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let quiet = setTimeout(() => reject(new Error('it does not answer')), this.#options.timeoutMs)
    const enough = setTimeout(resolve, STREAM_MS_MAX).unref()
    const stop = () => reject(new Error('closed'))
    this.#stop.signal.addEventListener('abort', stop, { once: true })
    stream.on('data', (bytes: Buffer) => {
      try {
        const response = readHubResponse(bytes)
        changes.hear(response)
        clearTimeout(quiet)
        quiet = setTimeout(() => reject(new Error('it says nothing any more')), QUIET_MS_MAX)
        if (this.#client !== client) {
          // From now on questions go here.
          this.#client = client
          earlier?.close()
          onFirst()
          onFollowing(address, response.rulesDigest)
        }
        if (response.rulesDigest !== undefined) onRules?.()
      } catch (error) {
        reject(error)
      }
    })
    stream.on('error', reject)
    stream.on('end', () => reject(new Error('it has ended the stream')))
    try {
      await promise
    } finally {
      clearTimeout(quiet)
      clearTimeout(enough)
      this.#stop.signal.removeEventListener('abort', stop)
      stream.on('error', () => {}).cancel()
      if (this.#client !== client) client.close()
    }
  }

  #metadata(): Metadata {
    const metadata = new Metadata()
    const token = this.#options.token()
    if (token !== undefined) metadata.set('authorization', `Bearer ${token.reveal()}`)
    return metadata
  }
}

/** An error that comes from the hub has details; any other says that the hub does not answer. */
function refusalOf(error: ServiceError | null): Error {
  const [details] = error?.metadata.get('grpc-status-details-bin') ?? []
  if (error === null || !Buffer.isBuffer(details))
    return callError('DIRECTORY_UNAVAILABLE', {}, { cause: error ?? undefined })
  return new RefusedElsewhere(error.code, error.details, details)
}

function credentialsOf(tls: HubTls | undefined): ChannelCredentials {
  return tls === undefined
    ? ChannelCredentials.createInsecure()
    : ChannelCredentials.createSsl(tls.ca, tls.key, tls.certificate)
}

function unchanged(bytes: Buffer): Buffer {
  return bytes
}
