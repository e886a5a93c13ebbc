/** The scopes for which a user can get tokens (§5.1): Keystone's clients list them before they choose one. */
import type { Administration } from '../authority/administration/administration.ts'
import type { AccountRecord, ProjectRecord, UserRecord } from '../directory/directory.ts'
import { accountIn, listIn } from '../directory/found.ts'

/** How many projects are read at once. */
const PAGE_SIZE = 500

/**
 * The enabled projects of the user's account that they can get tokens for, ordered by name.
 *
 * @throws CallError
 */
export async function projectsFor({ records }: Administration, user: UserRecord): Promise<ProjectRecord[]> {
  const selected = new Set(
    // Survives: `permission.scope === 'projects'` → `true`, `[]` → `["Stryker was here"]`. A user with a
    // permission for the account gets every project, whatever is selected.
    user.permissions.flatMap((permission) => (permission.scope === 'projects' ? permission.projects : [])),
  )
  const found: ProjectRecord[] = []
  for (let after = ''; ; ) {
    const page = await listIn(
      records,
      user.account,
      records.projects(user.account, { after, size: PAGE_SIZE }),
    )
    found.push(...page.filter(({ name, enabled }) => enabled && (hasAccount(user) || selected.has(name))))
    if (page.length < PAGE_SIZE) return found
    after = (page.at(-1) as ProjectRecord).name
  }
}

/** The user's account. @throws CallError */
export function accountOf({ records }: Administration, user: UserRecord): Promise<AccountRecord> {
  return accountIn(records, user.account)
}

/** The user's account, if they can get tokens for it as a whole. @throws CallError */
export async function accountsFor(
  administration: Administration,
  user: UserRecord,
): Promise<AccountRecord[]> {
  return hasAccount(user) ? [await accountOf(administration, user)] : []
}

/** A control panel user needs no permission (§1). */
function hasAccount({ type, permissions }: UserRecord): boolean {
  return type === 'control_panel_user' || permissions.some(({ scope }) => scope === 'account')
}
