/** The identity endpoint (§4.1): tokens for service users by password, and what may be asked about a token, and by whom. */
import { createHash } from 'node:crypto'
import type { CredentialHeaders, Scope } from '../../engine/index.ts'
import type { Administration, UserRecord } from '../authority/administration/administration.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import { canBeName } from '../authority/names.ts'
import { CallError, callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import { kindForScope } from './issue.ts'
import { type UserRequester, userByIamToken } from './requester.ts'
import { expectHolderOrAdministrator, isHolder, revokingUser } from './revocation-right.ts'
import type { CallServices } from './services.ts'

/** An account by its number, or by the id that the directory gave it. */
export type AccountReference = { readonly name: string } | { readonly id: string }

/** What a login says (§2.2), with an id in place of a name where the client sends one. */
export interface Login {
  readonly user: { readonly name: string; readonly account: AccountReference } | { readonly id: string }
  readonly password: Secret
  readonly scope:
    | { readonly type: 'account'; readonly account: AccountReference }
    | { readonly type: 'project'; readonly name: string; readonly account: AccountReference }
    | { readonly type: 'project_id'; readonly id: string }
  /** Where the request came from. */
  readonly clientAddress: string
}

/** A token, and what the directory says of its holder and its account now. */
export interface IdentityToken {
  readonly token: VerifiedToken
  readonly accountId: string
  /** For example `iam.admin` (§5.1). */
  readonly roles: readonly string[]
}

/** Which token a requester asks about. */
export interface TokenQuestion {
  /** Where the requester's own token is. */
  readonly headers: CredentialHeaders
  /** Where the requester is, for accounts that restrict addresses (§1). */
  readonly clientAddress: string
  /** The token that is asked about, as it arrived. */
  readonly subject: string
  /** Whether a token that expired in the last 48 hours counts as active. */
  readonly acceptExpired: boolean
}

type IdentityServices = Pick<CallServices, 'engine' | 'authority' | 'administration' | 'now'>

/** A token for a service user. Everyone whose login fails, for whatever reason, gets the same answer at the same cost. @throws CallError */
export async function logIn(
  { engine, authority, administration }: IdentityServices,
  { user, password, scope, clientAddress }: Login,
): Promise<{ readonly value: Secret; readonly issued: IdentityToken }> {
  const login = { ...(await userFor(administration, user)), password }
  const wanted = await scopeFor(administration, scope)
  try {
    const { value, token } = await authority.issue(login, kindForScope(engine, wanted), wanted, {
      address: clientAddress,
      restricted: true,
    })
    const holder = await administration.users.byId(token.subject.id)
    return { value, issued: await withRecords(administration, token, holder) }
  } catch (error) {
    throw error instanceof CallError && error.row.login !== undefined ? loginRefused(error) : error
  }
}

/** The one answer to every login that fails. @param cause why it did, for the log alone */
export function loginRefused(cause?: CallError): CallError {
  return callError('LOGIN_REFUSED', {}, { cause })
}

/** The token that is asked about, if it is active and the requester may know. @throws CallError */
export async function validate(services: IdentityServices, question: TokenQuestion): Promise<IdentityToken> {
  const { administration } = services
  const { token, requester } = await activeSubject(services, question)
  const holder = isHolder(requester, token)
    ? requester.user
    : await administration.users.byId(token.subject.id)
  return withRecords(administration, token, holder)
}

/** Revokes the token that is asked about, if it is active and the requester may. @throws CallError */
export async function revokeSubject(services: IdentityServices, question: TokenQuestion): Promise<void> {
  const { token, requester } = await activeSubject(services, question)
  const { tokenId, scope, subject } = token
  await services.authority.revoke(revokingUser(services, requester, token, IDENTITY_CREDENTIAL), {
    tokenId,
    account: scope.account,
    holderId: subject.id,
  })
}

/** The user whose active IAM token is in the header that carries it. @throws CallError where there is none */
export async function authenticate(
  services: IdentityServices,
  { headers, clientAddress }: Pick<TokenQuestion, 'headers' | 'clientAddress'>,
): Promise<UserRequester> {
  const { engine } = services
  const found = engine.extract(headers)
  const requester = found.ok
    ? await userByIamToken(services, { value: found.value, clientAddress })
    : undefined
  const header = engine.tokenKinds.get(requester?.token.kind ?? '')?.header.toLowerCase()
  if (found.ok && requester !== undefined && header === found.header) return requester
  throw callError('REQUESTER_NOT_AUTHENTICATED', {
    credential: IDENTITY_CREDENTIAL,
  })
}

const IDENTITY_CREDENTIAL = 'one active IAM token, in the header that carries it'

async function activeSubject(
  services: IdentityServices,
  question: TokenQuestion,
): Promise<{ readonly token: VerifiedToken; readonly requester: UserRequester }> {
  const requester = await authenticate(services, question)
  const token = await activeToken(services, question)
  if (token === undefined) throw callError('NOT_FOUND', { what: 'such token; expected an active IAM token' })
  expectHolderOrAdministrator(requester, token)
  return { token, requester }
}

async function activeToken(
  { engine, authority }: IdentityServices,
  { subject, acceptExpired }: Pick<TokenQuestion, 'subject' | 'acceptExpired'>,
): Promise<VerifiedToken | undefined> {
  if (authority.recognize(subject) !== 'issue') return undefined
  const verification = await authority.verify(subject, engine.tokenKinds, undefined, acceptExpired)
  // Where an account restricts addresses, the holder's counts, and this is not the holder's request.
  const active = verification.ok || verification.reason === 'ADDRESS_NOT_ALLOWED'
  const { token } = verification
  return active && token !== undefined && engine.tokenKinds.has(token.kind) ? token : undefined
}

/** @param holder who holds the token; `undefined`: they were deleted meanwhile */
async function withRecords(
  { accounts }: Administration,
  token: VerifiedToken,
  holder: UserRecord | undefined,
): Promise<IdentityToken> {
  const { id: accountId } = await accounts.get(token.scope.account)
  return { token, accountId, roles: holder?.roles ?? [] }
}

async function userFor(
  administration: Administration,
  user: Login['user'],
): Promise<{ readonly account: string; readonly userName: string }> {
  if ('name' in user) {
    if (!canBeName(user.name)) return { account: nowhere(user.name), userName: UNKNOWN }
    return { account: await accountFor(administration, user.account), userName: user.name }
  }
  const found = canBeName(user.id) ? await administration.users.byId(user.id) : undefined
  return { account: found?.account ?? nowhere(user.id), userName: found?.name ?? UNKNOWN }
}

async function scopeFor(administration: Administration, scope: Login['scope']): Promise<Scope> {
  if (scope.type === 'account') return { account: await accountFor(administration, scope.account) }
  if (scope.type === 'project') {
    if (!canBeName(scope.name)) return { account: nowhere(scope.name), project: UNKNOWN }
    return { account: await accountFor(administration, scope.account), project: scope.name }
  }
  const found = canBeName(scope.id) ? await administration.projects.byId(scope.id) : undefined
  return { account: found?.account ?? nowhere(scope.id), project: found?.name ?? UNKNOWN }
}

async function accountFor(administration: Administration, reference: AccountReference): Promise<string> {
  if ('name' in reference) return canBeName(reference.name) ? reference.name : nowhere(reference.name)
  const found = canBeName(reference.id) ? await administration.accounts.byId(reference.id) : undefined
  return found?.account ?? nowhere(reference.id)
}

/**
 * Number of a missing account, as no account number has a space: a login in it fails like any other and costs as much.
 * One for each name, because failed logins are counted by user.
 */
function nowhere(name: string): string {
  return `no account ${createHash('sha256').update(name).digest('hex')}`
}

/** Name of a missing user or project. */
const UNKNOWN = 'unknown'
