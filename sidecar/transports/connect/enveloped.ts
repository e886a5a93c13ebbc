/** Calls whose messages stand in envelopes: the streams of Connect, and every call of gRPC-Web. */
import { callError } from '../../base/call-error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { discard } from '../../base/net/linger.ts'
import { SHORT_BYTES } from '../../base/turns.ts'
import { type CallStatus, type Method, STATUS, StatusError } from '../../contract/call.ts'
import { LATE } from '../faults.ts'
import { MessageBuffer } from '../framed-messages.ts'
import { timeoutMs } from '../grpc-fields.ts'
import { LiveCall } from '../live-call.ts'
import { Base64Decoder } from './base64.ts'
import { connectEnd, envelope, grpcWebEnd } from './connect-status.ts'
import {
  atDeadline,
  awaitReader,
  bytesMaxOf,
  connectTimeoutOf,
  type Exchange,
  expectVersion,
  HttpContext,
  isGzip,
  OVERLOADED,
  requestOf,
  type Settings,
} from './exchange.ts'
import type { Form } from './form.ts'
import type { JsonCodec } from './json-codec.ts'

/** Above this number of bytes of waiting requests, none are read. */
const WAITING_BYTES_MAX = 65_536

export class EnvelopedCall extends LiveCall {
  readonly #exchange: Exchange
  readonly #form: Form
  readonly #json: JsonCodec | undefined
  readonly #settings: Settings
  readonly #base64: Base64Decoder | undefined
  #buffer: MessageBuffer
  #ended = false
  /** Bytes of requests that count in the budget. */
  #held = 0
  #stopTimer: (() => void) | undefined
  #restTimer: NodeJS.Timeout | undefined
  /** Stops the wait for a client that does not read its answers. */
  #readerStops: (() => void) | undefined
  protected readonly incomplete = INCOMPLETE

  constructor(
    exchange: Exchange,
    method: Method,
    form: Form,
    json: JsonCodec | undefined,
    settings: Settings,
  ) {
    super(method, new HttpContext(exchange), settings.statusOf)
    this.#exchange = exchange
    this.#form = form
    this.#json = json
    this.#settings = settings
    this.#buffer = new MessageBuffer(bytesMaxOf(settings, json), false)
    this.#base64 = form.base64 ? new Base64Decoder() : undefined
  }

  /** Reads the header fields, and then the body. */
  open(): void {
    this.#exchange.response.once('close', () => {
      this.#readerStops?.()
      this.ended()
    })
    this.attempt(() => {
      this.#readHead()
      const looking = this.method.admit?.(this.context)
      if (looking === undefined) this.#read()
      else
        looking.then(
          () => this.attempt(() => this.#read()),
          (error) => this.fail(error),
        )
    })
  }

  /** Until here nothing was read of the body. */
  #read(): void {
    const { request, response, mayLast } = this.#exchange
    if (this.method.type === 'bidi') mayLast()
    request.on('data', (part: Buffer) => this.attempt(() => this.#push(part)))
    request.once('end', () =>
      this.attempt(() => {
        this.#base64?.end()
        this.#ended = true
        this.take()
      }),
    )
    response.on('drain', () => {
      this.#readerStops?.()
      this.#readerStops = undefined
      this.take()
    })
    this.begin()
  }

  /** @throws StatusError */
  #readHead(): void {
    const { request } = this.#exchange
    const isConnect = this.#form.protocol === 'connect'
    if (isConnect) expectVersion(request)
    const timeout = isConnect ? connectTimeoutOf(request) : grpcTimeoutOf(request.headers['grpc-timeout'])
    this.#stopTimer = atDeadline(timeout, (error) => this.fail(error))
    const gzip = isGzip(request, isConnect ? 'connect-content-encoding' : 'grpc-encoding')
    if (gzip) this.#buffer = new MessageBuffer(bytesMaxOf(this.#settings, this.#json), true)
  }

  #push(part: Buffer): void {
    const bytes = this.#base64?.decode(part) ?? part
    this.#hold(this.#held + bytes.length)
    this.#buffer.push(bytes, 0, bytes.length)
    if (this.#settings.budget.exhausted) throw OVERLOADED
    this.take()
    if (this.#buffer.length > WAITING_BYTES_MAX && (this.working || !this.hasRoom()))
      this.#exchange.request.pause()
  }

  #hold(bytes: number): void {
    this.#settings.budget.bytes += bytes - this.#held
    this.#held = bytes
  }

  protected next(): MaybePromise<Buffer> | undefined {
    const message = this.#buffer.next()
    if (message === undefined) return undefined
    clearTimeout(this.#restTimer)
    this.#restTimer = undefined
    this.#hold(this.#buffer.length)
    return message instanceof Promise
      ? message.then((inflated) => this.#requestOf(inflated))
      : this.#requestOf(message)
  }

  #requestOf(bytes: Buffer): MaybePromise<Buffer> {
    const { turns, longBodies } = this.#settings
    const { connection } = this.context
    const read = () => requestOf(bytes, this.#json, { connection, turns, isOver: () => this.over })
    const request = this.#json !== undefined && bytes.length > SHORT_BYTES ? longBodies(read) : read()
    if (!(request instanceof Promise)) return request
    this.#hold(this.#buffer.length + bytes.length)
    return request.finally(() => this.#hold(this.over ? 0 : this.#buffer.length))
  }

  protected get partBytes(): number {
    return this.#buffer.length
  }

  protected get allHere(): boolean {
    return this.#ended
  }

  protected override awaitMore(): void {
    if (this.#buffer.length > 0)
      this.#restTimer ??= setTimeout(() => this.fail(LATE), this.#settings.requestMs)
    this.#exchange.request.resume()
  }

  /** A client that does not read its answers gets no further ones. */
  protected hasRoom(): boolean {
    return this.#readerStops === undefined
  }

  protected override complete(): void {
    if (this.method.type === 'server_stream') this.#exchange.mayLast()
  }

  protected override works(): void {}

  protected send(response: Buffer, first: boolean): void {
    this.#send(envelope(this.#json === undefined ? response : Buffer.from(this.#json.write(response))), first)
  }

  get unread(): boolean {
    return this.#exchange.response.writableLength > 0
  }

  /** The sidecar stops, and no longer waits for the call. */
  stop(): void {
    this.fail(callError('STOPPING', {}))
  }

  #send(bytes: Buffer, first: boolean): void {
    const { response, fields } = this.#exchange
    // A request that took too long has its answer.
    if (response.writableEnded || (first && response.headersSent)) return
    if (first) response.writeHead(200, [...fields, 'content-type', this.#form.contentType])
    const hasRoom = response.write(this.#form.base64 ? bytes.toString('base64') : bytes)
    if (!hasRoom) this.#awaitReader()
  }

  #awaitReader(): void {
    this.#readerStops ??= awaitReader(this.#exchange.response, this.#settings.readerMs)
  }

  protected close(status: CallStatus | undefined, first: boolean): void {
    const { request, response } = this.#exchange
    const { descriptors } = this.#settings
    const end = this.#form.protocol === 'connect' ? connectEnd(status, descriptors) : grpcWebEnd(status)
    this.#send(end, first)
    response.end()
    if (response.writableLength > 0) this.#awaitReader()
    // Further bytes of the client are not kept.
    discard(request)
  }

  protected override release(): void {
    this.#hold(0)
    this.#buffer.drop()
    this.#stopTimer?.()
    clearTimeout(this.#restTimer)
  }
}

const INCOMPLETE = new StatusError({
  code: STATUS.INVALID_ARGUMENT,
  message: 'the call ended within a message',
})

/** Milliseconds; no header: no deadline. @throws StatusError */
function grpcTimeoutOf(header: string | string[] | undefined): number {
  if (header === undefined) return Number.POSITIVE_INFINITY
  const parsed = timeoutMs(String(header))
  if (parsed !== undefined) return parsed
  throw new StatusError({
    code: STATUS.INVALID_ARGUMENT,
    message: 'grpc-timeout: expected up to eight digits and a unit of H, M, S, m, u, n',
  })
}
