/** The handlers of `Issue` and `Revoke`. */
import { andThen } from '../base/maybe-promise.ts'
import { issue } from '../usecases/issue.ts'
import { revoke } from '../usecases/revoke.ts'
import { forCall, type Services } from '../usecases/services.ts'
import { callerCredentialsIn, presentedIn, remoteAddress, type Unary, unaryHandler } from './handler.ts'
import { readIssueRequest, readRevokeRequest } from './requests.ts'
import { issueResponse, revokeResponse } from './responses.ts'

interface TokenHandlers {
  readonly issue: Unary
  readonly revoke: Unary
}

/** @param reachable whether other machines can reach the listener */
export function tokenHandlers(services: Services, reachable: boolean): TokenHandlers {
  const { callers, log } = services
  return {
    issue: unaryHandler(log, (request, _metadata, call) => {
      const { requester, purpose, rejected } = readIssueRequest(request)
      const issued = issue(forCall(services), {
        requester:
          requester.type === 'password'
            ? requester
            : { ...requester, caller: callers.find(callerCredentialsIn(call, reachable)) },
        purpose,
        clientAddress: remoteAddress(call, reachable),
        rejected,
      })
      return andThen(issued, issueResponse)
    }),
    revoke: unaryHandler(log, async (request, _metadata, call) => {
      const token = readRevokeRequest(request)
      return revokeResponse(await revoke(forCall(services), token, presentedIn(call, reachable)))
    }),
  }
}
