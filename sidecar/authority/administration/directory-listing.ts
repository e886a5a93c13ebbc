/** The directory written down for one look at it. */
import type { Page, UserRecord } from '../../directory/directory.ts'
import type { DirectoryRecords } from '../../directory/records.ts'

/** An account with all that is in it; never a secret. */
export interface AccountListing {
  readonly account: string
  readonly projects: readonly string[]
  readonly serviceUsers: readonly Pick<
    UserRecord,
    'name' | 'enabled' | 'permissions' | 'roles' | 'validator'
  >[]
  readonly controlPanelUsers: readonly (Pick<UserRecord, 'name' | 'enabled' | 'owner' | 'roles'> & {
    readonly staticTokens: readonly {
      readonly name: string
      readonly id: string
      readonly lastFour: string
      readonly note: string
      readonly revoked: boolean
    }[]
  })[]
}

/** Everything, for one look at a small directory. */
export async function listDirectory(records: DirectoryRecords): Promise<AccountListing[]> {
  const accounts = await everyPage(
    (page) => records.accounts(page),
    ({ account }) => account,
  )
  return Promise.all(
    accounts.map(async ({ account }) => {
      const [projects, serviceUsers, controlPanelUsers] = await Promise.all([
        everyPage((page) => records.projects(account, page), nameOf),
        everyPage((page) => records.users(account, 'service_user', page), nameOf),
        everyPage((page) => records.users(account, 'control_panel_user', page), nameOf),
      ])
      return {
        account,
        projects: projects.map(nameOf),
        serviceUsers: serviceUsers.map(({ name, enabled, permissions, roles, validator }) => ({
          name,
          enabled,
          permissions,
          roles,
          validator,
        })),
        controlPanelUsers: await Promise.all(
          controlPanelUsers.map(async ({ id, name, enabled, owner, roles }) => {
            const tokens = await everyPage(
              (page) => records.staticTokens(id, page),
              (token) => token.id,
            )
            const staticTokens = tokens.map((token) => ({
              name: token.name,
              id: token.id,
              ...{ lastFour: token.lastFour, note: token.note },
              revoked: token.revokedAtMs !== undefined,
            }))
            return { name, enabled, owner, roles, staticTokens }
          }),
        ),
      }
    }),
  )
}

const nameOf = ({ name }: { readonly name: string }): string => name

async function everyPage<T>(list: (page: Page) => Promise<T[]>, keyOf: (record: T) => string): Promise<T[]> {
  const all: T[] = []
  const size = 500
  for (;;) {
    const last = all.at(-1)
    const records = await list({ after: last === undefined ? '' : keyOf(last), size })
    all.push(...records)
    if (records.length < size) return all
  }
}
