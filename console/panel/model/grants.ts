/** Permissions and roles as a form has them, and as the contract has them. */
import { type Permission, PermissionScope } from './iam-records.ts'

/**
 * One choice, as the source has it: a permission whose scope is Account, or one whose scope is Projects
 * (§5.1); or none yet.
 */
export const SCOPES = ['account', 'projects', 'none'] as const

type Scope = (typeof SCOPES)[number]

export interface Draft {
  readonly scope: Scope
  /**
   * Names of the projects that are selected, in the order of choosing. They stay while another scope is
   * looked at.
   */
  readonly projects: readonly string[]
}

type Granted = Pick<Permission, 'scope' | 'projects'>

export const NEW_DRAFT: Draft = { scope: 'account', projects: [] }

/**
 * The first content of a form for an existing user. A permission for the account says more than one for
 * projects.
 */
export function draftOf(permissions: readonly Granted[]): Draft {
  const projects = permissions.flatMap(({ projects }) => projects)
  if (permissions.some(({ scope }) => scope === PermissionScope.PERMISSION_SCOPE_ACCOUNT))
    return { scope: 'account', projects }
  return { scope: projects.length > 0 ? 'projects' : 'none', projects }
}

/** @returns `undefined`: projects are to be selected, and none is */
export function permissionsOf({ scope, projects }: Draft): Granted[] | undefined {
  if (scope === 'none') return []
  if (scope === 'account') return [{ scope: PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }]
  return projects.length === 0
    ? undefined
    : [{ scope: PermissionScope.PERMISSION_SCOPE_PROJECTS, projects: [...projects] }]
}

/**
 * Whether a form says something else than at first. Untouched values are not sent, so they stay as they are.
 */
export function sameDraft(one: Draft, other: Draft): boolean {
  if (one.scope !== other.scope) return false
  return (
    one.scope !== 'projects' || one.projects.toSorted().join('\n') === other.projects.toSorted().join('\n')
  )
}

/** The role whose holders administer their account (§5.1). */
export const ADMINISTRATOR_ROLE = 'iam.admin'

/** The roles of a form: a box for the one of §5.1, and the others as a text. */
export function rolesOf(administrator: boolean, others: string): string[] {
  const written = others.split(/[\s,;]+/).filter(Boolean)
  return [...new Set([...(administrator ? [ADMINISTRATOR_ROLE] : []), ...written])]
}

/** The text of the roles that have no box. */
export function otherRolesOf(roles: readonly string[]): string {
  return roles.filter((role) => role !== ADMINISTRATOR_ROLE).join(', ')
}

export function sameRoles(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join('\n') === other.toSorted().join('\n')
}

/**
 * Whether a change makes an owner or an administrator of a user with fewer rights. Then what they log in with
 * ends.
 */
export function raisesRights(before: Rights, after: Rights): boolean {
  if (before.owner === true) return false
  const administers = ({ roles }: Rights) => roles.includes(ADMINISTRATOR_ROLE)
  return after.owner === true || (administers(after) && !administers(before))
}

interface Rights {
  readonly owner?: boolean
  readonly roles: readonly string[]
}
