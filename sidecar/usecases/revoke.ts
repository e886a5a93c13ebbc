/**
 * Revokes a token: by its value, for its holder, for administrators of its account and for an operator; or by
 * its id, for an operator.
 */
import type { TokenKind } from '../../engine/index.ts'
import { trusted } from '../authority/actor.ts'
import type { UpstreamRevocation, VerifiedToken, Verifier } from '../authority/authority.ts'
import { ownTokenIn } from '../authority/own-form.ts'
import { callError } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import type { Caller, Callers, IdentifiedCaller } from './callers.ts'
import type { Clocked } from './capabilities.ts'
import {
  type Authenticating,
  callerAuthor,
  type PresentedCredentials,
  type UserByToken,
  userByIamToken,
} from './requester.ts'
import {
  type AskerClass,
  type Ground,
  groundOf,
  type Revoker,
  revokeInDirectory,
  revokingUser,
  type TokenClass,
} from './revocation-right.ts'

export type RevokeRequest =
  | { readonly type: 'value'; readonly value: Secret }
  | { readonly type: 'token_id'; readonly tokenId: string }

export interface Revoked {
  readonly tokenId: string
  /** When it was first revoked, in milliseconds since the epoch. */
  readonly revokedAtMs: number
}

export interface Revoking extends Authenticating, Clocked {
  readonly verifier: Verifier
  readonly upstreams: UpstreamRevocation
  readonly callers: Callers
}

/** Neither a second revocation is an error, nor one of an expired token. @throws CallError */
export async function revoke(
  services: Revoking,
  request: RevokeRequest,
  credentials: PresentedCredentials,
): Promise<Revoked> {
  return request.type === 'token_id'
    ? revokeById(services, request.tokenId, credentials)
    : revokeByValue(services, request.value, credentials)
}

async function revokeById(
  { administration, callers }: Revoking,
  tokenId: string,
  credentials: PresentedCredentials,
): Promise<Revoked> {
  const caller = callers.find(credentials)
  if (caller === undefined) throw callError('CALLER_TOKEN_MISSING', { action: 'revoking by token id' })
  const revoker = revokingCaller(callers, caller, credentials, 'revoke by token id')
  return { tokenId, revokedAtMs: await revokeInDirectory(administration, revoker, { tokenId, account: '' }) }
}

/** The asker, as far as the call names it. */
type Asker =
  | { readonly type: 'named_caller' | 'caller_by_certificate'; readonly caller: IdentifiedCaller }
  | { readonly type: 'user'; readonly user: UserByToken }
  | { readonly type: 'user_of_upstream'; readonly authority: string; readonly presented: Secret }
  | { readonly type: 'unknown_user' | 'nobody' }

async function revokeByValue(
  services: Revoking,
  value: Secret,
  credentials: PresentedCredentials,
): Promise<Revoked> {
  const { authority, administration, engine, upstreams, now } = services
  // The matrix in force may not be the one that the token was issued or copied under.
  const own = new Secret(ownTokenIn(value.reveal()) ?? value.reveal())
  const isStatic = authority.recognize(own.reveal(), engine.tokenKinds) === 'control_panel'
  const asker = await askerOf(services, credentials, isStatic)
  // Before anything is said about the token.
  if (asker.type === 'named_caller' && asker.caller.rights.administer.size === 0)
    expectRightToRevoke(asker.caller, 'revoke a token')
  expectGround(groundOf(classOf(asker), isStatic ? 'static' : 'iam'), 'not_authenticated')
  const { token, spelling } = await foundToken(services, [own, value], credentials.connection)
  const ground = groundOf(classOf(asker, token), tokenClassOf(asker, token, isStatic))
  // Survives: `'not_authenticated'` → `""`. An unauthenticated caller was refused before the token was looked
  // at. Here it keeps a new ground safe.
  expectGround(ground, 'not_authenticated', 'not_holder')
  const { tokenId, scope, subject, authority: upstream } = token
  if (upstream !== undefined) {
    if (ground === 'right' && 'caller' in asker)
      expectRightToRevoke(asker.caller, 'revoke this token', scope.account)
    const presented = asker.type === 'user_of_upstream' ? asker.presented : spelling
    await upstreams.revoke(upstream, spelling, ground === 'right' ? undefined : presented)
    return { tokenId, revokedAtMs: now() }
  }
  const revocation = { tokenId, account: scope.account, holderId: subject.id }
  const revoker = revokerOf(services, asker, ground, token, credentials)
  return { tokenId, revokedAtMs: await revokeInDirectory(administration, revoker, revocation) }
}

/**
 * The token, and the spelling in which its authority knows it: the embedded one without a prefix, an upstream
 * with the prefix that it wrote.
 *
 * @throws CallError
 */
async function foundToken(
  { verifier, engine }: Revoking,
  spellings: readonly Secret[],
  connection: object,
): Promise<{ readonly token: VerifiedToken; readonly spelling: Secret }> {
  const kinds = new Map([...engine.tokenKinds, ...OF_NO_MATRIX])
  for (const spelling of spellings) {
    const { token } = await verifier.verify(spelling.reveal(), kinds, { connection, lookedUp: true })
    if (token !== undefined) return { token, spelling }
  }
  throw callError('CREDENTIAL_INVALID', {})
}

/** An upstream says what a token is bound to: where the matrix has no kind for that, it is one of these. */
const OF_NO_MATRIX: ReadonlyMap<string, TokenKind> = new Map(
  (['account', 'project'] as const).map((scopeLevel) => {
    const id = `none.${scopeLevel}`
    const words = { title: 'token of no kind', family: '', issuedTo: '', header: '', section: '' }
    return [
      id,
      { ...words, id, scopeLevel, obtained: { by: 'issue' }, permissionScopes: [], lifetimeSeconds: null },
    ]
  }),
)

/**
 * A caller is asked for first, then the presented IAM token. An upstream judges by its own tokens, and does
 * not know our tokens.
 */
async function askerOf(
  services: Revoking,
  credentials: PresentedCredentials,
  isStatic: boolean,
): Promise<Asker> {
  const caller = services.callers.find(credentials)
  if (caller?.identifiedBy.type === 'token') return { type: 'named_caller', caller }
  if (caller !== undefined && mayRevokeSome(caller)) return { type: 'caller_by_certificate', caller }
  const [presented, ...more] = credentials.iamToken
  if (presented === undefined) return { type: 'nobody' }
  if (more.length > 0) return { type: 'unknown_user' }
  const { verifier, engine } = services
  const { connection, clientAddress, from, requestId } = credentials
  if (!isStatic) {
    const verified = await verifier.verify(presented, engine.tokenKinds, { connection })
    if (verified.ok && verified.token.authority !== undefined)
      return {
        type: 'user_of_upstream',
        authority: verified.token.authority,
        presented: new Secret(presented),
      }
  }
  const about = { value: presented, clientAddress, connection, from, requestId }
  const user = await userByIamToken(services, about)
  return user === undefined ? { type: 'unknown_user' } : { type: 'user', user }
}

/** @param token absent: it is not known yet, and a certificate may give the right to revoke it */
function classOf(asker: Asker, token?: VerifiedToken): AskerClass {
  if (asker.type !== 'caller_by_certificate') return asker.type
  const hasRight = token === undefined || mayRevoke(asker.caller, token.scope.account)
  return hasRight ? 'caller_with_right' : 'caller_without_right'
}

function tokenClassOf(asker: Asker, { authority }: VerifiedToken, isStatic: boolean): TokenClass {
  if (authority === undefined) return isStatic ? 'static' : 'iam'
  // Survives: `asker.type === 'user_of_upstream'` → `true`. For all but users of upstreams, tokens of both
  // classes rest on the same ground.
  return asker.type === 'user_of_upstream' && asker.authority !== authority ? 'other_upstream' : 'upstream'
}

/** @throws CallError for a ground that refuses, if it is one of these */
function expectGround(ground: Ground, ...refusing: readonly Ground[]): void {
  if (!refusing.includes(ground)) return
  throw ground === 'not_holder'
    ? callError('NOT_HOLDER_NOR_ADMINISTRATOR', {})
    : callError('REQUESTER_NOT_AUTHENTICATED', { credential: CREDENTIAL })
}

function revokerOf(
  services: Revoking,
  asker: Asker,
  ground: Ground,
  token: VerifiedToken,
  credentials: PresentedCredentials,
): Revoker {
  if (ground === 'right' && 'caller' in asker) {
    const { account } = token.scope
    return revokingCaller(services.callers, asker.caller, credentials, 'revoke this token', account)
  }
  return asker.type === 'user'
    ? revokingUser(services, asker.user, token, CREDENTIAL)
    : holder(token, credentials)
}

const CREDENTIAL =
  'a caller token (`authorization: Bearer …`), or an IAM token of the holder or of an administrator of the account (`x-auth-token`)'

/** The holder of the token, whose right is the token itself. */
function holder(
  { subject, tokenId, scope }: VerifiedToken,
  { from, requestId }: PresentedCredentials,
): Revoker {
  return {
    author: {
      ...trusted(`the holder of the token of ${subject.type} ${subject.id}`, 'revocations'),
      principal: subject.id,
      origin: { ...from, requestId, tokenId, account: scope.account },
    },
    expectRight: () => {},
  }
}

/** The caller who revokes a token. @throws CallError: PERMISSION_DENIED */
function revokingCaller(
  callers: Callers,
  caller: IdentifiedCaller,
  { from, requestId }: PresentedCredentials,
  action: string,
  account?: string,
): Revoker {
  expectRightToRevoke(caller, action, account)
  return {
    author: callerAuthor({ caller, from, requestId }, caller.rights.revoke ? 'operators' : 'revocations'),
    expectRight: () => expectRightToRevoke(callers.confirm(caller), action, account),
  }
}

/** @param account of the token, where it is known: its administrators may revoke it */
function expectRightToRevoke(caller: Caller, action: string, account?: string): void {
  if (!mayRevoke(caller, account))
    throw callError('CALLER_RIGHT_MISSING', { caller: caller.name, action, right: 'revoke' })
}

function mayRevoke({ rights }: Caller, account: string | undefined): boolean {
  // Survives: `account !== undefined` → `true`. No caller administers an account that is not there.
  return rights.everything || rights.revoke || (account !== undefined && rights.administer.has(account))
}

/** Whether there may be a token that the caller may revoke. */
function mayRevokeSome(caller: Caller): boolean {
  return mayRevoke(caller, undefined) || caller.rights.administer.size > 0
}
