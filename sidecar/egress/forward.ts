/**
 * One request on its way to a target and back. Bodies are streamed in both directions, and each side waits
 * for the other. A body is kept only where it is small and its length is known: after a 401 it is sent once
 * more, with a new token.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { fieldValue } from '../../engine/index.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { hasBody, isUnfinished } from '../base/net/http-connections.ts'
import { givenRequestId, newRequestId, REQUEST_ID_HEADER } from '../base/request-id.ts'
import type { Secret } from '../base/secret.ts'
import type { Span } from '../base/tracing.ts'
import type { Outgoing } from '../usecases/egress.ts'
import type { Issued } from '../usecases/issue.ts'
import type { Trace } from '../usecases/trace.ts'
import { attemptOf, joining, tellStatus } from './forward-trace.ts'
import { returnedHeaders } from './headers.ts'
import {
  codeOf,
  type Refusal,
  refusalByMatrix,
  refusalFor,
  refusalOf,
  refusalOfTarget,
  sendRefusal,
} from './refusal.ts'
import type { Target } from './target.ts'

/** Size of the largest body that is kept for a second attempt, in bytes. */
const KEPT_BYTES_MAX = 64 * 1024

/** A request that may be forwarded. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: Target
  /** Path and query for the target. */
  readonly path: string
  /** Headers for the target without a credential, names and values in turn. */
  readonly headers: string[]
  /** Whether the client waits for a 100 before it sends the body. */
  readonly expectsContinue: boolean
  /** Obtains the credential to send. @param rejected the one that the target has just refused */
  readonly credential: (rejected?: Secret) => MaybePromise<Outgoing>
  /** Whether another token can be obtained in the place of this one. */
  readonly isRenewable: (credential: Issued) => boolean
  /** How long a body that is kept may take to arrive, in milliseconds. */
  readonly keptMs: number
  readonly trace: Trace
  /** `undefined`: the request is not recorded. The client's trace context goes on as it came. */
  readonly span?: Span | undefined
}

/** Forwards the request and answers it. Never rejects. */
export async function forward(exchange: Exchange): Promise<void> {
  const { response } = exchange
  try {
    const found = exchange.credential()
    // A token that is at hand costs no turn of the queue.
    const outgoing = found instanceof Promise ? await found : found
    if (!outgoing.allowed) return refuse(exchange, refusalByMatrix(outgoing.decision))
    // The client may have left meanwhile.
    if (response.destroyed) return
    if (exchange.expectsContinue) response.writeContinue()
    const read = bodyOf(exchange)
    const body = read instanceof Promise ? await read : read
    if (body === undefined) return refuse(exchange, refusalFor('BODY_LATE'))
    if (!response.destroyed) new Attempt(exchange, outgoing.credential, body).start()
  } catch (error) {
    const refusal = refusalOf(error)
    refuse(exchange, refusal, error as Error)
  }
}

/** The body that the client has sent and goes on sending. */
type Body = { readonly kept: Buffer | null } | { readonly streamed: IncomingMessage }

/**
 * Reads the body where it is kept. Never resolves if the client leaves before: then no answer is needed.
 *
 * @returns undefined: it did not arrive in time
 */
function bodyOf({ request, keptMs }: Exchange): MaybePromise<Body | undefined> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (!hasBody(request)) return { kept: null }
  if (encoding !== undefined || Number(length) > KEPT_BYTES_MAX) return { streamed: request }
  const kept = Buffer.allocUnsafe(Number(length))
  let arrived = 0
  // A body that arrives a byte at a time takes only the memory of its bytes.
  request.on('data', (chunk: Buffer) => {
    arrived += chunk.copy(kept, arrived)
  })
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(undefined), keptMs)
    request.once('close', () => clearTimeout(late))
    request.once('end', () => {
      clearTimeout(late)
      resolve({ kept })
    })
  })
}

function refuse(exchange: Exchange, plain: Refusal, cause?: Error): void {
  const { response, request } = exchange
  const refusal = plain.status >= 500 ? { ...plain, requestId: traceRefusal(exchange, plain, cause) } : plain
  if (response.destroyed) return
  // The rest of the body is not read, so no request can follow on this connection.
  if (!response.headersSent)
    sendRefusal(response, { ...refusal, close: refusal.close || isUnfinished(request) })
  // The client must not take what it has for the whole answer.
  else response.destroy()
}

/** A request that is not the fault of its client. Many of a kind are counted. @returns the id in the line */
function traceRefusal({ request, target, trace }: Exchange, refusal: Refusal, cause?: Error): string {
  const { reason, status } = refusal
  const requestId = givenRequestId(request.headersDistinct[REQUEST_ID_HEADER]) ?? newRequestId()
  const details = { request_id: requestId }
  const route = target.route.path
  if (status === 500) trace.failed(cause, { route, ...details })
  else
    trace.record({
      level: 'warn',
      message: 'a request was not forwarded, or its answer did not arrive',
      by: { route, reason, ...(cause && { cause: codeOf(cause) }) },
      details: () => details,
    })
  return requestId
}

/** The request as it is sent with one credential. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #credential: Issued
  readonly #body: Body
  /** Whether the target refused an earlier credential. */
  readonly #second: boolean
  readonly #span: Span | undefined
  #controller: Dispatcher.DispatchController | undefined
  /** Whether the result of this attempt is no longer needed. */
  #abandoned = false
  readonly #resume = () => this.#controller?.resume()
  readonly #closed = () => this.#abandon()

  constructor(exchange: Exchange, credential: Issued, body: Body, second = false) {
    this.#exchange = exchange
    this.#credential = credential
    this.#body = body
    this.#second = second
    const { span, target, request } = exchange
    this.#span = span && attemptOf(span, target, request.method)
  }

  start(): void {
    const { request, response, target, path, headers } = this.#exchange
    response.on('drain', this.#resume).on('close', this.#closed)
    const { header, value } = this.#credential
    const field = fieldValue(this.#credential, value.reveal())
    const body = 'kept' in this.#body ? this.#body.kept : this.#body.streamed
    const options = {
      path,
      method: request.method as Dispatcher.HttpMethod,
      headers: [...(this.#span ? joining(headers, this.#span) : headers), header, field],
      body,
    }
    target.pool.dispatch(options, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#abandoned) controller.abort(new Error('the client left'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // The client gets the final answer alone.
    if (status < 200) return
    if (this.#span) tellStatus(this.#span, status, 400)
    const headers = textsOf(controller.rawHeaders)
    if (status === 401 && this.#mayRenew()) {
      controller.pause()
      void this.#renew(status, headers)
    } else this.#answer(status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#exchange.response.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    // There is nothing left to abort.
    this.#abandoned = true
    this.#leave()
    this.#exchange.response.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#abandoned) return
    const refusal = refusalOfTarget(error)
    this.#span?.failed(refusal.reason)
    this.#leave()
    refuse(this.#exchange, refusal, error)
  }

  #answer(status: number, headers: readonly string[]): void {
    const { request, response } = this.#exchange
    // As long as the body goes on, no other request can follow. The answer may end before it.
    if (isUnfinished(request)) response.shouldKeepAlive = false
    response.writeHead(status, returnedHeaders(headers))
  }

  #mayRenew(): boolean {
    const { target, isRenewable } = this.#exchange
    if (this.#second) target.pauseRenewal()
    return !this.#second && 'kept' in this.#body && isRenewable(this.#credential) && target.renews
  }

  /**
   * Sends the request once more, with a new token. Where there is none, the client gets the answer of the
   * target.
   */
  async #renew(status: number, headers: readonly string[]): Promise<void> {
    const renewed = await this.#newCredential()
    if (this.#abandoned) return
    if (renewed === undefined) {
      this.#answer(status, headers)
      this.#controller?.resume()
      return
    }
    this.#abandon()
    new Attempt(this.#exchange, renewed, this.#body, true).start()
  }

  async #newCredential(): Promise<Issued | undefined> {
    const { credential, trace, target } = this.#exchange
    const rejected = this.#credential.value
    try {
      const outgoing = await credential(rejected)
      if (!outgoing.allowed || outgoing.credential.value.reveal() === rejected.reveal()) return undefined
      return outgoing.credential
    } catch (error) {
      const { reason } = refusalOf(error)
      trace.record({
        level: 'warn',
        message: 'the target refused the token, and no new one was issued',
        by: { route: target.route.path, reason },
      })
      return undefined
    }
  }

  /** Ends the attempt, where the client has left or another attempt follows. */
  #abandon(): void {
    if (this.#abandoned) return
    this.#abandoned = true
    this.#leave()
    this.#controller?.abort(new Error('the client no longer waits for the answer'))
  }

  #leave(): void {
    this.#span?.end()
    this.#exchange.response.off('drain', this.#resume).off('close', this.#closed)
  }
}

/** Names and values in turn, as the target wrote them. Node writes a byte of a header as it reads it. */
function textsOf(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  const texts: string[] = []
  for (const text of raw as readonly Buffer[]) texts.push(text.toString('latin1'))
  return texts
}
