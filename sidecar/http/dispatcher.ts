/**
 * The way of a request through the server: it is admitted, its body is read, and its route answers. Whatever
 * fails on that way is answered in one place.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpReply, HttpRequest } from '../base/http/exchange.ts'
import { type HttpRoutes, NO_SUCH_PATH } from '../base/http/http-routes.ts'
import type { IpAddress } from '../base/ip-address.ts'
import { hasBody } from '../base/net/http-connections.ts'
import type { TracedCall } from '../base/tracing.ts'
import type { Bounds } from './bounds.ts'
import { BadBody, BODY_BYTES_MAX } from './http-error.ts'

export interface Stages {
  readonly bounds: Bounds
  /** The address of the client. */
  readonly addressOf: (raw: IncomingMessage) => IpAddress | undefined
  readonly idOf: (raw: IncomingMessage) => string
  /** The header fields of every reply: names in small letters and values, in turn. */
  readonly fieldsOf: (id: string) => string[]
  /** Path and query, as routes are to see them. */
  readonly urlOf: (raw: IncomingMessage) => string
  /** Begins the span of a request; absent: there are no traces. */
  readonly trace?: ((request: HttpRequest, reply: HttpReply) => TracedCall | undefined) | undefined
  /** Whether a request may go on. One that may not is answered. */
  readonly admit: (request: HttpRequest, reply: HttpReply) => boolean
  /** Answers a request for which there is no route. */
  readonly unknown: (request: HttpRequest, reply: HttpReply) => void
  /** Answers a request whose path cannot be read. */
  readonly unreadable: (request: HttpRequest, reply: HttpReply) => void
  readonly fail: (error: unknown, request: HttpRequest, reply: HttpReply) => void
  /** Answers a request that comes while the server closes. */
  readonly leave: (request: HttpRequest, reply: HttpReply) => void
}

/** Methods whose bodies are not read. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

export class Dispatcher {
  readonly #routes: HttpRoutes
  readonly #stages: Stages
  #closing = false

  constructor(routes: HttpRoutes, stages: Stages) {
    this.#routes = routes
    this.#stages = stages
  }

  /** From now on requests are refused. */
  close(): void {
    this.#closing = true
  }

  /** Listens for the requests of a server. */
  readonly begin = (raw: IncomingMessage, response: ServerResponse): void => {
    const { urlOf, idOf, fieldsOf, addressOf, unreadable, trace, admit, bounds, leave } = this.#stages
    raw.url = urlOf(raw)
    const found = this.#routes.find(raw.method ?? '', raw.url)
    const id = idOf(raw)
    const [route, params] =
      found === undefined || found === 'unreadable' ? [undefined, {}] : [found.route, found.params]
    const request = new HttpRequest(raw, id, route, params, addressOf)
    const reply = new HttpReply(response, request, fieldsOf(id))
    this.#guard(request, reply, () => {
      if (found === 'unreadable') return void unreadable(request, reply)
      if (this.#closing) return void leave(request, reply)
      const call = trace?.(request, reply)
      if (!admit(request, reply)) return
      bounds.begin(raw, () => this.#guard(request, reply, () => this.#goOn(request, reply, call)))
    })
  }

  /** An error of one request ends that one alone. */
  #guard(request: HttpRequest, reply: HttpReply, run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#stages.fail(error, request, reply)
    }
  }

  #goOn(request: HttpRequest, reply: HttpReply, call: TracedCall | undefined): void {
    const { route } = request
    if (this.#routes.answersBefore(request, reply)) return
    if (route?.readsBody) return void this.#answer(request, reply, call)
    if (route?.onRequest === undefined) return void this.#readBody(request, reply, call)
    route
      .onRequest(request)
      .then(() => this.#readBody(request, reply, call))
      .catch((error: unknown) => this.#stages.fail(error, request, reply))
  }

  #readBody(request: HttpRequest, reply: HttpReply, call: TracedCall | undefined): void {
    const { bounds, fail } = this.#stages
    bounds.hold(request.raw)
    if (WITHOUT_BODY.has(request.method) || !hasBody(request)) return void this.#answer(request, reply, call)
    readBody(request.raw, (body) => {
      if (body instanceof Error) {
        // The client may send more of it.
        reply.header('connection', 'close')
        return void fail(body, request, reply)
      }
      request.body = body
      this.#answer(request, reply, call)
    })
  }

  #answer(request: HttpRequest, reply: HttpReply, call: TracedCall | undefined): void {
    const { fail, unknown } = this.#stages
    const { route } = request
    if (route === undefined) return void unknown(request, reply)
    const answer = () =>
      this.#guard(request, reply, () => {
        const answered = route.handle(request, reply)
        if (answered === NO_SUCH_PATH) unknown(request, reply)
        else if (answered instanceof Promise) answered.catch((error: unknown) => fail(error, request, reply))
      })
    if (call === undefined) answer()
    else call.run(answer)
  }
}

/** @param done called once, unless the client leaves */
function readBody(raw: IncomingMessage, done: (body: Buffer | BadBody) => void): void {
  const length = Number(raw.headers['content-length'])
  if (length > BODY_BYTES_MAX) return void done(new BadBody(413))
  const parts: Buffer[] = []
  let bytes = 0
  const end = (body: () => Buffer | BadBody) => {
    raw.off('data', onData).off('end', onEnd).off('error', onError)
    done(body())
  }
  const onData = (part: Buffer) => {
    bytes += part.length
    if (bytes > BODY_BYTES_MAX) end(() => new BadBody(413))
    else parts.push(part)
  }
  const onEnd = () => {
    const isWhole = Number.isNaN(length) || bytes === length
    end(() => (isWhole ? Buffer.concat(parts, bytes) : new BadBody(400)))
  }
  const onError = () => end(() => new BadBody(400))
  raw.on('data', onData).on('end', onEnd).on('error', onError).resume()
}
