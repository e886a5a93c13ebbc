/** Answers to proxies that ask about the requests of their clients. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DenialAnswer } from '../http-authorization/denial.ts'
import { addressOf } from './question.ts'

/** How a proxy is answered: 200 lets the request pass. */
export interface ProxyAnswer extends Omit<DenialAnswer, 'status'> {
  readonly status: 200 | DenialAnswer['status']
}

export function sendProxyAnswer(reply: FastifyReply, { status, headers, body }: ProxyAnswer): FastifyReply {
  // Bytes, because Fastify would add a charset to a text.
  return reply.code(status).headers(Object.fromEntries(headers)).send(Buffer.from(body))
}

/** Where the proxy names no client, there is no address: its own must not count as the client's. */
export function proxyClientAddress(request: FastifyRequest): string | undefined {
  return request.headers['x-forwarded-for'] === undefined ? undefined : addressOf(request)
}
