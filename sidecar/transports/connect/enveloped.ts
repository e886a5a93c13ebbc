/** Calls whose messages stand in envelopes: the streams of Connect, and every call of gRPC-Web. */
import { callError } from '../../base/call-error.ts'
import {
  type CallContext,
  type CallStatus,
  type Method,
  type Requests,
  type Responses,
  STATUS,
  StatusError,
} from '../../contract/call.ts'
import { LATE, NOT_ONE_MESSAGE } from '../../contract/faults.ts'
import { MessageBuffer } from '../sockets/messages.ts'
import { timeoutMs } from '../sockets/text.ts'
import { Base64Decoder } from './base64.ts'
import {
  atDeadline,
  awaitReader,
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
import type { JsonCodec } from './json.ts'
import { connectEnd, envelope, grpcWebEnd } from './status.ts'

/** With so many bytes of requests that wait, no more are read. */
const WAITING_BYTES_MAX = 65_536

export class EnvelopedCall implements Responses {
  readonly #exchange: Exchange
  readonly #method: Method
  readonly #form: Form
  readonly #json: JsonCodec | undefined
  readonly #settings: Settings
  readonly #context: CallContext
  readonly #endListeners: (() => void)[] = []
  #buffer: MessageBuffer
  #base64: Base64Decoder | undefined
  /** What takes the requests of a stream. */
  #requests: Requests | undefined
  /** The request of a call that has one. */
  #request: Buffer | undefined
  /** Whether a message is being read, or a handler works on one. */
  #working = false
  #allHere = false
  /** Whether the handler knows that no more requests come. */
  #ending = false
  #begun = false
  #over = false
  /** Bytes of requests that count in the budget. */
  #held = 0
  #stopTimer: (() => void) | undefined
  #restTimer: NodeJS.Timeout | undefined
  /** Stops the wait for a client that does not read its answers. */
  #readerStops: (() => void) | undefined

  constructor(
    exchange: Exchange,
    method: Method,
    form: Form,
    json: JsonCodec | undefined,
    settings: Settings,
  ) {
    this.#exchange = exchange
    this.#method = method
    this.#form = form
    this.#json = json
    this.#settings = settings
    this.#context = new HttpContext(exchange)
    this.#buffer = new MessageBuffer(settings.maxMessageBytes, false)
    if (form.base64) this.#base64 = new Base64Decoder()
  }

  begin(): void {
    const { response } = this.#exchange
    response.once('close', () => {
      this.#readerStops?.()
      this.#end()
    })
    this.#attempt(() => {
      this.#readHead()
      const looking = this.#method.admit?.(this.#context)
      if (looking === undefined) this.#read()
      else
        looking.then(
          () => this.#attempt(() => this.#read()),
          (error) => this.fail(error),
        )
    })
  }

  /** Until here nothing was read of the body. */
  #read(): void {
    const { request, response, mayLast } = this.#exchange
    if (this.#method.type === 'bidi') {
      mayLast()
      this.#requests = this.#method.handle(this, this.#context)
    }
    request.on('data', (part: Buffer) => this.#attempt(() => this.#push(part)))
    request.once('end', () =>
      this.#attempt(() => {
        this.#base64?.end()
        this.#allHere = true
        this.#take()
      }),
    )
    response.on('drain', () => {
      this.#readerStops?.()
      this.#readerStops = undefined
      this.#attempt(() => this.#take())
    })
  }

  /** @throws StatusError */
  #readHead(): void {
    const { request } = this.#exchange
    const isConnect = this.#form.protocol === 'connect'
    if (isConnect) expectVersion(request)
    const timeout = isConnect ? connectTimeoutOf(request) : grpcTimeoutOf(request.headers['grpc-timeout'])
    this.#stopTimer = atDeadline(timeout, (error) => this.fail(error))
    const gzip = isGzip(request, isConnect ? 'connect-content-encoding' : 'grpc-encoding')
    if (gzip) this.#buffer = new MessageBuffer(this.#settings.maxMessageBytes, true)
  }

  #push(part: Buffer): void {
    if (this.#over) return
    const bytes = this.#base64?.decode(part) ?? part
    this.#hold(this.#held + bytes.length)
    this.#buffer.push(bytes, 0, bytes.length)
    if (this.#settings.budget.exhausted) throw OVERLOADED
    this.#take()
    if (this.#buffer.length > WAITING_BYTES_MAX && (this.#working || this.#readerStops !== undefined))
      this.#exchange.request.pause()
  }

  #hold(bytes: number): void {
    this.#settings.budget.bytes += bytes - this.#held
    this.#held = bytes
  }

  /** Takes what is complete. */
  #take(): void {
    while (!this.#over && !this.#working && !this.#ending) {
      // A client that does not read its answers gets no more of them.
      if (this.#readerStops !== undefined) return
      const message = this.#buffer.next()
      if (message === undefined) {
        this.#awaitMore()
        return
      }
      clearTimeout(this.#restTimer)
      this.#restTimer = undefined
      this.#hold(this.#buffer.length)
      if (message instanceof Promise) this.#work(message.then((inflated) => this.#next(inflated)))
      else {
        const work = this.#next(message)
        if (work instanceof Promise) this.#work(work)
      }
    }
  }

  #next(bytes: Buffer): void | Promise<void> {
    if (this.#over) return
    const message = requestOf(bytes, this.#json, this.#context.connection, this.#settings.turns)
    if (!(message instanceof Promise)) return this.#handle(message)
    this.#hold(this.#buffer.length + bytes.length)
    return message.then((request) => {
      this.#hold(this.#buffer.length)
      return this.#handle(request)
    })
  }

  #handle(message: Buffer): void | Promise<void> {
    if (this.#over) return
    if (this.#requests !== undefined) return this.#requests.next(message)
    if (this.#request !== undefined) throw NOT_ONE_MESSAGE
    this.#request = message
  }

  #work(work: Promise<void>): void {
    this.#working = true
    work.then(
      () => {
        this.#working = false
        this.#attempt(() => this.#take())
      },
      (error) => this.fail(error),
    )
  }

  /** Every message that is complete was taken. */
  #awaitMore(): void {
    if (!this.#allHere) {
      if (this.#buffer.length > 0)
        this.#restTimer ??= setTimeout(() => this.fail(LATE), this.#settings.requestMs)
      this.#exchange.request.resume()
      return
    }
    if (this.#buffer.length > 0) throw INCOMPLETE
    this.#ending = true
    if (this.#requests !== undefined) this.#finish(this.#requests.end())
    else if (this.#request === undefined) throw NOT_ONE_MESSAGE
    else this.#run(this.#request)
  }

  /** The call has its only request. */
  #run(request: Buffer): void {
    const { type, handle } = this.#method
    if (type === 'bidi') return
    if (type === 'server_stream') {
      this.#exchange.mayLast()
      handle(request, this, this.#context)
      return
    }
    const answer = handle(request, this.#context)
    if (answer instanceof Promise) this.#finish(answer.then((response) => this.#answer(response)))
    else this.#answer(answer)
  }

  #finish(work: void | Promise<void>): void {
    if (work instanceof Promise) work.catch((error) => this.fail(error))
  }

  #answer(response: Buffer): void {
    this.write(response)
    this.end()
  }

  write(response: Buffer): void {
    // A handler may write at any time, and knows nothing of JSON.
    this.#attempt(() =>
      this.#send(envelope(this.#json === undefined ? response : Buffer.from(this.#json.write(response)))),
    )
  }

  get unread(): boolean {
    return this.#exchange.response.writableLength > 0
  }

  end(): void {
    this.#close(undefined)
  }

  fail(error: unknown): void {
    // What is thrown is logged, also when nobody waits for it any more.
    this.#close(this.#settings.statusOf(error, this.#context))
  }

  onEnd(listener: () => void): void {
    if (this.#over) listener()
    else this.#endListeners.push(listener)
  }

  /** The sidecar stops, and does not wait for the call any more. */
  stop(): void {
    this.fail(callError('STOPPING', {}))
  }

  #send(bytes: Buffer): void {
    const { response, headers } = this.#exchange
    // A request that took too long has its answer.
    if (!this.#begun && response.headersSent) return
    if (!this.#begun) response.writeHead(200, { ...headers, 'content-type': this.#form.contentType })
    this.#begun = true
    const hasRoom = response.write(this.#form.base64 ? bytes.toString('base64') : bytes)
    if (!hasRoom) this.#readerStops ??= awaitReader(response, this.#settings.readerMs)
  }

  #close(status: CallStatus | undefined): void {
    if (this.#over) return
    const { request, response } = this.#exchange
    const { descriptors } = this.#settings
    this.#send(this.#form.protocol === 'connect' ? connectEnd(status, descriptors) : grpcWebEnd(status))
    response.end()
    if (response.writableLength > 0) this.#readerStops ??= awaitReader(response, this.#settings.readerMs)
    // What the client still sends is not kept.
    request.resume()
    this.#end()
  }

  /** The call is over, whoever ended it. */
  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#hold(0)
    this.#buffer.drop()
    this.#stopTimer?.()
    clearTimeout(this.#restTimer)
    for (const listener of this.#endListeners.splice(0)) listener()
  }

  #attempt(work: () => void): void {
    if (this.#over) return
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
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
