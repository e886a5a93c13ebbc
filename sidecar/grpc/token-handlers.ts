/** The handlers of `Issue` and `Revoke`. */
import type { ServerUnaryCall } from '@grpc/grpc-js'
import { issue } from '../usecases/issue.ts'
import { revoke } from '../usecases/revoke.ts'
import { forCall, type Services } from '../usecases/services.ts'
import { presentedIn, remoteAddress, type Unary, unaryHandler } from './handler.ts'
import { readIssueRequest, readRevokeRequest } from './requests.ts'
import { issueResponse, revokeResponse } from './responses.ts'

interface TokenHandlers {
  readonly issue: Unary
  readonly revoke: Unary
}

/** @param reachable whether other machines can reach the listener */
export function tokenHandlers(services: Services, reachable: boolean): TokenHandlers {
  const { callers, log } = services
  const callerOf = ({ metadata }: ServerUnaryCall<Buffer, Buffer>) =>
    callers.find(metadata.get('authorization').map(String))
  return {
    issue: unaryHandler(log, async (request, _metadata, call) => {
      const { requester, purpose } = readIssueRequest(request)
      const issued = await issue(forCall(services), {
        requester: requester.type === 'password' ? requester : { ...requester, caller: callerOf(call) },
        purpose,
        clientAddress: remoteAddress(call, reachable),
      })
      return issueResponse(issued)
    }),
    revoke: unaryHandler(log, async (request, _metadata, call) => {
      const token = readRevokeRequest(request)
      return revokeResponse(await revoke(forCall(services), token, presentedIn(call, reachable)))
    }),
  }
}
