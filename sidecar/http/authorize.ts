/**
 * `GET /authorize`: may a request pass that a proxy has received? For what nginx calls auth_request and others forward authentication.
 * Every answer but 200 keeps the request out.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Scope } from '../../engine/index.ts'
import { invalidArgument } from '../base/call-error.ts'
import { type DenialAnswer, denialAnswer, failureAnswer, traceFailure } from '../http-authorization/denial.ts'
import { identityHeaders } from '../http-authorization/identity.ts'
import { readRoutePolicy } from '../http-authorization/policy.ts'
import { routeDenialAnswer } from '../http-authorization/route-denial.ts'
import { checkCredentials } from '../usecases/check.ts'
import { forCall, type Services } from '../usecases/services.ts'
import { readProxiedRequest } from './proxied-request.ts'
import { addressOf, headersOf } from './question.ts'

/** How the proxy is answered. */
interface Answer extends Omit<DenialAnswer, 'status'> {
  readonly status: 200 | DenialAnswer['status']
}

/** Whoever reaches the route is a known proxy. */
export function addAuthorizeRoute(server: FastifyInstance, services: Services, path: string): void {
  // This route answers HEAD too, without a body.
  server.get(path, async (request, reply) => {
    const { status, headers, body } = await answerTo(services, request).catch((error: unknown): Answer => {
      traceFailure(services, error, { protocol: 'http', address: request.socket.remoteAddress ?? 'gone' })
      return failureAnswer(error)
    })
    // Bytes, because Fastify would add a charset to a text.
    return reply.code(status).headers(Object.fromEntries(headers)).send(Buffer.from(body))
  })
}

/** @throws CallError where nothing can be decided */
async function answerTo(services: Services, request: FastifyRequest): Promise<Answer> {
  const asked = askedBy(services, request)
  if ('status' in asked) return asked
  const { decision, token } = await checkCredentials(forCall(services), {
    ...asked,
    headers: headersOf(request),
    clientAddress: clientAddressOf(request),
  })
  if (!decision.allowed || token === undefined) return denialAnswer(decision)
  return { status: 200, headers: identityHeaders(token, decision), body: '' }
}

interface Asked {
  readonly api: string
  readonly target: Scope | undefined
}

/** What the proxy's own request names in its query, or what the routes find. Only the proxy writes the query. */
function askedBy({ routes }: Services, { query, raw }: FastifyRequest): Asked | DenialAnswer {
  const settings = Object.entries(query as Record<string, string | string[]>)
  if (settings.length > 0) {
    const { api, target } = readRoutePolicy(settings.flatMap(pairsOf), 'the query')
    return { api, target }
  }
  if (routes === undefined)
    throw invalidArgument({
      field: 'the query',
      expected: '`api`, the id of an API, because the configuration has no `routes`',
    })
  const match = routes.match(readProxiedRequest(raw))
  return match.refused === undefined ? match : routeDenialAnswer(match)
}

const NAMES: ReadonlySet<string> = new Set(['api', 'account', 'project'])

function pairsOf([name, values]: [string, string | string[]]): [string, string][] {
  if (!NAMES.has(name))
    throw invalidArgument({ field: 'the query', expected: `no other names than ${[...NAMES].join(', ')}` })
  return [values].flat().map((value) => [name, value])
}

/** Where the proxy names no client, there is no address: its own must not count as the client's. */
function clientAddressOf(request: FastifyRequest): string | undefined {
  return request.headers['x-forwarded-for'] === undefined ? undefined : addressOf(request)
}
