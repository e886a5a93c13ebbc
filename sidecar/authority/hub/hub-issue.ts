/** Issues a token at the hub, with the password of the user. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Scope } from '../../../engine/index.ts'
import { ErrorInfo } from '../../../proto/gen/google/rpc/error_details.ts'
import { Status } from '../../../proto/gen/google/rpc/status.ts'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import { CALL_ERRORS, CallError, type CallErrorReason, callError } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import type { IssuedToken, PasswordRequester } from '../authority.ts'
import { RefusedElsewhere } from '../elsewhere.ts'
import type { HubLine } from './hub-line.ts'

const ISSUE = '/portcullis.v1.AuthorizationService/Issue'
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'

/** @throws CallError as the hub does; `DIRECTORY_UNAVAILABLE` if none answers */
export async function issueAt(
  line: Pick<HubLine, 'forward'>,
  { userName, account, password }: PasswordRequester,
  scope: Scope,
): Promise<IssuedToken> {
  const request = wire.IssueRequest.encode({
    requester: { $case: 'password', value: { userName, account, password: password.reveal() } },
    purpose: { $case: 'scope', value: { account: scope.account, project: scope.project ?? '' } },
    rejectedValue: '',
  }).finish()
  try {
    const answer = await line.forward(ISSUE, Buffer.from(request), {})
    return issuedOf(wire.IssueResponse.decode(new BinaryReader(answer)))
  } catch (error) {
    throw error instanceof RefusedElsewhere ? callErrorOf(error) : error
  }
}

function issuedOf({ value, kind, scope, issuedAt, expiresAt, tokenId }: wire.IssueResponse): IssuedToken {
  if (value === '' || scope === undefined || issuedAt === undefined)
    throw callError('DIRECTORY_UNAVAILABLE', {})
  return {
    value: new Secret(value),
    token: {
      ...{ kind, tokenId, issuedAtMs: issuedAt.getTime(), expiresAtMs: expiresAt?.getTime() },
      scope: { account: scope.account, ...(scope.project !== '' && { project: scope.project }) },
      // Nothing that is answered for a login says who it was: the client knows.
      subject: { id: '', name: '', type: 'service_user' },
    },
  }
}

function callErrorOf({ message, details }: RefusedElsewhere): CallError {
  for (const { typeUrl, value } of Status.decode(new BinaryReader(details)).details) {
    if (typeUrl !== ERROR_INFO) continue
    const { reason, metadata } = ErrorInfo.decode(new BinaryReader(value))
    if (Object.hasOwn(CALL_ERRORS, reason))
      return new CallError(reason as CallErrorReason, message, { metadata })
  }
  return callError('DIRECTORY_UNAVAILABLE', {})
}
