/** The body that describes a token, in Keystone's format. */
import type { IdentityToken } from '../../usecases/identity/identity-token.ts'
import { type CatalogEntry, idOf } from './catalog.ts'

/** @param catalog `undefined`: the body has no catalog */
export function tokenBody(
  { token, accountId, roles, unscoped, credentialName }: IdentityToken,
  catalog: readonly CatalogEntry[] | undefined,
): object {
  const { scope, subject, tokenId, issuedAtMs, expiresAtMs, projectId } = token
  const { applicationCredential: credential, derivedFrom: line = [] } = token
  // The credential itself is the last of its line.
  const derivedFrom = credential === undefined ? line : line.slice(0, -1)
  const domain = { id: accountId, name: scope.account }
  // A control panel user's token is not issued for a password (§5.1).
  const user = subject.type === 'service_user' ? 'password' : 'external'
  const method = credential === undefined ? user : 'application_credential'
  return {
    token: {
      methods: derivedFrom.length === 0 ? [method] : [method, 'token'],
      user: { id: subject.id, name: subject.name, domain, password_expires_at: null },
      // The second one is the token that the first of its line was.
      audit_ids: [tokenId, ...derivedFrom.slice(-1)],
      issued_at: timeOf(issuedAtMs),
      expires_at: expiresAtMs === undefined ? null : timeOf(expiresAtMs),
      // If the key is missing, middleware assumes true.
      is_admin_project: false,
      ...(credential && {
        application_credential: {
          ...{ id: credential.id, name: credentialName ?? '', restricted: !credential.unrestricted },
        },
      }),
      ...(!unscoped && {
        roles: roles.map((name) => ({ id: idOf('role', name), name })),
        ...(scope.project === undefined
          ? { domain }
          : { project: { id: projectId, name: scope.project, domain }, is_domain: false }),
        ...(catalog && { catalog }),
      }),
    },
  }
}

/** A time in Keystone's format, with six digits for fractions of a second. */
function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}
