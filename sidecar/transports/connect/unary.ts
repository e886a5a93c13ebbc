/**
 * Connect's call with one message: the body is the request, and the answer is the response or an error in
 * JSON.
 */
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { discard } from '../../base/net/linger.ts'
import { SHORT_BYTES } from '../../base/turns.ts'
import { type CallStatus, type Method, STATUS } from '../../contract/call.ts'
import { inflated, tooLarge } from '../framed-messages.ts'
import { errorOf, httpStatusOf } from './connect-status.ts'
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

/** @param json of the method, where messages are JSON */
export function answerUnary(
  exchange: Exchange,
  method: UnaryCallMethod,
  form: Form,
  json: JsonCodec | undefined,
  settings: Settings,
): void {
  new ConnectUnary(exchange, method, form, json, settings).begin()
}

type UnaryCallMethod = Extract<Method, { readonly type: 'unary' }>

class ConnectUnary {
  readonly #exchange: Exchange
  readonly #context: HttpContext
  readonly #method: UnaryCallMethod
  readonly #form: Form
  readonly #json: JsonCodec | undefined
  readonly #settings: Settings
  readonly #bytesMax: number
  readonly #parts: Buffer[] = []
  /** Bytes of the body that have arrived. */
  #bytes = 0
  #gzip = false
  #over = false
  #timeoutMs = Number.POSITIVE_INFINITY
  #stopTimer: (() => void) | undefined

  constructor(
    exchange: Exchange,
    method: UnaryCallMethod,
    form: Form,
    json: JsonCodec | undefined,
    settings: Settings,
  ) {
    this.#exchange = exchange
    this.#context = new HttpContext(exchange)
    this.#method = method
    this.#form = form
    this.#json = json
    this.#settings = settings
    this.#bytesMax = bytesMaxOf(settings, json)
  }

  begin(): void {
    const { request, response } = this.#exchange
    // The client is gone, or the answer is complete.
    response.once('close', () => this.#end())
    try {
      expectVersion(request)
      this.#timeoutMs = connectTimeoutOf(request)
      this.#gzip = isGzip(request, 'content-encoding')
      const looking = this.#method.admit?.(this.#context)
      if (looking === undefined) this.#read()
      else
        looking.then(
          () => this.#read(),
          (error) => this.#fail(error),
        )
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Until here nothing was read of the body. */
  #read(): void {
    if (this.#over) return
    const { request } = this.#exchange
    if (Number(request.headers['content-length'] ?? 0) > this.#bytesMax) {
      this.#fail(tooLarge(this.#bytesMax))
      return
    }
    request.on('data', (part: Buffer) => this.#take(part))
    request.once('end', () => this.#run())
  }

  #take(part: Buffer): void {
    if (this.#over) return
    const { budget } = this.#settings
    this.#bytes += part.length
    budget.bytes += part.length
    if (this.#bytes > this.#bytesMax) this.#fail(tooLarge(this.#bytesMax))
    else if (budget.exhausted) this.#fail(OVERLOADED)
    else this.#parts.push(part)
  }

  #run(): void {
    if (this.#over) return
    if (this.#json !== undefined && (this.#gzip || this.#bytes > SHORT_BYTES))
      void this.#settings.longBodies(() => this.#work())
    else this.#work()
  }

  #work(): MaybePromise<void> {
    if (this.#over) return
    const body = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts)
    this.#parts.length = 0
    if (!this.#gzip) return this.#answer(body)
    return inflated(body, this.#bytesMax, STATUS.INVALID_ARGUMENT).then(
      (message) => this.#answer(message),
      (error) => this.#fail(error),
    )
  }

  #answer(body: Buffer): MaybePromise<void> {
    if (this.#over) return
    try {
      const message = requestOf(body, this.#json, {
        connection: this.#context.connection,
        turns: this.#settings.turns,
        isOver: () => this.#over,
      })
      const result = andThen(message, (request) => this.#method.handle(request, this.#context))
      if (result instanceof Promise) return this.#wait(result)
      this.#succeed(result)
    } catch (error) {
      this.#fail(error)
    }
  }

  #wait(result: Promise<Buffer>): Promise<void> {
    this.#stopTimer = atDeadline(this.#timeoutMs, (error) => this.#fail(error))
    return result.then((response) => this.#succeed(response)).catch((error) => this.#fail(error))
  }

  #succeed(response: Buffer): void {
    if (this.#over) return
    const body = this.#json === undefined ? response : this.#json.write(response)
    send(this.#exchange, 200, this.#form.contentType, body, this.#settings.readerMs)
    this.#end()
  }

  #fail(error: unknown): void {
    // A thrown error is logged, even if the client no longer waits.
    const status = this.#settings.statusOf(error, this.#context)
    if (this.#over) return
    sendError(this.#exchange, status, this.#settings)
    this.#end()
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#settings.budget.bytes -= this.#bytes
    this.#stopTimer?.()
  }
}

function send(
  { response, fields }: Exchange,
  status: number,
  contentType: string,
  body: Buffer | string,
  readerMs: number,
): void {
  // A request that took too long has its answer, and Node throws where it gets another one.
  if (response.headersSent) return
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  response.writeHead(status, [...fields, 'content-type', contentType, 'content-length', String(length)])
  // Node sends a text together with the header fields, in one write.
  response.end(body)
  if (response.writableLength > 0) response.once('close', awaitReader(response, readerMs))
}

/** Answers with an error of Connect. Further bytes of the client are not kept. */
export function sendError(
  exchange: Exchange,
  status: CallStatus,
  { descriptors, readerMs }: Settings,
  http = httpStatusOf(status),
): void {
  const more = status.code === STATUS.UNAUTHENTICATED ? ['www-authenticate', 'Bearer'] : []
  const body = JSON.stringify(errorOf(status, descriptors))
  send(leaving(exchange, more), http, 'application/json', body, readerMs)
}

/** Refuses a request before it is a call of any protocol: the status is all that clients know of it. */
export function refuse(
  exchange: Exchange,
  http: number,
  message: string,
  { readerMs }: Settings,
  more: readonly string[] = [],
): void {
  send(leaving(exchange, more), http, 'text/plain', `${message}\n`, readerMs)
}

/** The exchange without the rest of its request. */
function leaving(exchange: Exchange, more: readonly string[]): Exchange {
  const { request, fields } = exchange
  discard(request)
  // A client of HTTP/1.1 that is still sending cannot use its connection for another call.
  const last = !request.complete && request.httpVersionMajor === 1 ? ['connection', 'close'] : []
  return { ...exchange, fields: [...fields, ...last, ...more] }
}
