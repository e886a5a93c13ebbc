/** The roles and permissions that a user can be given, and how many. */
import { invalidArgument } from '../../base/call-error.ts'
import type { Permission } from '../../directory/directory.ts'

/** How many roles a user can have. */
const ROLES_MAX = 100

/** How many projects a user's permissions can select. */
const SELECTED_PROJECTS_MAX = 1000

/**
 * @throws CallError where there are more than any user needs: each is a row, and the audit trail records all
 *   of them
 */
export function checkPermissions(permissions: readonly Permission[]): void {
  const selected = permissions.flatMap((permission) =>
    permission.scope === 'projects' ? permission.projects : [],
  )
  if (selected.length > SELECTED_PROJECTS_MAX)
    throw invalidArgument({
      field: 'permissions',
      expected: `at most ${SELECTED_PROJECTS_MAX} projects selected, not ${selected.length}`,
    })
}

/** @throws CallError where there are too many, or one is not the name of a role */
export function checkRoles(roles: readonly string[]): void {
  if (roles.length > ROLES_MAX)
    throw invalidArgument({ field: 'roles', expected: `at most ${ROLES_MAX} roles, not ${roles.length}` })
  for (const [index, role] of roles.entries())
    if (!/^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$/.test(role) || role.length > 64)
      throw invalidArgument({
        field: `roles[${index}]`,
        expected: 'the name of a role, for example iam.admin',
      })
}
