/**
 * `GET /authorize` and `GET /authorize/API`: may a request pass that a proxy has received? For what nginx
 * calls auth_request and others forward authentication. Every answer but 200 keeps the request out.
 */

import type { Scope } from '../../engine/index.ts'
import { invalidArgument } from '../base/call-error.ts'
import type { HttpRequest } from '../base/http/exchange.ts'
import type { HttpRoutes } from '../base/http/http-routes.ts'
import { ipAddress } from '../base/ip-address.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { connectionOf, headersOf } from '../base/net/http-request.ts'
import { REQUEST_ID_HEADER } from '../base/request-id.ts'
import { PATH_OVERRIDDEN } from '../rules/routes/overrides.ts'
import type { RouteMatch } from '../rules/routes/route.ts'
import { listenerOf } from '../usecases/call-tracing.ts'
import type { PerCall, Reporting, Ruled } from '../usecases/capabilities.ts'
import { checkCredentials, type Verifying } from '../usecases/check.ts'
import type { DecisionMeter } from '../usecases/decision-meters.ts'
import { timed } from '../usecases/timed.ts'
import {
  type DenialAnswer,
  denialAnswer,
  failureAnswer,
  reasonOfDenial,
  reasonOfFailure,
  routeDenialAnswer,
} from './denial-answer.ts'
import { everyIdentityHeader, isIdentity, wouldDenyHeaders } from './identity-headers.ts'
import type { Observing } from './observation.ts'
import { overridesPath, readProxiedRequest } from './proxied-request.ts'
import { answerProxy, type ProxyAnswer, type ProxyAnswers, proxyClientAddress } from './proxy-answer.ts'
import { SECRET_HEADER } from './trusted-proxies.ts'

type AuthorizeServices = PerCall<Verifying> & Ruled & Reporting & Observing

/** Only a known proxy reaches the routes. */
export function addAuthorizeRoutes(
  routes: HttpRoutes,
  services: AuthorizeServices,
  paths: readonly string[],
): void {
  const meter = services.meters?.of('authorize')
  const answers: ProxyAnswers = {
    answerTo: timed(meter, (request: HttpRequest, observed: boolean) =>
      andThen(answerTo(services, request, meter, observed), withBodyInHeader),
    ),
    failed: (error, { id }, observed) =>
      observed ? passing(services, reasonOfFailure(error)) : failureAnswer(error, id),
  }
  // These routes answer HEAD too, without a body.
  for (const path of paths) routes.get(path, (_request, reply) => answerProxy(services, reply, answers))
}

/** The answer in observe mode to a request that would be denied. */
function passing({ observation }: Observing, reason: string): ProxyAnswer {
  observation?.passed('authorize', reason)
  return { status: 200, headers: wouldDenyHeaders(reason), body: '' }
}

/**
 * A proxy takes out what clients say of themselves, or replaces it, before it asks. A header that it shows
 * would reach the application, too: nginx removes only headers that its configuration names. So it does not
 * pass in observe mode either.
 */
const IDENTITY_PRETENDED = {
  refused: 'NOT_CANONICAL',
  detail: 'expected a request without headers that begin with `X-Portcullis-`, which say who sent it',
} as const satisfies RouteMatch

const OWN_HEADER = SECRET_HEADER.toLowerCase()

/** @throws CallError where nothing can be decided */
function answerTo(
  services: AuthorizeServices,
  request: HttpRequest,
  meter: DecisionMeter | undefined,
  observed: boolean,
): MaybePromise<ProxyAnswer> {
  for (const name in request.raw.headersDistinct)
    if (isIdentity(name) && name !== OWN_HEADER) return routeDenialAnswer(IDENTITY_PRETENDED)
  const decided = decisionOn(services, request, meter, observed)
  if (!observed) return decided
  return andThen(decided, (answer) =>
    answer.status === 200 ? answer : passing(services, reasonOfDenial(answer)),
  )
}

/** @throws CallError where nothing can be decided */
function decisionOn(
  services: AuthorizeServices,
  request: HttpRequest,
  meter: DecisionMeter | undefined,
  observed: boolean,
): MaybePromise<ProxyAnswer> {
  const asked = askedBy(services, request)
  if ('status' in asked) return asked
  const question = {
    ...asked,
    headers: headersOf(request),
    clientAddress: proxyClientAddress(request),
  }
  const listener = listenerOf(services, 'authorize', meter, () => ({
    address: ipAddress(request.socket.remoteAddress),
    name: undefined,
    traceparent: request.raw.headersDistinct.traceparent ?? [],
    requestIds: request.raw.headersDistinct[REQUEST_ID_HEADER] ?? [],
    observed,
  }))
  return andThen(
    checkCredentials(services.forCall(), question, { connection: connectionOf(request), listener }),
    ({ decision, token }): ProxyAnswer =>
      decision.allowed
        ? { status: 200, headers: everyIdentityHeader(token, decision), body: '' }
        : denialAnswer(decision),
  )
}

/**
 * nginx drops the body of an answer that refuses a request, and keeps its headers. So they have the body,
 * too, for the page that nginx sends in its place.
 */
const BODY_HEADER = 'x-portcullis-denial'

/** Longest body in a header. nginx reads 4,096 bytes of headers, and answers with 500 if there are more. */
const BODY_LENGTH_MAX = 2_000

/** A value that is too long is left out: first the accepted kinds, then all of it. */
function withBodyInHeader(answer: ProxyAnswer): ProxyAnswer {
  if (answer.status === 200) return answer
  let body = asciiOf(answer.body)
  if (body.length > BODY_LENGTH_MAX) {
    const { error } = JSON.parse(answer.body) as { readonly error: Record<string, unknown> }
    body = asciiOf(JSON.stringify({ error: { reason: error.reason, message: error.message } }))
  }
  if (body.length > BODY_LENGTH_MAX) return answer
  return { ...answer, headers: [...answer.headers, [BODY_HEADER, body]] }
}

/** The same JSON in the characters that a header can have. */
function asciiOf(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

interface Asked {
  readonly api: string
  readonly target: Scope | undefined
}

/**
 * The API that the path of the proxy's own request names, or that the routes find. The query is not read:
 * Caddy puts that of the client there, and proxies pass its headers on. The path is the proxy's own.
 */
function askedBy({ routes }: Ruled, { params, raw }: HttpRequest): Asked | DenialAnswer {
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
