/** Users for the directory's tests, and functions to find them. */
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { Permission, UserRecord, UserType } from '../../../sidecar/directory/directory.ts'
import type { DirectoryRecords } from '../../../sidecar/directory/records.ts'
import type { Account, Subject } from './subject.ts'

/** A stored hash. It only needs the right format. */
export const PASSWORD_HASH = '$argon2id$v=19$m=19456,t=2,p=1$bm9uY2U$aGFzaA'

/** Creates a service user with these permissions, in an account with the projects alpha and beta. */
export async function newServiceUser(
  { store, newAccount }: Subject,
  permissions: readonly Permission[] = [],
): Promise<{ account: Account; user: UserRecord; changeNumber: number }> {
  const account = await newAccount()
  await store.change('a test', async (change) => {
    for (const project of ['alpha', 'beta']) await change.createProject(account, project)
    const id = await change.createUser(account, {
      name: 'robot',
      type: 'service_user',
      passwordHash: PASSWORD_HASH,
    })
    await change.setPermissions({ id, account: account.account, name: 'robot' }, permissions)
  })
  const user = await theUser(store.records, account, 'robot', 'service_user')
  return { account, user, changeNumber: await store.records.changeNumber() }
}

/** Creates a control panel user in a new account. */
export async function newPanelUser({
  store,
  newAccount,
}: Subject): Promise<{ account: Account; user: UserRecord; changeNumber: number }> {
  const account = await newAccount()
  await store.change('a test', (change) =>
    change.createUser(account, { name: 'person', type: 'control_panel_user' }),
  )
  const user = await theUser(store.records, account, 'person', 'control_panel_user')
  return { account, user, changeNumber: await store.records.changeNumber() }
}

export async function theUser(
  records: DirectoryRecords,
  { account }: Account,
  name: string,
  type: UserType,
): Promise<UserRecord> {
  const user = await records.user(account, name, type)
  if (user === undefined) throw new Error(`there is no user ${name}`)
  return user
}

export async function theProject(records: DirectoryRecords, { account }: Account, name: string) {
  const project = await records.project(account, name)
  if (project === undefined) throw new Error(`there is no project ${name}`)
  return project
}

/** Makes one change in its own transaction. */
export function changing<T>({ store }: Subject, work: (change: DirectoryChange) => Promise<T>): Promise<T> {
  return store.change('a test', work)
}
