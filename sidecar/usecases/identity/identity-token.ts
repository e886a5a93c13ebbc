/** The answer of the identity endpoint (§4.1) about a token, and the settings of the endpoint. */
import type { Engine, TokenKind } from '../../../engine/index.ts'
import { isUnscoped, UNSCOPED_KIND, type VerifiedToken } from '../../authority/authority.ts'
import { kindForScope } from '../../authority/kind-of-scope.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { accountIn } from '../../directory/found.ts'
import type { Clocked } from '../capabilities.ts'
import { findCredential } from '../credential-records.ts'
import type { Authenticating } from '../requester.ts'
import { type RoleMapping, rolesOf } from '../roles.ts'

/**
 * The behaviour of the endpoint beyond the source, as `http.roles` and `http.compatibility` of the
 * configuration say.
 */
export interface IdentitySettings {
  readonly roles: RoleMapping
  /** Whether a login without a scope gets an unscoped token, and whether such tokens are accepted. */
  readonly unscopedLogin: boolean
  /** The tokens that can be exchanged for one with another scope: none, unscoped ones, or any. */
  readonly tokenMethod: 'off' | 'unscoped' | 'any'
  /** Whether application credentials can be made, and log in. */
  readonly applicationCredentials: boolean
}

export interface IdentityServices extends Authenticating, Clocked {
  readonly settings: IdentitySettings
}

/** A token, and the directory's present record of its holder and its account. */
export interface IdentityToken {
  readonly token: VerifiedToken
  /** Id of the account of its scope, which is also its holder's. */
  readonly accountId: string
  /** On its scope, for example `member`. */
  readonly roles: readonly string[]
  /** Whether it is bound to nothing; the account in its scope is then its holder's. */
  readonly unscoped: boolean
  /** Name of the application credential that logged in; `undefined`: none did, or it was deleted. */
  readonly credentialName: string | undefined
}

/** @param holder who holds the token; `undefined`: they were deleted meanwhile */
export async function withRecords(
  { administration, settings }: IdentityServices,
  token: VerifiedToken,
  holder: UserRecord | undefined,
): Promise<IdentityToken> {
  const { id: accountId } = await accountIn(administration.records, token.scope.account)
  const held = holder === undefined ? [] : rolesOf(token, holder, settings.roles)
  const { applicationCredential: used } = token
  const credential = used && (await findCredential(administration.records, token.subject.id, used.id))
  const roles = used === undefined ? held : held.filter((role) => credential?.roles.includes(role))
  return { token, accountId, roles, unscoped: isUnscoped(token), credentialName: credential?.name }
}

/** As an account-scoped token, but it is not bound to a scope, so it needs no permission. */
export function unscopedKind(engine: Engine): TokenKind {
  // Survives: `{ account: '' }` → `{}`, `''` → `"Stryker was here!"`. Only whether there is a project says
  // which kind it is.
  const ofAccount = kindForScope({ account: '' }, engine.tokenKinds.values())
  // Survives: `'unscoped IAM token'` → `""`. Such a token needs no permission, so no error names what it
  // needs one for.
  return { ...ofAccount, id: UNSCOPED_KIND, title: 'unscoped IAM token', permissionScopes: [] }
}
