/**
 * `GET /authorize` and `GET /authorize/API`: may a request pass that a proxy has received? For what nginx
 * calls auth_request and others forward authentication. Every answer but 200 keeps the request out.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Scope } from '../../engine/index.ts'
import { invalidArgument } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { connectionOf, headersOf } from '../base/net/http-request.ts'
import { PATH_OVERRIDDEN } from '../rules/routes/overrides.ts'
import type { RouteMatch } from '../rules/routes/route.ts'
import type { PerCall, Reporting, Ruled } from '../usecases/capabilities.ts'
import { checkCredentials, type Verifying } from '../usecases/check.ts'
import type { DecisionMeter } from '../usecases/meters.ts'
import { timed } from '../usecases/timed.ts'
import { listenerOf } from '../usecases/tracing.ts'
import { type DenialAnswer, denialAnswer, routeDenialAnswer } from './denial-answer.ts'
import { everyIdentityHeader, isIdentity } from './identity-headers.ts'
import { overridesPath, readProxiedRequest } from './proxied-request.ts'
import { answerProxy, type ProxyAnswer, proxyClientAddress } from './proxy-answer.ts'
import { SECRET_HEADER } from './trusted-proxies.ts'

type AuthorizeServices = PerCall<Verifying> & Ruled & Reporting

/** Only a known proxy reaches the routes. */
export function addAuthorizeRoutes(
  server: FastifyInstance,
  services: AuthorizeServices,
  paths: readonly string[],
): void {
  const meter = services.meters?.of('authorize')
  const answerOf = timed(meter, (request: FastifyRequest) => answerTo(services, request, meter))
  // These routes answer HEAD too, without a body.
  for (const path of paths) server.get(path, (_request, reply) => answerProxy(services, reply, answerOf))
}

/**
 * A proxy takes out what clients say of themselves, or replaces it, before it asks. What it shows all the
 * same would reach the application, too: nginx takes out nothing that its configuration does not name.
 */
const IDENTITY_PRETENDED = {
  refused: 'NOT_CANONICAL',
  detail: 'expected a request without headers that begin with `X-Portcullis-`, which say who sent it',
} as const satisfies RouteMatch

const OWN_HEADER = SECRET_HEADER.toLowerCase()

/** @throws CallError where nothing can be decided */
function answerTo(
  services: AuthorizeServices,
  request: FastifyRequest,
  meter: DecisionMeter | undefined,
): MaybePromise<ProxyAnswer> {
  for (const name in request.raw.headersDistinct)
    if (isIdentity(name) && name !== OWN_HEADER) return routeDenialAnswer(IDENTITY_PRETENDED)
  const asked = askedBy(services, request)
  if ('status' in asked) return asked
  const question = {
    ...asked,
    headers: headersOf(request),
    clientAddress: proxyClientAddress(request),
  }
  const listener = listenerOf(services, 'authorize', meter, () => ({
    address: request.socket.remoteAddress,
    name: undefined,
    traceparent: request.raw.headersDistinct.traceparent ?? [],
  }))
  return andThen(
    checkCredentials(services.forCall(), question, { connection: connectionOf(request), listener }),
    ({ decision, token }): ProxyAnswer =>
      decision.allowed && token !== undefined
        ? { status: 200, headers: everyIdentityHeader(token, decision), body: '' }
        : denialAnswer(decision),
  )
}

interface Asked {
  readonly api: string
  readonly target: Scope | undefined
}

/**
 * What the path of the proxy's own request names, or what the routes find. The query is not read: Caddy puts
 * that of the client there, and proxies pass its headers on. The path is the proxy's own.
 */
function askedBy({ routes }: Ruled, { params, raw }: FastifyRequest): Asked | DenialAnswer {
  const { api } = params as { readonly api?: string }
  if (api !== undefined)
    return overridesPath(raw) ? routeDenialAnswer(PATH_OVERRIDDEN) : { api, target: undefined }
  if (routes === undefined)
    throw invalidArgument({
      field: 'the path',
      expected: '`/authorize/API` with the id of an API, because the configuration has no `routes`',
    })
  const match = routes.match(readProxiedRequest(raw))
  return match.refused === undefined ? match : routeDenialAnswer(match)
}
