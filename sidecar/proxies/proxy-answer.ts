/** Answers to proxies that ask about the requests of their clients. */
import type { HttpReply, HttpRequest } from '../base/http/exchange.ts'
import { type IpAddress, ipAddress, whereabouts } from '../base/ip-address.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Reporting } from '../usecases/capabilities.ts'
import { FORWARDED_FOR } from './client-address.ts'
import { type DenialAnswer, traceFailure } from './denial-answer.ts'
import type { Observing } from './observation.ts'

/** How a proxy is answered: 200 lets the request pass. */
export interface ProxyAnswer extends Omit<DenialAnswer, 'status'> {
  readonly status: 200 | DenialAnswer['status']
}

/**
 * Sends the head and the body in one write: the body stays a text, which Node joins to the head.
 */
function sendProxyAnswer(reply: HttpReply, { status, headers, body }: ProxyAnswer): void {
  const { raw } = reply
  for (const [name] of headers) reply.removeHeader(name)
  const fields = [...reply.fields]
  for (const [name, value] of headers) fields.push(name, value)
  fields.push('content-length', String(Buffer.byteLength(body)))
  raw.writeHead(status, fields)
  raw.end(body)
}

/** How a protocol answers. `observed`: the request passes, whatever is decided. */
export interface ProxyAnswers {
  /** @throws CallError where nothing can be decided */
  readonly answerTo: (request: HttpRequest, observed: boolean) => MaybePromise<ProxyAnswer>
  /** The answer where nothing can be decided. */
  readonly failed: (error: unknown, request: HttpRequest, observed: boolean) => ProxyAnswer
}

/** Sends what becomes of the request. Where nothing can be decided, the log says why. */
export function answerProxy(
  services: Reporting & Observing,
  reply: HttpReply,
  { answerTo, failed }: ProxyAnswers,
): void {
  const { request } = reply
  // Asked once, so that the answer and the report of it agree.
  const observed = services.observation?.isOn() === true
  const send = (answer: ProxyAnswer) => sendProxyAnswer(reply, answer)
  const fail = (error: unknown) => {
    const from = { protocol: 'http', address: whereabouts(ipAddress(request.socket.remoteAddress)) } as const
    traceFailure(services, error, from, request.id, observed)
    send(failed(error, request, observed))
  }
  try {
    const answer = answerTo(request, observed)
    if (answer instanceof Promise) answer.then(send).catch(fail)
    else send(answer)
  } catch (error) {
    fail(error)
  }
}

/** Where the proxy names no client, there is no address: its own must not count as the client's. */
export function proxyClientAddress(request: HttpRequest): IpAddress | undefined {
  return request.headers[FORWARDED_FOR] === undefined ? undefined : request.clientAddress
}
