/** The handlers of `Issue` and `Revoke`. */
import { andThen } from '../base/maybe-promise.ts'
import { issue } from '../usecases/issue.ts'
import { revoke } from '../usecases/revoke.ts'
import { forCall, type Services } from '../usecases/services.ts'
import type { UnaryMethod } from './call.ts'
import { callerCredentialsIn, presentedIn, remoteAddress } from './handler.ts'
import { readIssueRequest, readRevokeRequest } from './requests.ts'
import { issueResponse, revokeResponse } from './responses.ts'

interface TokenHandlers {
  readonly issue: UnaryMethod
  readonly revoke: UnaryMethod
}

/** @param reachable whether other machines can reach the listener */
export function tokenHandlers(services: Services, reachable: boolean): TokenHandlers {
  const { callers } = services
  return {
    issue: (request, context) => {
      const { requester, purpose, rejected } = readIssueRequest(request)
      const issued = issue(forCall(services), {
        requester:
          requester.type === 'password'
            ? requester
            : { ...requester, caller: callers.find(callerCredentialsIn(context, reachable)) },
        purpose,
        clientAddress: remoteAddress(context, reachable),
        rejected,
      })
      return andThen(issued, issueResponse)
    },
    revoke: async (request, context) => {
      const token = readRevokeRequest(request)
      return revokeResponse(await revoke(forCall(services), token, presentedIn(context, reachable)))
    },
  }
}
