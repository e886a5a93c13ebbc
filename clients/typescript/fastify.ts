/**
 * `@portcullis/client/fastify`: lets requests pass whose token opens an API, with Fastify.
 *
 * @module
 */
import {
  Gate,
  headersOf,
  keepAnswer,
  type NodeRequest,
  type RoutedOptions,
  requestOf,
  type TokenOptions,
} from './gate.ts'

export { answerOf, type RoutedOptions, type TokenOptions } from './gate.ts'

/** The used parts of Fastify's request. */
export interface Request {
  readonly raw: NodeRequest
  readonly ip: string
}

/** The used parts of Fastify's reply. */
export interface Reply {
  readonly raw: {
    once(event: 'close', listener: () => void): unknown
    removeListener(event: 'close', listener: () => void): unknown
  }
  code(status: number): unknown
  headers(headers: Record<string, string>): unknown
  send(body: Buffer): unknown
  hijack(): unknown
}

/**
 * A hook (`onRequest` or `preHandler`) that lets a request go on only if the sidecar allows it, and answers
 * it otherwise: 401 or 403 with what would be accepted, 503 where there is no answer.
 *
 * @param guarding id of the API and options; or `{ routes: true }` with options, where the routes of the
 *   sidecar say the API and the target
 */
export function requireToken<FastifyRequest extends Request = Request>(
  ...guarding:
    | [api: string, options?: TokenOptions<FastifyRequest>]
    | [options: RoutedOptions<FastifyRequest>]
): (request: NoInfer<FastifyRequest>, reply: Reply) => Promise<unknown> {
  const gate = new Gate(guarding)
  return async (request, reply) => {
    const leaving = new AbortController()
    const leave = () => leaving.abort()
    reply.raw.once('close', leave)
    const { raw, ip } = request
    const headers = headersOf(raw)
    const verdict = await gate.judge(request, {
      headers,
      request: requestOf(raw, headers),
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
      // Fastify adds a charset to the type of a text, and then the answer is not the one of a proxy.
      reply.send(Buffer.from(body))
    }
    // Fastify goes on to the handler unless it gets the reply back.
    return reply
  }
}
