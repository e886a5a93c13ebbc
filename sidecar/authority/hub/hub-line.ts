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
import { isLoopback, parseAddress } from '../../base/address.ts'
import { callError } from '../../base/call-error.ts'
import { jumpsFromNow } from '../../base/clock.ts'
import { FORWARDED_HEADER, FORWARDER_HEADER } from '../../base/forwarded-header.ts'
import type { Secret } from '../../base/secret.ts'
import type { Position } from '../../directory/feed/touches.ts'
import { type Presented, RefusedElsewhere } from '../elsewhere.ts'
import { type HubChanges, isOfLostChanges, QUIET_MS_MAX, WrongHub } from './hub-changes.ts'
import {
  callErrorOf,
  isRulesPart,
  readAnswer,
  readHubResponse,
  WATCH_CHANGES,
  watchChangesRequest,
} from './hub-messages.ts'

/**
 * How long one stream is read. The clocks of two machines drift by some milliseconds in that time; a new
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
   * @throws CallError `DIRECTORY_UNAVAILABLE` or `DIRECTORY_CHANGES_LOST`. A hub's refusal of this sidecar
   * means nothing for the caller of the call.
   */
  async ask<T>(path: string, request: Buffer, read: (bytes: Buffer) => T): Promise<T> {
    const client = this.#client
    const answer = () => this.#call(path, request, this.#metadata()).then((bytes) => readAnswer(bytes, read))
    try {
      return await answer()
    } catch (error) {
      // The stream ends with the same connection, and may learn of it a moment later.
      await turn()
      await this.#trying?.promise
      if (this.#client === client) throw this.#asOwn(error)
      return await answer().catch((later: unknown) => {
        throw this.#asOwn(later)
      })
    }
  }

  /** The error for a caller where the hub does not answer this sidecar. */
  #asOwn(error: unknown): unknown {
    const outage = this.#options.changes.outage()
    if (isOfLostChanges(outage)) return outage
    return error instanceof RefusedElsewhere
      ? callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
      : error
  }

  /**
   * Forwards the call of another one, with its secrets. It must not get the rights of this sidecar,
   * which only proves who forwards it.
   *
   * @throws CallError `DIRECTORY_UNAVAILABLE`; RefusedElsewhere, with what the hub says of that call
   */
  forward(path: string, request: Buffer, presented: Presented): Promise<Buffer> {
    const metadata = new Metadata()
    for (const [name, values] of Object.entries(presented))
      for (const value of values) metadata.add(name, value)
    if (presented[FORWARDED_HEADER] === undefined) metadata.set(FORWARDED_HEADER, '1')
    const token = this.#options.token()
    if (token !== undefined) metadata.set(FORWARDER_HEADER, `Bearer ${token.reveal()}`)
    return this.#call(path, request, metadata)
  }

  /**
   * Asks the hub that is followed whether it has a position, as if that were followed from there.
   *
   * @throws CallError `DIRECTORY_UNAVAILABLE`
   */
  has(position: Position): Promise<boolean> {
    const client = this.#client
    if (client === undefined) return Promise.reject(callError('DIRECTORY_UNAVAILABLE', {}))
    const deadline = Date.now() + this.#options.timeoutMs
    const request = watchChangesRequest(position, '')
    const stream: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
      ...[WATCH_CHANGES, unchanged, unchanged, request, this.#metadata(), { deadline }],
    )
    return new Promise<boolean>((resolve, reject) => {
      stream.once('data', () => resolve(true))
      stream.once('end', () => reject(callError('DIRECTORY_UNAVAILABLE', {})))
      stream.on('error', (error: ServiceError) => {
        if (isOfLostChanges(lossOr(error))) resolve(false)
        else reject(callError('DIRECTORY_UNAVAILABLE', {}, { cause: error }))
      })
    }).finally(() => stream.cancel())
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
    const { addresses, changes, onLost } = this.#options
    const { signal } = this.#stop
    let failures: unknown[] = []
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
        if (followed) continue
        failures = [...failures, error].slice(-addresses.length)
        if (++failed % addresses.length === 0) {
          changes.failed(failures)
          this.#tried()
          onReady()
          const longMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (failed / addresses.length - 1))
          // Not all of its followers come back to a hub at the same moment.
          const pauseMs = longMs * (0.5 + Math.random() / 2)
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
      // Otherwise the proxy of the environment gets what is for this machine, in plaintext.
      'grpc.enable_http_proxy': isThisMachine(address) ? 0 : 1,
      // Each worker, and each stream after a failure, has a separate connection.
      'grpc.use_local_subchannel_pool': 1,
    })
    const earlier = this.#client
    const hasJumped = jumpsFromNow()
    changes.begin()
    const stream: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
      WATCH_CHANGES,
      unchanged,
      unchanged,
      watchChangesRequest(changes.told, changes.followed === undefined ? '' : changes.basis),
      this.#metadata(),
    )
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let quiet = setTimeout(() => reject(new Error('it does not answer')), this.#options.timeoutMs)
    const enough = setTimeout(resolve, STREAM_MS_MAX).unref()
    const stop = () => reject(new Error('closed'))
    this.#stop.signal.addEventListener('abort', stop, { once: true })
    stream.on('data', (bytes: Buffer) => {
      try {
        const response = responseOf(bytes)
        if (response !== undefined) changes.hear(response)
        // The hub's times would count from a moment that is too long ago.
        if (hasJumped()) resolve()
        clearTimeout(quiet)
        quiet = setTimeout(() => reject(new Error('it says nothing any more')), QUIET_MS_MAX)
        if (response === undefined) return
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
    stream.on('error', (error: ServiceError) => reject(lossOr(error)))
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

/**
 * @returns undefined: a part of rules, which says nothing of changes
 * @throws WrongHub if these bytes are not a response: earlier answers of the hub may be as wrong
 */
function responseOf(bytes: Buffer): ReturnType<typeof readHubResponse> | undefined {
  try {
    return isRulesPart(bytes) ? undefined : readHubResponse(bytes)
  } catch (error) {
    throw new WrongHub((error as Error).message)
  }
}

/** The error of a stream: the error of the hub, or else that of the connection. */
function lossOr(error: ServiceError): Error {
  const refusal = refusalOf(error)
  return isOfLostChanges(refusal) || refusal instanceof RefusedElsewhere ? refusal : error
}

/** An error that comes from the hub has details; any other says that the hub does not answer. */
function refusalOf(error: ServiceError | null): Error {
  const [details] = error?.metadata.get('grpc-status-details-bin') ?? []
  if (error === null || !Buffer.isBuffer(details))
    return callError('DIRECTORY_UNAVAILABLE', {}, { cause: error ?? undefined })
  const said = callErrorOf(details, error.details)
  const { code, details: message } = error
  return isOfLostChanges(said) ? said : new RefusedElsewhere(said, { code, message, details })
}

function credentialsOf(tls: HubTls | undefined): ChannelCredentials {
  return tls === undefined
    ? ChannelCredentials.createInsecure()
    : ChannelCredentials.createSsl(tls.ca, tls.key, tls.certificate)
}

/** Any other hub has TLS. */
function isThisMachine(address: string): boolean {
  const parsed = parseAddress('directory.hub.addresses', address)
  return parsed.type === 'unix' || isLoopback(parsed.host)
}

function unchanged(bytes: Buffer): Buffer {
  return bytes
}
