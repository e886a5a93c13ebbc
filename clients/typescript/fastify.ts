/**
 * `@portcullis/client/fastify`: lets requests pass whose token opens an API, with Fastify.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Gate, keepAnswer, type TokenOptions } from './gate.ts'

export { answerOf, type TokenOptions } from './gate.ts'

/** What is needed of Fastify's request. */
export interface Request {
  readonly raw: Pick<IncomingMessage, 'headersDistinct'>
  readonly ip: string
}

/** What is needed of Fastify's reply. */
export interface Reply {
  readonly raw: Pick<ServerResponse, 'once' | 'removeListener'>
  code(status: number): unknown
  headers(headers: Record<string, string>): unknown
  send(body: string): unknown
  hijack(): unknown
}

/**
 * A hook (`onRequest` or `preHandler`) that lets a request go on only if the sidecar allows it, and answers
 * it otherwise: 401 or 403 with what would be accepted, 503 where there is no answer.
 *
 * @param api id of the API
 */
export function requireToken<FastifyRequest extends Request = Request>(
  api: string,
  options: TokenOptions<FastifyRequest> = {},
): (request: FastifyRequest, reply: Reply) => Promise<unknown> {
  const gate = new Gate(api, options)
  return async (request, reply) => {
    const leaving = new AbortController()
    const leave = () => leaving.abort()
    reply.raw.once('close', leave)
    const { raw, ip } = request
    const verdict = await gate.judge(request, {
      headers: raw.headersDistinct,
      address: ip,
      signal: leaving.signal,
    })
    reply.raw.removeListener('close', leave)
    if (verdict.type === 'passes') {
      keepAnswer(request, verdict.answer)
      return undefined
    }
    if (verdict.type === 'left') reply.hijack()
    else {
      const { status, headers, body } = verdict.denial
      reply.code(status)
      reply.headers({ ...headers })
      reply.send(body)
    }
    // Fastify goes on to the handler unless it gets the reply back.
    return reply
  }
}
