/**
 * Reads requests into values. A request that does not follow the contract is refused with the path of the
 * field.
 */
import type { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Scope } from '../../engine/index.ts'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import type { Scope as WireScope } from '../../proto/gen/portcullis/v1/decision.ts'
import type { PasswordRequester } from '../authority/authority.ts'
import { PASSWORD_LENGTH_MAX } from '../authority/password.ts'
import { type FieldViolation, invalidArgument } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import type { Purpose } from '../usecases/issue.ts'
import { ISSUE_REQUEST, REVOKE_REQUEST } from './field-numbers.ts'
import { decoded } from './handler.ts'

/** The requester of a token: a service user with their password, or a caller with the name of a profile. */
type IssueRequester =
  | { readonly type: 'password'; readonly login: PasswordRequester }
  | { readonly type: 'profile'; readonly name: string }

/** The token of a `Revoke`: its value, or its id. */
export type TokenToRevoke =
  | { readonly type: 'value'; readonly value: Secret }
  | { readonly type: 'token_id'; readonly tokenId: string }

/** Most APIs in one `Issue` or `Plan`. */
const APIS_MAX = 10_000

/** A request for a token, as it was read. */
export interface IssueQuestion {
  readonly requester: IssueRequester
  readonly purpose: Purpose
  /** The place to send the token in, by its name; `undefined`: the first one. */
  readonly place: string | undefined
  /** A token that an API has just refused. */
  readonly rejected: Secret | undefined
}

export function readIssueRequest(bytes: Uint8Array): IssueQuestion {
  const { requester, purpose, rejectedValue, place } = decoded(bytes, wire.IssueRequest.decode)
  const fields = decoded(bytes, fieldNumbers)
  const violations: FieldViolation[] = []
  const requireText = (field: string, value: string | undefined, expected: string) => {
    if (value === undefined || value === '') violations.push({ field, expected })
  }
  if ((fields.has(ISSUE_REQUEST.password) && fields.has(ISSUE_REQUEST.profile)) || requester === undefined)
    violations.push({ field: 'requester', expected: 'exactly one of password and profile' })
  else if (requester.$case === 'profile') requireText('profile', requester.value, 'the name of a profile')
  else {
    const { userName, account, password } = requester.value
    requireText('password.user_name', userName, 'the name of the service user')
    requireText('password.account', account, 'the account number')
    requireText('password.password', password, 'the password of the service user')
    if (password.length > PASSWORD_LENGTH_MAX)
      violations.push({ field: 'password.password', expected: `at most ${PASSWORD_LENGTH_MAX} characters` })
  }
  if ((fields.has(ISSUE_REQUEST.scope) && fields.has(ISSUE_REQUEST.apis)) || purpose === undefined)
    violations.push({ field: 'purpose', expected: 'exactly one of scope and apis' })
  else if (purpose.$case === 'scope')
    requireText('scope.account', purpose.value.account, 'the account number')
  else violations.push(...apiListViolations('apis.apis', purpose.value.apis))
  if (violations.length > 0 || requester === undefined || purpose === undefined)
    throw invalidArgument(...violations)

  return {
    requester:
      requester.$case === 'profile'
        ? { type: 'profile', name: requester.value }
        : {
            type: 'password',
            login: { ...requester.value, password: new Secret(requester.value.password) },
          },
    purpose:
      purpose.$case === 'scope'
        ? { type: 'scope', scope: scopeOf(purpose.value) as Scope }
        : { type: 'apis', apis: purpose.value.apis, project: purpose.value.project || undefined },
    place: place || undefined,
    rejected: rejectedValue === '' ? undefined : new Secret(rejectedValue),
  }
}

export function readRevokeRequest(bytes: Uint8Array): TokenToRevoke {
  const { token } = decoded(bytes, wire.RevokeRequest.decode)
  const fields = decoded(bytes, fieldNumbers)
  if (
    (fields.has(REVOKE_REQUEST.value) && fields.has(REVOKE_REQUEST.tokenId)) ||
    token === undefined ||
    token.value === ''
  )
    throw invalidArgument({ field: 'token', expected: 'exactly one of value and token_id, not empty' })
  if (token.$case === 'value') {
    if (!/^[\x21-\x7e]+$/.test(token.value))
      throw invalidArgument({
        field: 'value',
        expected: 'a token alone, without a scheme: visible ASCII characters and no white space',
      })
    return { type: 'value', value: new Secret(token.value) }
  }
  if (!/^[\w-]{22}$/.test(token.value))
    throw invalidArgument({
      field: 'token_id',
      expected: token.value.includes(':')
        ? 'the id of a token of the directory; a token of an upstream is revoked by its value'
        : 'a token id: 22 characters of base64url',
    })
  return { type: 'token_id', tokenId: token.value }
}

export function readPlanRequest(bytes: Uint8Array): { apis: string[] } {
  decoded(bytes, fieldNumbers)
  const { apis } = decoded(bytes, wire.PlanRequest.decode)
  const violations = apiListViolations('apis', apis)
  if (violations.length > 0) throw invalidArgument(...violations)
  return { apis }
}

function apiListViolations(field: string, apis: readonly string[]): FieldViolation[] {
  if (apis.length > 0 && apis.length <= APIS_MAX) return []
  return [{ field, expected: `1 to ${APIS_MAX} ids of APIs, found ${apis.length}` }]
}

/** On the wire, an empty project means that the scope has no project. */
function scopeOf(scope: WireScope | undefined): Scope | undefined {
  if (scope === undefined) return undefined
  return { account: scope.account, project: scope.project === '' ? undefined : scope.project }
}

/**
 * Returns the numbers of the fields that are present. If both fields of a `oneof` arrive, the decoder
 * silently keeps the last one. With these numbers the request can be refused instead.
 */
function fieldNumbers(reader: BinaryReader): ReadonlySet<number> {
  const found = new Set<number>()
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    found.add(field)
    reader.skip(type, field)
  }
  return found
}
