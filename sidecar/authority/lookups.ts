/** What administration is given, checked; and what it looks for, or the error that names what is not there. */

import { callError, invalidArgument } from '../base/call-error.ts'
import type { Permission, UserRecord, UserType } from '../directory/directory.ts'

export async function userIn(
  records: { user(account: string, name: string, type: UserType): Promise<UserRecord | undefined> },
  account: string,
  name: string,
  type: UserType,
): Promise<UserRecord> {
  const what = type === 'service_user' ? 'service user' : 'control panel user'
  return found(await records.user(account, name, type), `${what} \`${name}\` in account \`${account}\``)
}

/** @param what is looked for, as `NOT_FOUND` names it */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw callError('NOT_FOUND', { what })
  return value
}

export const noAccount = (account: string) => `account \`${account}\``
export const noProject = (account: string, name: string) => `project \`${name}\` in account \`${account}\``
export const noStaticToken = (name: string) => `active static token \`${name}\``

/** Longest name of a record, in characters. */
export const NAME_LENGTH_MAX = 255

/** Whether a record can be called so. What none is called no store is asked for: some stumble over it. */
export function canBeName(text: string): boolean {
  return (
    text.length >= 1 &&
    text.length <= NAME_LENGTH_MAX &&
    !/[\u0000-\u001f\u007f]/.test(text) &&
    text.isWellFormed()
  )
}

export function checkName(field: string, name: string): void {
  if (!canBeName(name))
    throw invalidArgument({ field, expected: 'a name of 1 to 255 characters without control characters' })
}

/** How many roles a user can have. */
const ROLES_MAX = 100

/** How many projects a user's permissions can select. */
const SELECTED_PROJECTS_MAX = 1000

/** @throws CallError where there are more than any user needs: each is a row, and all of them stand in the audit trail */
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
