/** Issues a token at the hub, with the password of the user. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Scope } from '../../../engine/index.ts'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import { callError } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import type { IssuedToken, PasswordRequester } from '../authority.ts'
import type { Presented } from '../elsewhere.ts'
import type { HubLine } from './hub-line.ts'
import { readAnswer, timeOf } from './hub-messages.ts'

const ISSUE = '/portcullis.v1.AuthorizationService/Issue'

/** @throws CallError as the hub does; `DIRECTORY_UNAVAILABLE` if none answers */
export async function issueAt(
  line: Pick<HubLine, 'forward'>,
  { userName, account, password }: PasswordRequester,
  scope: Scope,
  presented: Presented,
): Promise<IssuedToken> {
  const request = wire.IssueRequest.encode({
    requester: { $case: 'password', value: { userName, account, password: password.reveal() } },
    purpose: { $case: 'scope', value: { account: scope.account, project: scope.project ?? '' } },
    rejectedValue: '',
    place: '',
  }).finish()
  const answer = await line.forward(ISSUE, Buffer.from(request), presented)
  return readAnswer(answer, (bytes) => issuedOf(wire.IssueResponse.decode(new BinaryReader(bytes))))
}

function issuedOf({ value, kind, scope, issuedAt, expiresAt, tokenId }: wire.IssueResponse): IssuedToken {
  if (value === '' || scope === undefined || issuedAt === undefined)
    throw callError('DIRECTORY_UNAVAILABLE', {})
  return {
    value: new Secret(value),
    token: {
      ...{ kind, tokenId, issuedAtMs: timeOf(issuedAt), expiresAtMs: expiresAt && timeOf(expiresAt) },
      scope: { account: scope.account, ...(scope.project !== '' && { project: scope.project }) },
      // Nothing that is answered for a login says who it was: the client knows.
      subject: { id: '', name: '', type: 'service_user' },
    },
  }
}
