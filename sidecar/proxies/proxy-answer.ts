/** Answers to proxies that ask about the requests of their clients. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { addressOf } from '../base/net/http-request.ts'
import type { Reporting } from '../usecases/capabilities.ts'
import { type DenialAnswer, failureAnswer, traceFailure } from './denial-answer.ts'

/** How a proxy is answered: 200 lets the request pass. */
export interface ProxyAnswer extends Omit<DenialAnswer, 'status'> {
  readonly status: 200 | DenialAnswer['status']
}

/**
 * Sends the head and the body in one write. Fastify would turn the headers into an object and the body into
 * bytes, which cost a tenth of the whole request.
 */
function sendProxyAnswer(reply: FastifyReply, { status, headers, body }: ProxyAnswer): void {
  const { raw } = reply.hijack()
  const fields: string[] = []
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (!headers.some(([own]) => own === name)) fields.push(name, String(value))
  for (const [name, value] of headers) fields.push(name, value)
  fields.push('content-length', String(Buffer.byteLength(body)))
  raw.writeHead(status, fields)
  raw.end(body)
}

/**
 * Sends what becomes of the request. Where nothing can be decided, the log says why.
 *
 * @param failed the answer where nothing can be decided
 */
export function answerProxy(
  services: Reporting,
  reply: FastifyReply,
  answerTo: (request: FastifyRequest) => MaybePromise<ProxyAnswer>,
  failed: (error: unknown, requestId: string) => ProxyAnswer = failureAnswer,
): void {
  const { request } = reply
  const send = (answer: ProxyAnswer) => sendProxyAnswer(reply, answer)
  const fail = (error: unknown) => {
    const from = { protocol: 'http', address: request.socket.remoteAddress ?? 'gone' } as const
    traceFailure(services, error, from, request.id)
    send(failed(error, request.id))
  }
  try {
    const answer = answerTo(request)
    if (answer instanceof Promise) answer.then(send).catch(fail)
    else send(answer)
  } catch (error) {
    fail(error)
  }
}

/** Where the proxy names no client, there is no address: its own must not count as the client's. */
export function proxyClientAddress(request: FastifyRequest): string | undefined {
  return request.headers['x-forwarded-for'] === undefined ? undefined : addressOf(request)
}
