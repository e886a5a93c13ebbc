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
import { identityHeaders, removedHeaders } from '../../http-authorization/identity.ts'
import { readRoutePolicy } from '../../http-authorization/policy.ts'
import { authorizeRequest, type ProxiedOutcome } from '../../usecases/proxied-request.ts'
import { type CallServices, forCall, type Services } from '../../usecases/services.ts'
import type { CallContext, UnaryMethod } from '../call.ts'
import { callerCredentialsIn, presentedIn } from '../handler.ts'
import { type Asked, readAsked } from './request.ts'
import { allowedResponse, deniedResponse, undecidedResponse } from './response.ts'

/** @param reachable whether other machines can reach the listener */
export function checkHandler(services: Services, reachable: boolean): UnaryMethod {
  return (request, context) => {
    const asked = readAsked(request)
    const failed = (error: unknown): Buffer => {
      traceFailure(services, error, presentedIn(context, reachable).from)
      return undecidedResponse(failureAnswer(error), reasonOfFailure(error))
    }
    try {
      const answered = answer(services, asked, context, reachable)
      return answered instanceof Promise ? answered.catch(failed) : answered
    } catch (error) {
      return failed(error)
    }
  }
}

function answer(
  services: Services,
  { context, headers, peer }: Asked,
  call: CallContext,
  reachable: boolean,
): MaybePromise<Buffer> {
  const current = forCall(services)
  const { api, target, trustedHops, replacement } = readRoutePolicy(context, 'context_extensions')
  const respond = (outcome: ProxiedOutcome) => responseTo(current, outcome, api, headers)
  const outcome = authorizeRequest(
    current,
    {
      ...{ api, target, headers, replacement },
      clientAddress: clientAddress(peer, trustedHops === 0 ? [] : forwardedFor(headers), trustedHops),
    },
    () => services.callers.find(callerCredentialsIn(call, reachable)),
  )
  return outcome instanceof Promise ? outcome.then(respond) : respond(outcome)
}

function forwardedFor(headers: Asked['headers']): string[] {
  return headers.filter(([name]) => name.toLowerCase() === 'x-forwarded-for').map(([, value]) => value)
}

function responseTo(
  { engine }: Pick<CallServices, 'engine'>,
  outcome: ProxiedOutcome,
  api: string,
  headers: Asked['headers'],
): Buffer {
  const { decision, token, credential } = outcome
  if (!decision.allowed || token === undefined) return deniedResponse(outcome, api, denialAnswer(decision))
  const names = headers.map(([name]) => name)
  const identity = identityHeaders(token, decision)
  if (credential === undefined)
    return allowedResponse(outcome, api, identity, removedHeaders(names, identity))
  const set = [...identity, [credential.header.toLowerCase(), credential.value.reveal()] as const]
  const carriers = Array.from(engine.tokenKinds.values(), ({ header }) => header)
  return allowedResponse(outcome, api, set, removedHeaders(names, set, carriers))
}
