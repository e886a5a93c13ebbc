/**
 * Changes of any kind, of a few accounts with users and projects, which are made again after they were
 * deleted.
 */
import type { IamClaims } from '../../../sidecar/authority/iam-claims.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { AccountRecord, UserRecord } from '../../../sidecar/directory/directory.ts'

const ACCOUNTS = ['10001', '10002']
export const SERVICE_USERS = ['job', 'robot']
export const PROJECTS = ['alpha', 'beta']

export class AnyChange {
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** Any change that is there, of anything. */
  async anything(by: DirectoryChange, claims: IamClaims | undefined): Promise<void> {
    const { records } = by
    const account = await this.account(by)
    const name = this.#pick(SERVICE_USERS)
    const job = await this.user(by, account, name, 'service_user')
    const project = await records.project(account.account, this.#pick(PROJECTS))
    const switched = this.#random() < 0.5
    const permissions = this.#pick([
      [{ scope: 'account' as const }],
      [{ scope: 'projects' as const, projects: [this.#pick(PROJECTS)] }],
      [],
    ])
    await this.#pick([
      () => by.revoke(claims?.jti ?? 'another', account.account),
      () => by.revoke(this.#pick(claims?.from ?? ['another']), account.account),
      () => by.setUserEnabled(job, switched),
      () => by.setUserEnabled(job, true),
      () => by.deleteUser(job),
      () => by.setPermissions(job, permissions),
      () => by.setPassword(job, `hash ${this.#random()}`),
      () => by.setRoles(job, switched ? ['iam.admin'] : []),
      () => project && by.setProjectEnabled(project, switched),
      () => project && by.setProjectEnabled(project, true),
      () => project && by.deleteProject(project),
      () => this.#random() < 0.2 && by.setAccountEnabled(account, switched),
      () => by.setAccountEnabled(account, true),
      () => this.#random() < 0.05 && by.deleteAccount(account),
      () => by.setAddressRules(account, this.#random() < 0.2 ? ['10.0.0.0/8'] : ['192.0.2.0/24']),
      () => by.setAddressRules(account, []),
      () => by.createAccount(`unrelated-${this.#random()}`),
      async () => this.#random() < 0.1 && by.forgetAudit((await by.records.changeNumber()) - 3, 'a file'),
    ])()
  }

  async account(by: DirectoryChange): Promise<AccountRecord> {
    const name = this.#pick(ACCOUNTS)
    if ((await by.records.account(name)) === undefined) await by.createAccount(name)
    const account = (await by.records.account(name)) as AccountRecord
    for (const project of PROJECTS)
      if ((await by.records.project(name, project)) === undefined) await by.createProject(account, project)
    return account
  }

  async user(
    by: DirectoryChange,
    account: AccountRecord,
    name: string,
    type: 'service_user' | 'control_panel_user',
  ): Promise<UserRecord> {
    const found = await by.records.user(account.account, name, type)
    if (found !== undefined) return found
    const hash = type === 'service_user' ? { passwordHash: 'hash' } : {}
    const id = await by.createUser(account, { name, type, ...hash })
    if (type === 'service_user')
      await by.setPermissions({ id, account: account.account, name }, [{ scope: 'account' }])
    return (await by.records.userById(id)) as UserRecord
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}
