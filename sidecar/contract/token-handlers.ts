/** The handlers of `Issue` and `Revoke`. */
import type { TrueOf } from '../authority/directory-changes.ts'
import { nameOfSource } from '../authority/login-source.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Admitting, Following, PerCall } from '../usecases/capabilities.ts'
import { type Issued, type Issuing, issue } from '../usecases/issue.ts'
import {
  type LoginTracing,
  type TracedLogin,
  traceFailure,
  traceIssued,
  traceRevoked,
} from '../usecases/login-trace.ts'
import { type Revoking, revoke } from '../usecases/revoke.ts'
import type { UnaryMethod } from './call.ts'
import { handedOnWith, loginSource, nameOfConnection, presentedIn, requestOf } from './handler.ts'
import { readIssueRequest, readRevokeRequest } from './requests.ts'
import { issueResponse, revokeResponse } from './responses.ts'

export type TokenServices = PerCall<Issuing & Revoking> & Admitting & LoginTracing & Following

interface TokenHandlers {
  readonly issue: UnaryMethod
  readonly revoke: UnaryMethod
}

/** @param reachable whether other machines can reach the listener */
export function tokenHandlers(services: TokenServices, reachable: boolean): TokenHandlers {
  const { callers, changes, basis, intake, forCall } = services
  return {
    issue: (request, context) => {
      const { requester, purpose, place, rejected } = readIssueRequest(request)
      const presented = presentedIn(context, reachable)
      const traced = { from: presented.from, requestId: presented.requestId }
      if (requester.type === 'password') {
        const source = loginSource(services, presented, context)
        const { account, userName } = requester.login
        const login = { ...traced, source: nameOfSource(source), user: { account, userName } }
        const from = {
          ...{ source, connection: nameOfConnection(context) },
          handOn: () => handedOnWith(context, reachable),
        }
        return issueTraced(
          services,
          login,
          async () => {
            await intake.turn(nameOfConnection(context), presented)
            return issue(forCall(), { requester, purpose, place, from })
          },
          { position: changes.latest(), basis: basis(forCall().engine).name },
        )
      }
      const login: { -readonly [Key in keyof TracedLogin]: TracedLogin[Key] } = {
        ...traced,
        source: 'profiles',
      }
      return issueTraced(services, login, () => {
        const caller = callers.find(presented)
        login.caller = caller?.name
        // The name of a profile that is not the caller's may be anything.
        if (caller?.profiles.has(requester.name)) login.profile = requester.name
        return issue(forCall(), {
          requester: { ...requester, caller },
          purpose,
          place,
          from: undefined,
          rejected,
        })
      })
    },
    revoke: async (request, context) => {
      const token = readRevokeRequest(request)
      const presented = presentedIn(context, reachable)
      try {
        await intake.turn(nameOfConnection(context), presented)
        const revoked = await revoke(forCall(), token, presented)
        traceRevoked(services, presented.from, presented.requestId)
        return revokeResponse(revoked)
      } catch (error) {
        services.trace.refused('a revocation was refused', error, { ...presented.from }, () =>
          requestOf(presented),
        )
        throw error
      }
    },
  }
}

/** Issues, and leaves a trace of the token or of the failure. A token that is at hand is answered at once. */
function issueTraced(
  services: LoginTracing,
  login: TracedLogin,
  work: () => MaybePromise<Issued>,
  of?: TrueOf,
): MaybePromise<Buffer> {
  const done = (issued: Issued) => {
    traceIssued(services, login, issued)
    return issueResponse(issued, of)
  }
  const failed = (error: unknown): never => {
    traceFailure(services, login, error)
    throw error
  }
  try {
    const issued = work()
    return issued instanceof Promise ? issued.then(done, failed) : done(issued)
  } catch (error) {
    return failed(error)
  }
}
