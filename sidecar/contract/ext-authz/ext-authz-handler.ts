/**
 * `envoy.service.auth.v3.Authorization/Check`: the request, the decision, the response. A request about which
 * nothing can be decided is denied in an answer and not by a failed call, because an Envoy with
 * `failure_mode_allow` lets a request pass whose call failed.
 */
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { givenRequestId, REQUEST_ID_HEADER, requestIdOfFailure } from '../../base/request-id.ts'
import { clientAddress } from '../../proxies/client-address.ts'
import {
  areUsual,
  type Decided,
  type DecidedRequest,
  type DecideServices,
  decide,
  headerChanges,
  observedChanges,
  valuesOf,
} from '../../proxies/decide.ts'
import {
  denialAnswer,
  failureAnswer,
  reasonOfFailure,
  routeDenialAnswer,
  traceFailure,
} from '../../proxies/denial-answer.ts'
import type { Observation, Observing } from '../../proxies/observation.ts'
import { readRouteSettings } from '../../proxies/policy.ts'
import type { DecisionListener } from '../../usecases/asker.ts'
import { timed } from '../../usecases/timed.ts'
import type { CallContext, UnaryMethod } from '../call.ts'
import { callerCredentialsIn, listenersOf, presentedIn, requestIdIn } from '../handler.ts'
import { EVERY_HEADER, headersFor } from './header-filter.ts'
import { type Asked, readAsked } from './request.ts'
import { allowedResponse, deniedResponse, observedResponse, undecidedResponse } from './response.ts'

/** @param reachable whether other machines can reach the listener */
export function checkHandler(services: DecideServices & Observing, reachable: boolean): UnaryMethod {
  const { rules, routes, decisions, observation, shadow } = services
  const withId = decisions !== undefined
  const meter = services.meters?.of('ext_authz')
  const enforced = listenersOf(services, 'ext_authz', meter, reachable)
  const observing = observation && listenersOf(services, 'ext_authz', meter, reachable, true)
  return timed(meter, (request: Buffer, call: CallContext) => {
    const filter =
      routes === undefined ? headersFor(rules.engine, { withId, shadow: shadow?.engine }) : EVERY_HEADER
    const asked = readAsked(request, filter)
    const observed = observation?.isOn() ? observation : undefined
    const failed = (error: unknown): Buffer => {
      // Envoy's own id, where its headers are read for the routes.
      const envoys = givenRequestId(valuesOf(asked.headers, REQUEST_ID_HEADER))
      const id = envoys ?? requestIdIn(call) ?? requestIdOfFailure(error)
      traceFailure(services, error, presentedIn(call, reachable).from, id, observed !== undefined)
      if (observed !== undefined) return passing(observed, reasonOfFailure(error), asked.headers)
      return undecidedResponse(failureAnswer(error, id), reasonOfFailure(error))
    }
    try {
      const listenerOf = observed === undefined ? enforced : observing
      const listener = listenerOf?.(withId ? withIdOf(asked, call) : call)
      const answered = answer(services, asked, call, { reachable, listener, observed })
      return answered instanceof Promise ? answered.catch(failed) : answered
    } catch (error) {
      return failed(error)
    }
  })
}

/** The call, with the id that the client's request has: Envoy gives each one. */
function withIdOf({ headers }: Asked, call: CallContext): CallContext {
  const ids = valuesOf(headers, REQUEST_ID_HEADER)
  if (ids === undefined) return call
  const { connection } = call
  return { connection, metadata: (name) => (name === REQUEST_ID_HEADER ? ids : call.metadata(name)) }
}

interface Answering {
  readonly reachable: boolean
  readonly listener: DecisionListener | undefined
  /** `undefined`: a request that is denied does not pass. */
  readonly observed: Observation | undefined
}

function answer(
  services: DecideServices,
  { context, headers, peer, method, host, path }: Asked,
  call: CallContext,
  { reachable, listener, observed }: Answering,
): MaybePromise<Buffer> {
  const settings = readRouteSettings(context, 'context_extensions')
  const request = {
    method,
    host,
    target: path,
    headers,
    header: (name: string) => valuesOf(headers, name),
    clientAddress: clientAddress(peer, headers, settings.trustedHops),
  }
  const findProxy = () => services.callers.find(callerCredentialsIn(call, reachable))
  const decided = decide(services, settings, request, findProxy, { connection: call.connection, listener })
  return andThen(decided, (outcome) => responseTo(outcome, headers, observed))
}

function responseTo(decided: Decided, headers: Asked['headers'], observed: Observation | undefined): Buffer {
  if (decided.refused !== undefined) {
    if (observed !== undefined && !decided.always) return passing(observed, decided.refused, headers)
    return undecidedResponse(routeDenialAnswer(decided), decided.refused)
  }
  const { outcome, api } = decided
  const { decision, token } = outcome
  if (!decision.allowed) {
    if (observed !== undefined) return passing(observed, decision.reason, headers, { outcome, api })
    return deniedResponse(outcome, api, denialAnswer(decision))
  }
  const changes = areUsual(decided, headers) ? undefined : headerChanges(decided, token, headers)
  return allowedResponse(outcome, token, api, changes)
}

/** The answer in observe mode to a request that would be denied. @param decided `undefined`: nothing is */
function passing(
  observed: Observation,
  reason: string,
  headers: Asked['headers'],
  decided?: Pick<DecidedRequest, 'outcome' | 'api'>,
): Buffer {
  observed.passed('ext_authz', reason)
  return observedResponse(observedChanges(reason, headers), reason, decided)
}
