/** `Issue` and `Revoke`. */
import type { ServerUnaryCall } from '@grpc/grpc-js'
import { issue } from '../usecases/issue.ts'
import { PROFILES_ORIGIN, profileFor } from '../usecases/profiles.ts'
import { revoke } from '../usecases/revoke.ts'
import type { Services } from '../usecases/services.ts'
import { remoteAddress, type Unary, unaryHandler } from './handler.ts'
import { readIssueRequest, readRevokeRequest } from './requests.ts'
import { issueResponse, revokeResponse } from './responses.ts'

interface TokenHandlers {
  readonly issue: Unary
  readonly revoke: Unary
}

/** @param reachable whether other machines can reach the listener */
export function tokenHandlers(services: Services, reachable: boolean): TokenHandlers {
  const { rules, authority, callers, profiles, now, log } = services
  const callerOf = ({ metadata }: ServerUnaryCall<Buffer, Buffer>) =>
    callers.find(metadata.get('authorization').map(String))
  return {
    issue: unaryHandler(log, async (request, _metadata, call) => {
      const { requester, purpose } = readIssueRequest(request)
      const holder =
        requester.type === 'password' ? requester : profileFor(profiles, requester.name, callerOf(call))
      const from = requester.type === 'password' ? remoteAddress(call, reachable) : PROFILES_ORIGIN
      return issueResponse(await issue(rules.engine, authority, holder, purpose, from))
    }),
    revoke: unaryHandler(log, async (request, _metadata, call) => {
      const revocation = readRevokeRequest(request)
      return revokeResponse(
        await revoke(
          rules.engine,
          authority,
          revocation.type === 'value' ? revocation : { ...revocation, caller: callerOf(call) },
          now(),
        ),
      )
    }),
  }
}
