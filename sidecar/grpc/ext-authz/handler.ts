/**
 * `envoy.service.auth.v3.Authorization/Check`: the request, the use case, the response. A request about which nothing can be decided is
 * denied in an answer and not by a failed call, because an Envoy with `failure_mode_allow` lets a request pass whose call failed.
 */

import type { MaybePromise } from '../../base/maybe-promise.ts'
import { clientAddress } from '../../http-authorization/client-address.ts'
import {
  denialAnswer,
  failureAnswer,
  reasonOfFailure,
  traceFailure,
} from '../../http-authorization/denial.ts'
import {
  identityHeaders,
  isIdentity,
  relevanceTo,
  removedHeaders,
} from '../../http-authorization/identity.ts'
import { readRoutePolicy } from '../../http-authorization/policy.ts'
import { authorizeRequest, type ProxiedOutcome } from '../../usecases/proxied-request.ts'
import { type CallServices, forCall, type Services } from '../../usecases/services.ts'
import type { CallContext, UnaryMethod } from '../call.ts'
import { callerCredentialsIn, presentedIn } from '../handler.ts'
import { type Asked, readAsked } from './request.ts'
import { allowedResponse, deniedResponse, undecidedResponse } from './response.ts'

/** @param reachable whether other machines can reach the listener */
export function checkHandler(services: Services, reachable: boolean): UnaryMethod {
  return (request, call) => {
    const current = forCall(services)
    const asked = readAsked(request, relevanceTo(current.engine))
    const failed = (error: unknown): Buffer => {
      traceFailure(services, error, presentedIn(call, reachable).from)
      return undecidedResponse(failureAnswer(error), reasonOfFailure(error))
    }
    try {
      const answered = answer(current, asked, call, reachable)
      return answered instanceof Promise ? answered.catch(failed) : answered
    } catch (error) {
      return failed(error)
    }
  }
}

function answer(
  services: CallServices,
  { context, headers, peer }: Asked,
  call: CallContext,
  reachable: boolean,
): MaybePromise<Buffer> {
  const { api, target, trustedHops, replacement } = readRoutePolicy(context, 'context_extensions')
  const decided = authorizeRequest(
    services,
    { api, target, headers, replacement, clientAddress: clientAddress(peer, headers, trustedHops) },
    () => services.callers.find(callerCredentialsIn(call, reachable)),
  )
  return decided instanceof Promise
    ? decided.then((outcome) => responseTo(services, outcome, api, headers))
    : responseTo(services, decided, api, headers)
}

function responseTo(
  { engine }: Pick<CallServices, 'engine'>,
  { outcome, credential }: ProxiedOutcome,
  api: string,
  headers: Asked['headers'],
): Buffer {
  const { decision, token } = outcome
  if (!decision.allowed || token === undefined) return deniedResponse(outcome, api, denialAnswer(decision))
  if (credential === undefined && !headers.some(([name]) => isIdentity(name)))
    return allowedResponse(outcome, token, api, undefined)
  const set = [...identityHeaders(token, decision)]
  if (credential !== undefined) set.push([credential.header.toLowerCase(), credential.value.reveal()])
  const carriers = credential && relevanceTo(engine).carriers
  return allowedResponse(outcome, token, api, { set, removed: removedHeaders(headers, set, carriers) })
}
