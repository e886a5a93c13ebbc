/** A login at the identity endpoint (§4.1): a token for a service user by password, or for another token. */

import type { Engine, Scope, TokenKind } from '../../../engine/index.ts'
import type { Administration } from '../../authority/administration/administration.ts'
import { type IssuedToken, isUnscoped, type Origin } from '../../authority/authority.ts'
import { kindForScope } from '../../authority/kind-of-scope.ts'
import { sourceAt } from '../../authority/login-source.ts'
import { CallError, callError } from '../../base/call-error.ts'
import type { IpAddress } from '../../base/ip-address.ts'
import type { Secret } from '../../base/secret.ts'
import { accountFor, projectFor, type Reference, type ReferenceInAccount, userFor } from '../references.ts'
import { type IdentityServices, type IdentityToken, unscopedKind, withRecords } from './identity-token.ts'

/** The content of a login (§2.2), with an id in place of a name where the client sends one. */
export interface Login {
  readonly method:
    | { readonly type: 'password'; readonly user: ReferenceInAccount; readonly password: Secret }
    | { readonly type: 'token'; readonly value: Secret }
    | {
        readonly type: 'application_credential'
        readonly credential: ApplicationCredential
        readonly secret: Secret
      }
  /** That of an application credential is its own: `unscoped` then. */
  readonly scope:
    | { readonly type: 'account'; readonly account: Reference }
    | { readonly type: 'project'; readonly project: ReferenceInAccount }
    | { readonly type: 'unscoped' }
  /** Where the request came from. */
  readonly clientAddress: IpAddress | undefined
  readonly connection: LoginConnection
}

/** An application credential by its id, or by its name among those of a user. */
type ApplicationCredential =
  | { readonly id: string }
  | { readonly name: string; readonly user: ReferenceInAccount }

/** A connection of a client. All requests on it have the same object. */
interface LoginConnection {
  /** Distinguishes the connections of the client. */
  readonly name: string
}

/**
 * A token for a service user. Every failed login, for any reason, gets the same answer at the same cost.
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
    const { value, token } = await issueFor(services, { method, scope, connection }, from)
    const holder = await services.administration.records.userById(token.subject.id)
    return { value, issued: await withRecords(services, token, holder) }
  } catch (error) {
    throw error instanceof CallError && error.row.login !== undefined ? loginRefused(error) : error
  }
}

function issueFor(
  services: IdentityServices,
  { method, scope, connection }: Pick<Login, 'method' | 'scope' | 'connection'>,
  from: Origin,
): Promise<IssuedToken> {
  if (method.type === 'password') return issueByPassword(services, method, scope, from)
  if (method.type === 'token')
    return issueByToken(services, { value: method.value.reveal(), connection }, scope, from)
  return issueByCredential(services, method, from)
}

/** Such a token is for the project of the credential. */
async function issueByCredential(
  { engine, authority, administration }: IdentityServices,
  { credential, secret }: Extract<Login['method'], { type: 'application_credential' }>,
  from: Origin,
): Promise<IssuedToken> {
  const key =
    'id' in credential
      ? credential
      : { name: credential.name, ...(await userFor(administration, credential.user)) }
  // Survives: `''` → `"Stryker was here!"`. Only whether there is a project says which kind it is.
  const kind = kindForScope({ account: '', project: '' }, engine.tokenKinds.values())
  return authority.issueByCredential({ key, secret }, kind, from)
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
  return scope.type === 'unscoped' ? unscopedKind(engine) : kindForScope(wanted, engine.tokenKinds.values())
}

async function scopeFor(
  administration: Administration,
  scope: Exclude<Login['scope'], { type: 'unscoped' }>,
): Promise<Scope> {
  return scope.type === 'account'
    ? { account: await accountFor(administration, scope.account) }
    : projectFor(administration, scope.project)
}

/** The one answer to every login that fails. @param cause why it did, for the log alone */
export function loginRefused(cause?: CallError): CallError {
  return callError('LOGIN_REFUSED', {}, { cause })
}
