/** The identity endpoint (§4.1): tokens for service users by password, and what may be asked about a token, and by whom. */
import { createHash } from 'node:crypto'
import type { CredentialHeaders, Engine, Scope } from '../../engine/index.ts'
import type { Authority, VerifiedToken } from '../authority/authority.ts'
import { canBeName } from '../authority/lookups.ts'
import { CallError, callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import { administers } from './directory.ts'
import { kindForScope } from './issue.ts'
import { requesterOf } from './requester.ts'

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
}

export interface IdentityServices {
  readonly engine: Engine
  readonly authority: Authority
  readonly administration: IdentityRecords
}

/** The records that names and ids are looked up in. */
export interface IdentityRecords {
  /** @throws CallError where there is none */
  account(account: string): Promise<{ readonly id: string }>
  accountById(id: string): Promise<{ readonly account: string } | undefined>
  projectById(id: string): Promise<{ readonly account: string; readonly name: string } | undefined>
  userById(id: string): Promise<IdentityUser | undefined>
}

interface IdentityUser {
  readonly account: string
  readonly name: string
  readonly owner: boolean
  readonly roles: readonly string[]
}

/**
 * A token for a service user. Everyone whose login fails, for whatever reason, gets the same answer at the same cost.
 *
 * @param from address that the request came from
 * @throws CallError
 */
export async function logIn(
  { engine, authority, administration }: IdentityServices,
  { user, password, scope }: Login,
  from: string,
): Promise<{ readonly value: Secret; readonly issued: IdentityToken }> {
  const requester = { ...(await userFor(administration, user)), password }
  const wanted = await scopeFor(administration, scope)
  try {
    const { value, token } = await authority.issue(requester, kindForScope(engine, wanted), wanted, {
      address: from,
      restricted: true,
    })
    return { value, issued: await withRecords(administration, token) }
  } catch (error) {
    throw error instanceof CallError && error.row.login !== undefined ? loginRefused(error) : error
  }
}

/** The one answer to every login that fails. @param cause why it did, for the log alone */
export function loginRefused(cause?: CallError): CallError {
  return callError('LOGIN_REFUSED', {}, { cause })
}

/**
 * The token that is asked about, if it is active and the requester may know.
 *
 * @param evenExpired whether a token that expired in the last 48 hours is shown as if it had not
 * @throws CallError
 */
export async function validate(
  services: IdentityServices,
  question: TokenQuestion,
  evenExpired: boolean,
): Promise<IdentityToken> {
  const { token } = await activeSubject(services, question, evenExpired)
  return withRecords(services.administration, token)
}

/** Revokes the token that is asked about, if it is active and the requester may. @throws CallError */
export async function revokeSubject(services: IdentityServices, question: TokenQuestion): Promise<void> {
  const { token, requester } = await activeSubject(services, question, false)
  // Middleware validates with a token of its project; to end what others hold takes one for the account, as all administration does.
  if (requester.subject.id !== token.subject.id && requester.scope.project !== undefined)
    throw callError('ACCOUNT_SCOPE_REQUIRED', {})
  const { tokenId, scope, expiresAtMs } = token
  const actor = `${requester.subject.type} ${requester.subject.id}`
  await services.authority.revoke({ tokenId, account: scope.account, expiresAtMs, actor })
}

/** The active IAM token of the requester. @throws CallError where there is none */
export async function authenticate(
  services: IdentityServices,
  { headers, clientAddress }: Pick<TokenQuestion, 'headers' | 'clientAddress'>,
): Promise<VerifiedToken> {
  const { engine } = services
  const found = engine.extract(headers)
  const token = found.ok ? await requesterOf(services, found.value, clientAddress) : undefined
  const header = engine.tokenKinds.get(token?.kind ?? '')?.header.toLowerCase()
  if (found.ok && token !== undefined && header === found.header) return token
  throw callError('REQUESTER_NOT_AUTHENTICATED', {
    credential: 'one active IAM token, in the header that carries it',
  })
}

async function activeSubject(
  services: IdentityServices,
  question: TokenQuestion,
  evenExpired: boolean,
): Promise<{ readonly token: VerifiedToken; readonly requester: VerifiedToken }> {
  const requester = await authenticate(services, question)
  const token = await vouchedFor(services, question.subject, evenExpired)
  if (token === undefined) throw callError('NOT_FOUND', { what: 'such token; expected an active IAM token' })
  if (!(await mayAskAbout(services.administration, requester, token)))
    throw callError('NOT_HOLDER_NOR_ADMINISTRATOR', {})
  return { token, requester }
}

async function vouchedFor(
  { engine, authority }: IdentityServices,
  value: string,
  evenExpired: boolean,
): Promise<VerifiedToken | undefined> {
  if (authority.formOf(value) !== 'issue') return undefined
  const verification = await authority.verify(value, engine.tokenKinds, undefined, evenExpired)
  // Where an account restricts addresses, the holder's counts, and this is not the holder's request.
  const active = verification.ok || verification.reason === 'ADDRESS_NOT_ALLOWED'
  const { token } = verification
  return active && token !== undefined && engine.tokenKinds.has(token.kind) ? token : undefined
}

/** The holder, with any of their tokens, and the administrators of the token's account. */
async function mayAskAbout(
  records: IdentityRecords,
  requester: VerifiedToken,
  token: VerifiedToken,
): Promise<boolean> {
  if (requester.subject.id === token.subject.id) return true
  const user = await records.userById(requester.subject.id)
  return user !== undefined && user.account === token.scope.account && administers(user)
}

async function withRecords(records: IdentityRecords, token: VerifiedToken): Promise<IdentityToken> {
  const { id: accountId } = await records.account(token.scope.account)
  const user = await records.userById(token.subject.id)
  return { token, accountId, roles: user?.roles ?? [] }
}

async function userFor(
  records: IdentityRecords,
  user: Login['user'],
): Promise<{ readonly account: string; readonly userName: string }> {
  if ('name' in user) {
    if (!canBeName(user.name)) return { account: nowhere(user.name), userName: UNKNOWN }
    return { account: await accountFor(records, user.account), userName: user.name }
  }
  const found = canBeName(user.id) ? await records.userById(user.id) : undefined
  return { account: found?.account ?? nowhere(user.id), userName: found?.name ?? UNKNOWN }
}

async function scopeFor(records: IdentityRecords, scope: Login['scope']): Promise<Scope> {
  if (scope.type === 'account') return { account: await accountFor(records, scope.account) }
  if (scope.type === 'project') {
    if (!canBeName(scope.name)) return { account: nowhere(scope.name), project: UNKNOWN }
    return { account: await accountFor(records, scope.account), project: scope.name }
  }
  const found = canBeName(scope.id) ? await records.projectById(scope.id) : undefined
  return { account: found?.account ?? nowhere(scope.id), project: found?.name ?? UNKNOWN }
}

async function accountFor(records: IdentityRecords, reference: AccountReference): Promise<string> {
  if ('name' in reference) return canBeName(reference.name) ? reference.name : nowhere(reference.name)
  const found = canBeName(reference.id) ? await records.accountById(reference.id) : undefined
  return found?.account ?? nowhere(reference.id)
}

/**
 * An account that is not there, as no account number has a space: a login in it fails like any other and costs as
 * much. One for each name, because failed logins are counted by user.
 */
function nowhere(name: string): string {
  return `no account ${createHash('sha256').update(name).digest('hex')}`
}

/** Name of whoever and whatever is not there. */
const UNKNOWN = 'unknown'
