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

/** An account, whose lists are read when they are asked for, in pages. */
export type AccountPages = Pick<AccountListing, 'account'> & {
  readonly [List in Exclude<keyof AccountListing, 'account'>]: AsyncGenerator<AccountListing[List]>
}

/** Everything, however large it is. */
export async function* accountsIn(records: DirectoryRecords): AsyncGenerator<AccountPages> {
  const accounts = pagesOf(
    (page) => records.accounts(page),
    ({ account }) => account,
  )
  for await (const page of accounts)
    for (const { account } of page)
      yield {
        account,
        projects: mapped(
          pagesOf((each) => records.projects(account, each), nameOf),
          async (project) => project.name,
        ),
        serviceUsers: mapped(
          pagesOf((each) => records.users(account, 'service_user', each), nameOf),
          async ({ name, enabled, permissions, roles, validator }) => ({
            ...{ name, enabled, permissions, roles, validator },
          }),
        ),
        controlPanelUsers: mapped(
          pagesOf((each) => records.users(account, 'control_panel_user', each), nameOf),
          async ({ id, name, enabled, owner, roles }) => ({
            ...{ name, enabled, owner, roles },
            staticTokens: await staticTokensOf(records, id),
          }),
        ),
      }
}

/** Everything, for one look at a small directory. */
export async function listDirectory(records: DirectoryRecords): Promise<AccountListing[]> {
  const all: AccountListing[] = []
  for await (const { account, projects, serviceUsers, controlPanelUsers } of accountsIn(records))
    all.push({
      account,
      projects: (await Array.fromAsync(projects)).flat(),
      serviceUsers: (await Array.fromAsync(serviceUsers)).flat(),
      controlPanelUsers: (await Array.fromAsync(controlPanelUsers)).flat(),
    })
  return all
}

async function staticTokensOf(
  records: DirectoryRecords,
  userId: string,
): Promise<AccountListing['controlPanelUsers'][number]['staticTokens']> {
  const pages = pagesOf(
    (page) => records.staticTokens(userId, page),
    ({ id }) => id,
  )
  return (await Array.fromAsync(pages)).flat().map(({ name, id, lastFour, note, revokedAtMs }) => ({
    ...{ name, id, lastFour, note },
    revoked: revokedAtMs !== undefined,
  }))
}

const nameOf = ({ name }: { readonly name: string }): string => name

const PAGE_SIZE = 500

async function* pagesOf<T>(
  list: (page: Page) => Promise<T[]>,
  keyOf: (record: T) => string,
): AsyncGenerator<T[]> {
  for (let after = ''; ; ) {
    const records = await list({ after, size: PAGE_SIZE })
    const last = records.at(-1)
    if (last !== undefined) yield records
    if (last === undefined || records.length < PAGE_SIZE) return
    after = keyOf(last)
  }
}

async function* mapped<T, U>(
  pages: AsyncGenerator<T[]>,
  each: (record: T) => Promise<U>,
): AsyncGenerator<U[]> {
  for await (const page of pages) yield await Promise.all(page.map(each))
}
