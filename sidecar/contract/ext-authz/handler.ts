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
  type DecideServices,
  decide,
  headerChanges,
  valuesOf,
} from '../../proxies/decide.ts'
import {
  denialAnswer,
  failureAnswer,
  reasonOfFailure,
  routeDenialAnswer,
  traceFailure,
} from '../../proxies/denial-answer.ts'
import { readRouteSettings } from '../../proxies/policy.ts'
import type { DecisionListener } from '../../usecases/asker.ts'
import { timed } from '../../usecases/timed.ts'
import type { CallContext, UnaryMethod } from '../call.ts'
import { callerCredentialsIn, listenersOf, presentedIn, requestIdIn } from '../handler.ts'
import { EVERY_HEADER, headersFor } from './header-filter.ts'
import { type Asked, readAsked } from './request.ts'
import { allowedResponse, deniedResponse, undecidedResponse } from './response.ts'

/** @param reachable whether other machines can reach the listener */
export function checkHandler(services: DecideServices, reachable: boolean): UnaryMethod {
  const { rules, routes } = services
  const meter = services.meters?.of('ext_authz')
  const listenerOf = listenersOf(services, 'ext_authz', meter, reachable)
  return timed(meter, (request: Buffer, call: CallContext) => {
    const asked = readAsked(request, routes === undefined ? headersFor(rules.engine) : EVERY_HEADER)
    const failed = (error: unknown): Buffer => {
      // Envoy's own id, where its headers are read for the routes.
      const envoys = givenRequestId(valuesOf(asked.headers, REQUEST_ID_HEADER))
      const id = envoys ?? requestIdIn(call) ?? requestIdOfFailure(error)
      traceFailure(services, error, presentedIn(call, reachable).from, id)
      return undecidedResponse(failureAnswer(error, id), reasonOfFailure(error))
    }
    try {
      const answered = answer(services, asked, call, { reachable, listener: listenerOf?.(call) })
      return answered instanceof Promise ? answered.catch(failed) : answered
    } catch (error) {
      return failed(error)
    }
  })
}

function answer(
  services: DecideServices,
  { context, headers, peer, method, host, path }: Asked,
  call: CallContext,
  { reachable, listener }: { readonly reachable: boolean; readonly listener: DecisionListener | undefined },
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
  return andThen(decided, (outcome) => responseTo(outcome, headers))
}

function responseTo(decided: Decided, headers: Asked['headers']): Buffer {
  if (decided.refused !== undefined) return undecidedResponse(routeDenialAnswer(decided), decided.refused)
  const { outcome, api } = decided
  const { decision, token } = outcome
  if (!decision.allowed || token === undefined) return deniedResponse(outcome, api, denialAnswer(decision))
  const changes = areUsual(decided, headers) ? undefined : headerChanges(decided, token, headers)
  return allowedResponse(outcome, token, api, changes)
}
