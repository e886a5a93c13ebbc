/**
 * The identity endpoint (§4.1): tokens for service users by password, and what may be asked about a token,
 * and by whom.
 */
import type { CredentialHeaders, Engine, Scope, TokenKind } from '../../engine/index.ts'
import type { Administration, UserRecord } from '../authority/administration/administration.ts'
import {
  type IssuedToken,
  isUnscoped,
  type Origin,
  UNSCOPED_KIND,
  type VerifiedToken,
} from '../authority/authority.ts'
import { sourceAt } from '../authority/login-source.ts'
import { CallError, callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Clocked } from './capabilities.ts'
import { kindForScope } from './issue.ts'
import { accountFor, projectFor, type Reference, type ReferenceInAccount, userFor } from './references.ts'
import { type Authenticating, type UserByToken, userByIamToken } from './requester.ts'
import {
  expectAdministrator,
  expectHolderOrAdministrator,
  isHolder,
  revokingUser,
} from './revocation-right.ts'
import { type RoleMapping, rolesOf } from './roles.ts'

/**
 * What the endpoint does beyond the source, as `http.roles` and `http.compatibility` of the configuration
 * say.
 */
export interface IdentitySettings {
  readonly roles: RoleMapping
  /** Whether a login without a scope gets an unscoped token, and whether such tokens are accepted. */
  readonly unscopedLogin: boolean
  /** Which tokens can be exchanged for one with another scope: none, unscoped ones, or any. */
  readonly tokenMethod: 'off' | 'unscoped' | 'any'
}

/** What a login says (§2.2), with an id in place of a name where the client sends one. */
export interface Login {
  readonly method:
    | { readonly type: 'password'; readonly user: ReferenceInAccount; readonly password: Secret }
    | { readonly type: 'token'; readonly value: Secret }
  readonly scope:
    | { readonly type: 'account'; readonly account: Reference }
    | { readonly type: 'project'; readonly project: ReferenceInAccount }
    | { readonly type: 'unscoped' }
  /** Where the request came from. */
  readonly clientAddress: string
  readonly connection: LoginConnection
}

/** A connection of a client. All requests on it have the same object. */
interface LoginConnection {
  /** Tells the connections of the client apart. */
  readonly name: string
}

/** A token, and what the directory says of its holder and its account now. */
export interface IdentityToken {
  readonly token: VerifiedToken
  /** Id of the account of its scope, which is also its holder's. */
  readonly accountId: string
  /** On its scope, for example `member`. */
  readonly roles: readonly string[]
  /** Whether it is bound to nothing; the account in its scope is then its holder's. */
  readonly unscoped: boolean
}

/** Which token a requester asks about. */
export interface TokenQuestion {
  /** Where the requester's own token is. */
  readonly headers: CredentialHeaders
  /** Where the requester is, for accounts that restrict addresses (§1). */
  readonly clientAddress: string
  /** The same object for all requests of a connection. */
  readonly connection: object
  /** The id of the request. */
  readonly requestId?: string
  /** The token that is asked about, as it arrived; `undefined`: none did. */
  readonly subject: string | undefined
  /** Whether a token that expired in the last 48 hours counts as active. */
  readonly acceptExpired: boolean
}

export interface IdentityServices extends Authenticating, Clocked {
  readonly settings: IdentitySettings
}

/**
 * A token for a service user. Everyone whose login fails, for whatever reason, gets the same answer at the
 * same cost.
 *
 * @throws CallError
 */
export async function logIn(
  services: IdentityServices,
  { method, scope, clientAddress, connection }: Login,
): Promise<{ readonly value: Secret; readonly issued: IdentityToken }> {
  const from = {
    source: sourceAt(clientAddress),
    connection: connection.name,
    address: clientAddress,
    restricted: true,
  }
  try {
    const { value, token } =
      method.type === 'password'
        ? await issueByPassword(services, method, scope, from)
        : await issueByToken(services, { value: method.value.reveal(), connection }, scope, from)
    const holder = await services.administration.users.byId(token.subject.id)
    return { value, issued: await withRecords(services, token, holder) }
  } catch (error) {
    throw error instanceof CallError && error.row.login !== undefined ? loginRefused(error) : error
  }
}

async function issueByPassword(
  { engine, authority, administration }: IdentityServices,
  { user, password }: Extract<Login['method'], { type: 'password' }>,
  scope: Login['scope'],
  from: Origin,
): Promise<IssuedToken> {
  const login = { ...(await userFor(administration, user)), password }
  const wanted =
    scope.type === 'unscoped' ? { account: login.account } : await scopeFor(administration, scope)
  return authority.issue(login, kindFor(engine, scope, wanted), wanted, from)
}

/** Exchanges a token of the requester. The new one never outlives it. */
async function issueByToken(
  { engine, authority, administration, settings }: IdentityServices,
  { value, connection }: { readonly value: string; readonly connection: object },
  scope: Login['scope'],
  from: Origin,
): Promise<IssuedToken> {
  const { token } = await authority.verify(value, engine.tokenKinds, { connection })
  const accepted =
    token !== undefined && (isUnscoped(token) ? settings.unscopedLogin : settings.tokenMethod === 'any')
  if (!accepted) throw callError('LOGIN_FAILED', {})
  const wanted =
    scope.type === 'unscoped' ? { account: token.scope.account } : await scopeFor(administration, scope)
  return authority.derive(value, engine.tokenKinds, kindFor(engine, scope, wanted), wanted, from)
}

function kindFor(engine: Engine, scope: Login['scope'], wanted: Scope): TokenKind {
  return scope.type === 'unscoped' ? unscopedKind(engine) : kindForScope(engine, wanted)
}

/** As an account-scoped token, but it is bound to nothing, so it takes no permission. */
function unscopedKind(engine: Engine): TokenKind {
  const ofAccount = kindForScope(engine, { account: '' })
  return { ...ofAccount, id: UNSCOPED_KIND, title: 'unscoped IAM token', permissionScopes: [] }
}

/** The one answer to every login that fails. @param cause why it did, for the log alone */
export function loginRefused(cause?: CallError): CallError {
  return callError('LOGIN_REFUSED', {}, { cause })
}

/** The token that is asked about, if it is active and the requester may know. @throws CallError */
export async function validate(services: IdentityServices, question: TokenQuestion): Promise<IdentityToken> {
  const { administration } = services
  const { token, requester } = await activeSubject(services, question, 'validate')
  const holder = isHolder(requester, token)
    ? requester.user
    : await administration.users.byId(token.subject.id)
  return withRecords(services, token, holder)
}

/** Revokes the token that is asked about, if it is active and the requester may. @throws CallError */
export async function revokeSubject(services: IdentityServices, question: TokenQuestion): Promise<void> {
  const { token, requester } = await activeSubject(services, question, 'revoke')
  const { tokenId, scope, subject } = token
  await services.authority.revoke(revokingUser(services, requester, token, IDENTITY_CREDENTIAL), {
    tokenId,
    account: scope.account,
    holderId: subject.id,
  })
}

/**
 * The user whose active IAM token is in the header that carries it.
 *
 * @param wanted whether an unscoped token is enough
 * @throws CallError where there is none
 */
export async function authenticate(
  services: IdentityServices,
  {
    headers,
    clientAddress,
    connection,
    requestId,
  }: Pick<TokenQuestion, 'headers' | 'clientAddress' | 'connection' | 'requestId'>,
  wanted: 'scoped' | 'any' = 'any',
): Promise<UserByToken> {
  const { engine, settings } = services
  const found = engine.extract(headers)
  const requester = found.ok
    ? await userByIamToken(services, {
        value: found.value,
        clientAddress,
        connection,
        acceptUnscoped: settings.unscopedLogin,
        from: { protocol: 'http', address: clientAddress },
        requestId,
      })
    : undefined
  if (found.ok && requester !== undefined && headerOf(engine, requester.token) === found.header) {
    if (wanted === 'scoped' && isUnscoped(requester.token)) throw callError('SCOPE_REQUIRED', {})
    return requester
  }
  throw callError('REQUESTER_NOT_AUTHENTICATED', {
    credential: IDENTITY_CREDENTIAL,
  })
}

const IDENTITY_CREDENTIAL = 'one active IAM token, in the header that carries it'

/** The header that carries a token, in lower case. */
function headerOf(engine: Engine, token: VerifiedToken): string | undefined {
  const kind = isUnscoped(token) ? unscopedKind(engine) : engine.tokenKinds.get(token.kind)
  return kind?.header.toLowerCase()
}

async function activeSubject(
  services: IdentityServices,
  question: TokenQuestion,
  purpose: 'validate' | 'revoke',
): Promise<{ readonly token: VerifiedToken; readonly requester: UserByToken }> {
  const requester = await authenticate(services, question)
  const { subject } = question
  if (subject === undefined) {
    // As Keystone does: a user who could ask about tokens of others learns that there is none, and no one
    // else may ask.
    expectRight(requester, undefined, purpose)
    throw noSuchToken()
  }
  const token = await activeToken(services, subject, question)
  if (token === undefined) throw noSuchToken()
  expectRight(requester, token, purpose)
  return { token, requester }
}

/** @param token `undefined`: of somebody else @throws CallError: PERMISSION_DENIED */
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
  if (authority.recognize(subject) !== 'issue') return undefined
  const verification = await authority.verify(subject, engine.tokenKinds, { connection, acceptExpired })
  // Where an account restricts addresses, the holder's counts, and this is not the holder's request.
  const active = verification.ok || verification.reason === 'ADDRESS_NOT_ALLOWED'
  const { token } = verification
  if (!active || token === undefined) return undefined
  const known = isUnscoped(token) ? settings.unscopedLogin : engine.tokenKinds.has(token.kind)
  return known ? token : undefined
}

/** @param holder who holds the token; `undefined`: they were deleted meanwhile */
async function withRecords(
  { administration, settings }: IdentityServices,
  token: VerifiedToken,
  holder: UserRecord | undefined,
): Promise<IdentityToken> {
  const { id: accountId } = await administration.accounts.get(token.scope.account)
  const roles = holder === undefined ? [] : rolesOf(token, holder, settings.roles)
  return { token, accountId, roles, unscoped: isUnscoped(token) }
}

async function scopeFor(
  administration: Administration,
  scope: Exclude<Login['scope'], { type: 'unscoped' }>,
): Promise<Scope> {
  return scope.type === 'account'
    ? { account: await accountFor(administration, scope.account) }
    : projectFor(administration, scope.project)
}
