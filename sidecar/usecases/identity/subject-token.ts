/** The token that the identity endpoint (§4.1) is asked to validate or to revoke, and who may ask. */
import type { TokenKind } from '../../../engine/index.ts'
import { isUnscoped, type Verification, type VerifiedToken } from '../../authority/authority.ts'
import { ownTokenIn } from '../../authority/own-form.ts'
import { type CallError, callError } from '../../base/call-error.ts'
import type { UserByToken } from '../requester.ts'
import {
  expectAdministrator,
  expectHolderOrAdministrator,
  isHolder,
  revokeInDirectory,
  revokingUser,
} from '../revocation-right.ts'
import { authenticate, IDENTITY_CREDENTIAL, type IdentityRequest } from './authenticate.ts'
import { type IdentityServices, type IdentityToken, withRecords } from './identity-token.ts'

/** The token that a requester asks about. */
export interface TokenQuestion extends IdentityRequest {
  /** The token that is asked about, as it arrived; `undefined`: none did. */
  readonly subject: string | undefined
  /** Whether a token that expired in the last 48 hours counts as active. */
  readonly acceptExpired: boolean
}

/** The token that is asked about, if it is active and the requester may know. @throws CallError */
export async function validate(services: IdentityServices, question: TokenQuestion): Promise<IdentityToken> {
  const { records } = services.administration
  const { token, requester } = await activeSubject(services, question, 'validate')
  // The user of a limited application credential is known here without their roles.
  // Survives: `requester.token.applicationCredential?.limited !== true` → `false`. It only spares to look up
  // the requester once more.
  const isWhole = requester.token.applicationCredential?.limited !== true
  const holder =
    // Survives: `isHolder(requester, token) && isWhole` → `false`. It only spares to look up the requester
    // once more.
    isHolder(requester, token) && isWhole ? requester.user : await records.userById(token.subject.id)
  return withRecords(services, token, holder)
}

/** Revokes the token that is asked about, if it is active and the requester may. @throws CallError */
export async function revokeSubject(services: IdentityServices, question: TokenQuestion): Promise<void> {
  // Survives: `'revoke'` → `""`. A token that is not for validating is for revoking.
  const { token, requester } = await activeSubject(services, question, 'revoke')
  const { tokenId, scope, subject } = token
  const revoker = revokingUser(services, requester, token, IDENTITY_CREDENTIAL)
  const revocation = { tokenId, account: scope.account, holderId: subject.id }
  await revokeInDirectory(services.administration, revoker, revocation)
}

async function activeSubject(
  services: IdentityServices,
  question: TokenQuestion,
  purpose: 'validate' | 'revoke',
): Promise<{ readonly token: VerifiedToken; readonly requester: UserByToken }> {
  const requester = await authenticate(services, question)
  const { subject } = question
  if (subject === undefined) {
    // As Keystone does: a user who could ask about tokens of others learns that there is none, and no other
    // user may ask.
    expectRight(requester, undefined, purpose)
    throw noSuchToken()
  }
  const token =
    purpose === 'validate'
      ? await activeToken(services, subject, question)
      : await revocableToken(services, subject, question)
  if (token === undefined) throw noSuchToken()
  expectRight(requester, token, purpose)
  return { token, requester }
}

/** @param token `undefined`: of another user @throws CallError: PERMISSION_DENIED */
function expectRight(
  requester: UserByToken,
  token: VerifiedToken | undefined,
  purpose: 'validate' | 'revoke',
): void {
  if (purpose === 'validate' && requester.user.validator && !isUnscoped(requester.token)) return
  if (token === undefined) expectAdministrator(requester, requester.user.account)
  else expectHolderOrAdministrator(requester, token)
}

function noSuchToken(): CallError {
  return callError('NOT_FOUND', { what: 'such token; expected an active IAM token' })
}

async function activeToken(
  { engine, authority, settings }: IdentityServices,
  subject: string,
  { connection, acceptExpired }: Pick<TokenQuestion, 'connection' | 'acceptExpired'>,
): Promise<VerifiedToken | undefined> {
  if (authority.recognize(subject, engine.tokenKinds) !== 'issue') return undefined
  const verification = await authority.verify(subject, engine.tokenKinds, { connection, acceptExpired })
  const { token } = verification
  const active = isActive(verification)
  // Survives: `token === undefined` → `false`. An active token is there.
  if (!active || token === undefined) return undefined
  const known = isUnscoped(token) ? settings.unscopedLogin : engine.tokenKinds.has(token.kind)
  return known ? token : undefined
}

/**
 * A token that was issued under another matrix may be active again when that is in force, so only the
 * directory says whether there is something to revoke.
 */
async function revocableToken(
  { authority }: IdentityServices,
  subject: string,
  { connection }: Pick<TokenQuestion, 'connection'>,
): Promise<VerifiedToken | undefined> {
  const own = ownTokenIn(subject)
  if (own === undefined || authority.recognize(own, NO_KINDS) !== 'issue') return undefined
  const verification = await authority.verify(own, NO_KINDS, { connection })
  return isActive(verification) ? verification.token : undefined
}

/** Where an account restricts addresses, the holder's counts, and this is not the holder's request. */
function isActive(verification: Verification): boolean {
  return verification.ok || verification.reason === 'ADDRESS_NOT_ALLOWED'
}

const NO_KINDS: ReadonlyMap<string, TokenKind> = new Map()
