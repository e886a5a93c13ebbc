/**
 * External authorization over HTTP, as Envoy asks for it: the request of the client with a path before its
 * own. That path says what the operator says about the route. The status 200 lets the request pass, and no
 * other one does.
 */

import { type CallError, invalidArgument } from '../base/call-error.ts'
import type { HttpRequest } from '../base/http/exchange.ts'
import { EVERY_METHOD, type HttpRoutes } from '../base/http/http-routes.ts'
import { ipAddress } from '../base/ip-address.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { connectionOf, headersOf, isRepeated } from '../base/net/http-request.ts'
import { REQUEST_ID_HEADER } from '../base/request-id.ts'
import { METHOD_OVERRIDES } from '../rules/routes/overrides.ts'
import { listenerOf } from '../usecases/call-tracing.ts'
import type { Ruled } from '../usecases/capabilities.ts'
import type { DecisionMeter } from '../usecases/decision-meters.ts'
import { timed } from '../usecases/timed.ts'
import { clientAddress } from './client-address.ts'
import {
  type Decided,
  type DecideServices,
  decide,
  type HeaderChanges,
  headerChanges,
  observedChanges,
} from './decide.ts'
import {
  type DenialAnswer,
  denialAnswer,
  failureAnswer,
  type Headers,
  reasonOfDenial,
  reasonOfFailure,
  routeDenialAnswer,
} from './denial-answer.ts'
import type { Observing } from './observation.ts'
import { readRouteSettings } from './policy.ts'
import { answerProxy, type ProxyAnswer, type ProxyAnswers, proxyClientAddress } from './proxy-answer.ts'

const PREFIX = '/ext-authz/'

/** Envoy removes the headers that this header of the answer names. */
const REMOVED_HEADER = 'x-envoy-auth-headers-to-remove'

/**
 * Only a known proxy reaches the route.
 *
 * @param url the prefix with anything behind it
 */
export function addExtAuthzRoute(
  routes: HttpRoutes,
  services: DecideServices & Observing,
  url: string,
): void {
  const meter = services.meters?.of('ext_authz-http')
  const answers: ProxyAnswers = {
    answerTo: timed(meter, (request: HttpRequest, observed: boolean) =>
      answerTo(services, request, meter, observed),
    ),
    failed: (error, request, observed) =>
      observed
        ? passing(services, reasonOfFailure(error), listedHeaders(request))
        : failureAsDenial(error, request.id),
  }
  // Envoy asks by the method of the client's request, which may be any.
  routes.add(EVERY_METHOD, url, (_request, reply) => answerProxy(services, reply, answers))
}

/**
 * Envoy takes a 5xx for a failed call: it drops the body, and lets the request pass where it is configured
 * with `failure_mode_allow`. So it must deny.
 */
function failureAsDenial(error: unknown, requestId: string): DenialAnswer {
  return { ...failureAnswer(error, requestId), status: 403 }
}

/** @throws CallError where nothing can be decided */
function answerTo(
  services: DecideServices & Observing,
  request: HttpRequest,
  meter: DecisionMeter | undefined,
  observed: boolean,
): MaybePromise<ProxyAnswer> {
  const { settings, target } = readPath(request.raw.url ?? '')
  const headers = listedHeaders(request)
  const { method = '', headersDistinct } = request.raw
  const { trustedHops } = settings
  const asked = {
    ...{ method, host: hostOf(request), target, headers },
    header: (name: string) => headersDistinct[name],
    clientAddress:
      trustedHops === 0 ? proxyClientAddress(request) : clientAddress(undefined, headers, trustedHops),
  }
  const presented = {
    authorization: headersDistinct['proxy-authorization'] ?? [],
    ...{ iamToken: [], certificateNames: [] },
  }
  const listener = listenerOf(services, 'ext_authz-http', meter, () => ({
    address: ipAddress(request.socket.remoteAddress),
    name: services.callers.findOrNobody(presented)?.name,
    traceparent: headersDistinct.traceparent ?? [],
    requestIds: headersDistinct[REQUEST_ID_HEADER] ?? [],
    observed,
  }))
  const asker = { connection: connectionOf(request), listener }
  const decided = decide(services, settings, asked, () => services.callers.find(presented), asker)
  return andThen(decided, (found) => {
    const answer = answerFor(found, headers, services)
    const stays = !observed || answer.status === 200 || (found.refused !== undefined && found.always)
    return stays ? answer : passing(services, reasonOfDenial(answer), headers)
  })
}

/** Every header with each of its values. */
function listedHeaders(request: HttpRequest): Headers {
  return headersOf(request).flatMap(([name, values]) => values.map((value) => [name, value] as const))
}

function answerFor(decided: Decided, headers: Headers, ruled: Ruled): ProxyAnswer {
  if (decided.refused !== undefined) return routeDenialAnswer(decided)
  const { decision, token } = decided.outcome
  if (!decision.allowed) return denialAnswer(decision)
  return okAnswer(headerChanges(decided, token, headers), ruled)
}

/** The answer in observe mode to a request that would be denied. */
function passing(services: Ruled & Observing, reason: string, headers: Headers): ProxyAnswer {
  services.observation?.passed('ext_authz-http', reason)
  return okAnswer(observedChanges(reason, headers), services)
}

function okAnswer({ set, removed }: HeaderChanges, { routes }: Ruled): ProxyAnswer {
  // Routes that name methods deny such a header, but Envoy need not show it.
  const all = routes?.namesMethods ? [...removed, ...METHOD_OVERRIDES] : removed
  return { status: 200, headers: [...set, [REMOVED_HEADER, all.join(',')]], body: '' }
}

/** A repeated Host counts as none. HTTP/2 has `:authority` in its place. */
function hostOf({ raw, headers }: HttpRequest): string | undefined {
  return isRepeated(raw, 'host') ? undefined : headers.host
}

/** Of a route about which the operator says nothing, because the configuration has routes. */
const NOTHING = 'routes'

/**
 * Splits `/ext-authz/api=balance,account=1/v1/items?limit=10` into the operator's settings, and the client's
 * target.
 */
function readPath(url: string): { settings: ReturnType<typeof readRouteSettings>; target: string } {
  const rest = url.slice(PREFIX.length)
  const slash = rest.indexOf('/')
  if (slash <= 0) throw badPath()
  const written = rest.slice(0, slash)
  const pairs = written === NOTHING ? [] : written.split(',').map(readPair)
  return { settings: readRouteSettings(pairs, 'path_prefix'), target: rest.slice(slash) }
}

function readPair(text: string): [name: string, value: string] {
  const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw badPath()
  try {
    return [name, decodeURIComponent(value)]
  } catch {
    throw badPath()
  }
}

function badPath(): CallError {
  return invalidArgument({
    field: 'path_prefix',
    expected: `${PREFIX}NAME=VALUE,… or ${PREFIX}${NOTHING}, without a slash at the end`,
  })
}
