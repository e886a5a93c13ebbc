/**
 * The rights that a change takes away from existing users: permissions, roles, ownership, being a validator,
 * being enabled.
 */
import type { DirectoryFile } from '../../authority/administration/directory-file.ts'
import { administersAccount, type Permission, type UserType } from '../../directory/directory.ts'

/** The part of a user that tokens are based on. A change leaves alone what it does not name. */
export interface Rights {
  readonly permissions?: readonly Permission[] | undefined
  readonly roles?: readonly string[] | undefined
  readonly owner?: boolean | undefined
  readonly enabled?: boolean | undefined
  readonly validator?: boolean | undefined
}

/** A user who loses something. */
export interface Loss {
  readonly account: string
  readonly user: string
  /** For example `permission project:alpha`, `role iam.admin`. */
  readonly what: readonly string[]
}

/** The rights that a user loses by a change. */
export function lossesOf(before: Rights, after: Rights): string[] {
  const lost = (kind: string, had: readonly string[] = [], has: readonly string[] | undefined) =>
    has === undefined ? [] : had.filter((each) => !has.includes(each)).map((each) => `${kind} ${each}`)
  return [
    ...(permitsAccount(after) ? [] : lost('permission', grantsOf(before), grantsOf(after))),
    ...lost('role', before.roles, after.roles),
    ...(before.owner === true && after.owner === false ? ['ownership of the account'] : []),
    ...(before.validator === true && after.validator === false ? ['being a validator'] : []),
    ...(before.enabled === true && after.enabled === false ? ['being enabled'] : []),
  ]
}

/** Whether a change raises the rights of a user, so that what they logged in with before ends. */
export function raisesRights({ owner = false, roles = [], validator }: Rights, after: Rights): boolean {
  return (
    (after.owner === true && !owner) ||
    (after.validator === true && validator !== true) ||
    (!administersAccount({ owner, roles }) && administersAccount({ owner: false, roles: after.roles ?? [] }))
  )
}

/**
 * The rights that users lose where a directory file is applied.
 *
 * @param find a user as they are now; `undefined`: there is none
 */
export async function lossesByFile(
  { accounts }: DirectoryFile,
  find: (account: string, name: string, type: UserType) => Promise<Rights | undefined>,
): Promise<Loss[]> {
  const losses: Loss[] = []
  for (const { account, service_users = [], control_panel_users = [] } of accounts)
    for (const [type, users] of [
      ['service_user', service_users],
      ['control_panel_user', control_panel_users],
    ] as const)
      for (const user of users) {
        const what = lossesOf((await find(account, user.name, type)) ?? {}, user)
        if (what.length > 0) losses.push({ account, user: user.name, what })
      }
  return losses
}

/** A permission for the account is good for each of its projects too. */
function permitsAccount({ permissions = [] }: Rights): boolean {
  return permissions.some(({ scope }) => scope === 'account')
}

function grantsOf({ permissions }: Rights): string[] | undefined {
  return permissions?.flatMap((permission) =>
    permission.scope === 'account' ? ['account'] : permission.projects.map((project) => `project:${project}`),
  )
}
