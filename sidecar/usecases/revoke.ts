/**
 * Revokes a token: by its value, for its holder, for who administers its account and for an operator; or by its id, for an
 * operator.
 */
import { type Actor, trusted } from '../authority/actor.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import type { Caller, Callers, IdentifiedCaller } from './callers.ts'
import { callerAuthor, type PresentedCredentials, type UserByToken, userByIamToken } from './requester.ts'
import { revokingUser } from './revocation-right.ts'
import type { CallServices } from './services.ts'

export type RevokeRequest =
  | { readonly type: 'value'; readonly value: Secret }
  | { readonly type: 'token_id'; readonly tokenId: string }

export interface Revoked {
  readonly tokenId: string
  /** When it was first revoked, in milliseconds since the epoch. */
  readonly revokedAtMs: number
}

type RevokeServices = Pick<
  CallServices,
  'engine' | 'authority' | 'verifier' | 'upstreams' | 'administration' | 'callers' | 'now'
>

/** Revoking twice is no error, and revoking an expired token neither. @throws CallError */
export async function revoke(
  services: RevokeServices,
  request: RevokeRequest,
  credentials: PresentedCredentials,
): Promise<Revoked> {
  return request.type === 'token_id'
    ? revokeById(services, request.tokenId, credentials)
    : revokeByValue(services, request.value, credentials)
}

async function revokeById(
  { authority, callers }: RevokeServices,
  tokenId: string,
  credentials: PresentedCredentials,
): Promise<Revoked> {
  const caller = callers.find(credentials)
  if (caller === undefined) throw callError('CALLER_TOKEN_MISSING', { action: 'revoking by token id' })
  const actor = revokingCaller(callers, caller, credentials, 'revoke by token id')
  return { tokenId, revokedAtMs: await authority.revoke(actor, { tokenId, account: '' }) }
}

/**
 * A caller who was named decides, or else a user, or else the token itself: who holds an IAM token may end it. A static token
 * is no credential for anything but the APIs, so whoever found one cannot end it. A client certificate comes with every
 * call, so it adds its caller's right to revoke, and takes from nobody what the token itself allows.
 */
async function revokeByValue(
  services: RevokeServices,
  value: Secret,
  credentials: PresentedCredentials,
): Promise<Revoked> {
  const { authority, verifier, engine, callers } = services
  const found = callers.find(credentials)
  const named = found?.identifiedBy.type === 'token'
  // Before anything is said about the token.
  if (named && found.rights.administer.size === 0) expectRightToRevoke(found, 'revoke a token')
  const caller = named || (found && mayRevokeSome(found)) ? found : undefined
  const [iamToken] = credentials.iamToken
  const presented = caller === undefined && iamToken !== undefined
  // An upstream judges by its own tokens, and knows no token of ours.
  if (presented && authority.recognize(value.reveal()) !== 'control_panel') {
    const revoked = await revokedByUserOfUpstream(services, value, credentials)
    if (revoked !== undefined) return revoked
  }
  const requester = presented ? await onlyUser(services, credentials) : undefined
  const unknown = caller === undefined && requester === undefined
  const isStatic = authority.recognize(value.reveal()) === 'control_panel'
  if (unknown && (presented || isStatic))
    throw callError('REQUESTER_NOT_AUTHENTICATED', { credential: CREDENTIAL })
  const from = { connection: credentials.connection, lookedUp: true }
  const { token } = await verifier.verify(value.reveal(), engine.tokenKinds, from)
  if (token === undefined) throw callError('CREDENTIAL_INVALID', {})
  const { tokenId, scope, subject } = token
  if (token.authority !== undefined) {
    if (requester !== undefined) throw callError('NOT_HOLDER_NOR_ADMINISTRATOR', {})
    const decides = caller !== undefined && (named || mayRevoke(caller, scope.account))
    if (decides) expectRightToRevoke(caller, 'revoke this token', scope.account)
    return revokeUpstream(services, token, value, decides ? undefined : value)
  }
  const revocation = { tokenId, account: scope.account, holderId: subject.id }
  const decides = caller !== undefined && (named || isStatic || mayRevoke(caller, scope.account))
  const actor = decides
    ? revokingCaller(callers, caller, credentials, 'revoke this token', scope.account)
    : requester !== undefined
      ? revokingUser(services, requester, token, CREDENTIAL)
      : holder(token, credentials)
  return { tokenId, revokedAtMs: await authority.revoke(actor, revocation) }
}

/** @returns `undefined` where the requester presents no token of an upstream */
async function revokedByUserOfUpstream(
  services: RevokeServices,
  value: Secret,
  { iamToken: [presented = '', ...more], connection }: PresentedCredentials,
): Promise<Revoked | undefined> {
  const { verifier, engine } = services
  if (more.length > 0) return undefined
  const from = { connection }
  const requester = await verifier.verify(presented, engine.tokenKinds, from)
  if (!requester.ok || requester.token.authority === undefined) return undefined
  const { token } = await verifier.verify(value.reveal(), engine.tokenKinds, from)
  if (token === undefined) throw callError('CREDENTIAL_INVALID', {})
  if (token.authority !== requester.token.authority) throw callError('NOT_HOLDER_NOR_ADMINISTRATOR', {})
  return revokeUpstream(services, token, value, new Secret(presented))
}

async function revokeUpstream(
  { upstreams, now }: RevokeServices,
  { tokenId, authority = '' }: VerifiedToken,
  value: Secret,
  by: Secret | undefined,
): Promise<Revoked> {
  await upstreams.revoke(authority, value, by)
  return { tokenId, revokedAtMs: now() }
}

const CREDENTIAL =
  'a caller token (metadata `authorization: Bearer …`), or an IAM token of the holder or of an administrator of the account (metadata `x-auth-token`)'

/** The user of the one IAM token that was presented. */
async function onlyUser(
  services: RevokeServices,
  { iamToken: [value = '', ...more], clientAddress, connection, from, requestId }: PresentedCredentials,
): Promise<UserByToken | undefined> {
  return more.length === 0
    ? userByIamToken(services, { value, clientAddress, connection, from, requestId })
    : undefined
}

/** Whoever holds the token, as the actor who revokes it. */
function holder(
  { subject, tokenId, scope }: VerifiedToken,
  { from, requestId }: PresentedCredentials,
): Actor {
  return {
    ...trusted(`whoever holds the token of ${subject.type} ${subject.id}`, 'revocations'),
    principal: subject.id,
    origin: { ...from, requestId, tokenId, account: scope.account },
  }
}

/** The caller as the actor who revokes a token. The right is decided now, and again inside the change's transaction. */
function revokingCaller(
  callers: Callers,
  caller: IdentifiedCaller,
  { from, requestId }: PresentedCredentials,
  action: string,
  account?: string,
): Actor {
  expectRightToRevoke(caller, action, account)
  return {
    ...callerAuthor({ caller, from, requestId }, caller.rights.revoke ? 'operators' : 'revocations'),
    confirm: () => expectRightToRevoke(callers.confirm(caller), action, account),
    authorize: () => {},
  }
}

/** @param account of the token, where it is known: who administers that may revoke it */
function expectRightToRevoke(caller: Caller, action: string, account?: string): void {
  if (!mayRevoke(caller, account))
    throw callError('CALLER_RIGHT_MISSING', { caller: caller.name, action, right: 'revoke' })
}

function mayRevoke({ rights }: Caller, account: string | undefined): boolean {
  return rights.everything || rights.revoke || (account !== undefined && rights.administer.has(account))
}

/** Whether there may be a token that the caller may revoke. */
function mayRevokeSome(caller: Caller): boolean {
  return mayRevoke(caller, undefined) || caller.rights.administer.size > 0
}
