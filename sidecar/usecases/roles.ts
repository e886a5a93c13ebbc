/**
 * The roles that the identity endpoint shows for a token: they follow from the holder's permissions and roles
 * by the configuration.
 */
import { isUnscoped, type VerifiedToken } from '../authority/authority.ts'
import type { UserRecord } from '../directory/directory.ts'

/** The roles that Keystone's clients see. */
export interface RoleMapping {
  /** Of a permission whose scope is Account, on the account and on each of its projects. */
  readonly account: readonly string[]
  /** Of a permission whose scope is Projects, on the selected projects. */
  readonly projects: readonly string[]
  /** Of a role of the directory, for example of `iam.admin`. A role that is not in it keeps its name. */
  readonly byRole: ReadonlyMap<string, readonly string[]>
}

/** The names of the roles on the scope of the token, each once. An unscoped token has none. */
export function rolesOf(
  token: VerifiedToken,
  { permissions, roles }: Pick<UserRecord, 'permissions' | 'roles'>,
  mapping: RoleMapping,
): string[] {
  if (isUnscoped(token)) return []
  const { project } = token.scope
  const ofPermissions = permissions.flatMap((permission) => {
    if (permission.scope === 'account') return mapping.account
    // Survives: `project !== undefined` → `true`. No permission names a project that is not there.
    return project !== undefined && permission.projects.includes(project) ? mapping.projects : []
  })
  return [...new Set([...ofPermissions, ...roles.flatMap((role) => mapping.byRole.get(role) ?? [role])])]
}
