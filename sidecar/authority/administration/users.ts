/** Administration of users: service users with their passwords, and control panel users. */
import type { Secret } from '../../base/secret.ts'
import type { Page, Permission, UserRecord, UserType } from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor } from '../actor.ts'
import { checkName } from '../names.ts'
import { changeDirectory, userToChange } from './change.ts'
import { accountIn, listIn, userIn } from './found.ts'
import { checkPermissions, checkRoles } from './grants.ts'
import type { NewSecret, SecretMaker } from './secrets.ts'

export interface NewServiceUser {
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly roles?: readonly string[]
}

export interface NewControlPanelUser {
  readonly name: string
  readonly owner?: boolean
  readonly roles?: readonly string[]
}

/** What becomes of a user. What is `undefined` stays as it is. */
export interface UserChanges {
  readonly enabled?: boolean | undefined
  readonly permissions?: readonly Permission[] | undefined
  readonly owner?: boolean | undefined
  readonly roles?: readonly string[] | undefined
}

/** A user after a change. */
export interface ChangedUser {
  readonly user: UserRecord
  /** Whether the user's rights rose: then what they logged in with before has ended. */
  readonly credentialsEnded: boolean
}

/** Every method throws `CallError` where there is no answer. */
export class UserAdministration {
  readonly #store: DirectoryStore
  readonly #secrets: SecretMaker

  constructor(store: DirectoryStore, secrets: SecretMaker) {
    this.#store = store
    this.#secrets = secrets
  }

  /** The password is in this answer and nowhere else. */
  async createServiceUser(
    actor: Actor,
    account: string,
    { name, permissions, roles = [] }: NewServiceUser,
  ): Promise<{ user: UserRecord; password: Secret }> {
    checkName('name', name)
    checkRoles(roles)
    checkPermissions(permissions)
    const { password, hash } = await this.#secrets.newPassword(actor.principal)
    const user = await changeDirectory(
      this.#store,
      actor,
      async (change) => {
        const owner = await accountIn(change.records, account)
        const id = await change.createUser(owner, { name, type: 'service_user', passwordHash: hash })
        await change.setPermissions({ id, account, name }, permissions)
        const created = await userIn(change.records, account, name, 'service_user')
        if (roles.length > 0) await change.setRoles(created, roles)
        return userIn(change.records, account, name, 'service_user')
      },
      `user \`${name}\``,
    )
    return { user, password }
  }

  async createControlPanelUser(
    actor: Actor,
    account: string,
    { name, owner = false, roles = [] }: NewControlPanelUser,
  ): Promise<UserRecord> {
    checkName('name', name)
    checkRoles(roles)
    return changeDirectory(
      this.#store,
      actor,
      async (change) => {
        const record = await accountIn(change.records, account)
        await change.createUser(record, { name, type: 'control_panel_user', owner })
        const created = await userIn(change.records, account, name, 'control_panel_user')
        if (roles.length > 0) await change.setRoles(created, roles)
        return userIn(change.records, account, name, 'control_panel_user')
      },
      `user \`${name}\``,
    )
  }

  get(account: string, name: string, type: UserType): Promise<UserRecord> {
    return userIn(this.#store.records, account, name, type)
  }

  byId(id: string): Promise<UserRecord | undefined> {
    return this.#store.records.userById(id)
  }

  list(account: string, type: UserType, page: Page): Promise<readonly UserRecord[]> {
    const { records } = this.#store
    return listIn(records, account, records.users(account, type, page))
  }

  async update(
    actor: Actor,
    account: string,
    name: string,
    type: UserType,
    to: UserChanges,
  ): Promise<ChangedUser> {
    checkRoles(to.roles ?? [])
    checkPermissions(to.permissions ?? [])
    return changeDirectory(this.#store, actor, async (change) => {
      const user = await userToChange(change, actor, account, name, type)
      if (to.enabled !== undefined && to.enabled !== user.enabled)
        await change.setUserEnabled(user, to.enabled)
      else if (to.enabled !== undefined) change.writer.repeat(`${type}.enable`, user)
      if (to.permissions !== undefined) await change.setPermissions(user, to.permissions)
      const owner =
        to.owner !== undefined && to.owner !== user.owner && (await change.setOwner(user, to.owner))
      const roles = to.roles !== undefined && (await change.setRoles(user, to.roles))
      return { user: await userIn(change.records, account, name, type), credentialsEnded: owner || roles }
    })
  }

  /** Says whether a service user may validate the tokens of every account. */
  setValidator(actor: Actor, account: string, name: string, validator: boolean): Promise<ChangedUser> {
    return changeDirectory(this.#store, actor, async (change) => {
      const user = await userToChange(change, actor, account, name, 'service_user')
      const credentialsEnded = user.validator !== validator && (await change.setValidator(user, validator))
      return { user: await userIn(change.records, account, name, 'service_user'), credentialsEnded }
    })
  }

  delete(actor: Actor, account: string, name: string, type: UserType): Promise<void> {
    return changeDirectory(this.#store, actor, async (change) =>
      change.deleteUser(await userToChange(change, actor, account, name, type)),
    )
  }

  /** Gives a service user a new password (§5.1), which is in this answer alone. Their tokens are revoked. */
  async replacePassword(actor: Actor, account: string, name: string): Promise<NewSecret> {
    const { password, hash } = await this.#secrets.newPassword(actor.principal)
    await changeDirectory(this.#store, actor, async (change) =>
      change.setPassword(await userToChange(change, actor, account, name, 'service_user'), hash),
    )
    return { account, user: name, type: 'password', value: password }
  }
}
