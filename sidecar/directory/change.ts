/** Changes of the directory. Each one is recorded in the audit trail in the same transaction. */
import { randomBytes } from 'node:crypto'
import { randomText } from '../base/random-text.ts'
import type { ChangeAuthor } from './author.ts'
import { ChangeWriter, UNNUMBERED } from './change-writer.ts'
import { NoSuchProject, type Queries, type Transaction } from './database.ts'
import {
  type AccountRecord,
  ADMINISTRATOR_ROLE,
  administersAccount,
  type Permission,
  type ProjectRecord,
  type ServiceUser,
  type UserRecord,
  type UserType,
} from './directory.ts'
import { raiseLastUsedDays } from './last-used-days.ts'
import { DirectoryRecords } from './records.ts'
import { number, optionalNumber, text } from './rows.ts'
import { AUDIT_PROTECTION, type Dialect, LAST_CHANGE } from './schema.ts'

export interface ChangeContext {
  /** The author of the change, for the audit trail. */
  readonly author: Pick<ChangeAuthor, 'name' | 'origin'>
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  readonly dialect: Dialect
}

/** Writes within one transaction, and must not be used after it. Throws `AlreadyExists` for a taken name. */
export class DirectoryChange {
  /** Reads what the transaction sees, including its own changes. */
  readonly records: DirectoryRecords
  /** For the files beside this one, which have other changes. */
  readonly writer: ChangeWriter
  readonly #queries: Queries
  readonly #context: ChangeContext
  /** Users without an earlier credential: this transaction created them, or ended their credentials. */
  readonly #withoutCredentials = new Set<string>()

  constructor(transaction: Transaction, context: ChangeContext) {
    this.records = new DirectoryRecords(transaction)
    this.writer = new ChangeWriter(transaction, context.author, context.nowMs)
    this.#queries = transaction
    this.#context = context
  }

  async createAccount(account: string): Promise<void> {
    const id = newId()
    await this.writer.insert('accounts', { id, account, created_at_ms: this.#context.nowMs })
    this.writer.record('account.create', { account, name: account, id })
  }

  /**
   * Disabling an account revokes its IAM tokens for good, and ends the sessions and links of its users.
   * Static tokens become active again when it is enabled.
   */
  async setAccountEnabled({ id, account }: AccountRecord, enabled: boolean): Promise<void> {
    const action = enabled ? 'account.enable' : 'account.disable'
    this.writer.record(action, { account, name: account, id })
    await this.#setEnabled('accounts', id, enabled)
  }

  async #setEnabled(table: 'accounts' | 'projects', id: string, enabled: boolean): Promise<void> {
    await this.writer.update(table, id, enabled ? { enabled: 1 } : { enabled: 0, since: UNNUMBERED })
    if (!enabled) this.writer.fillIn(table, 'id', 'since', id)
  }

  /**
   * Deletes the account with its projects and users, however many it has: every query of one of them looks at
   * its account. None of the account's tokens is active afterwards.
   */
  async deleteAccount({ id, account }: AccountRecord): Promise<void> {
    await this.writer.update('accounts', id, { deleted_at_ms: this.#context.nowMs })
    this.writer.record('account.delete', { account, name: account, id })
  }

  async createProject(account: AccountRecord, name: string): Promise<void> {
    const id = newId()
    await this.writer.insert('projects', {
      ...{ id, account_id: account.id, name, created_at_ms: this.#context.nowMs },
    })
    this.writer.record('project.create', { account: account.account, name, id })
  }

  /** Disabling a project revokes its IAM tokens for good. */
  async setProjectEnabled(project: ProjectRecord, enabled: boolean): Promise<void> {
    this.writer.record(enabled ? 'project.enable' : 'project.disable', project)
    await this.#setEnabled('projects', project.id, enabled)
  }

  /** Deletes the project. A later project with the same name is a different one. */
  async deleteProject(project: ProjectRecord): Promise<void> {
    await this.writer.update('projects', project.id, { deleted_at_ms: this.#context.nowMs })
    this.writer.record('project.delete', project)
  }

  async createUser(
    account: AccountRecord,
    user: {
      readonly name: string
      readonly type: UserType
      readonly passwordHash?: string | undefined
      readonly owner?: boolean
    },
  ): Promise<string> {
    const id = newId()
    this.#withoutCredentials.add(id)
    await this.writer.insert('users', {
      ...{ id, account_id: account.id, name: user.name, type: user.type },
      password_hash: user.passwordHash ?? null,
      owner: user.owner ? 1 : 0,
      created_at_ms: this.#context.nowMs,
    })
    this.writer.record(
      `${user.type}.create`,
      { account: account.account, name: user.name, id },
      user.owner ? { owner: true } : {},
    )
    return id
  }

  /** Disabling a user revokes their IAM tokens for good. Static tokens return when the user is enabled. */
  async setUserEnabled(user: UserRecord, enabled: boolean): Promise<void> {
    await this.#queries.all(
      enabled
        ? 'UPDATE users SET enabled = 1 WHERE id = :id'
        : 'UPDATE users SET enabled = 0, generation = generation + 1 WHERE id = :id',
      { id: user.id },
    )
    this.writer.record(`${user.type}.${enabled ? 'enable' : 'disable'}`, user)
    if (!enabled && administersAccount(user)) await this.#endInvitationsIn(user.account)
  }

  /** Returns whether their rights rose and their factors have ended. */
  async setOwner(user: UserRecord, owner: boolean): Promise<boolean> {
    const rises = owner && !user.owner
    await this.writer.update('users', user.id, { owner: owner ? 1 : 0 })
    const ended = await this.#recordGrant(user, 'set_owner', { owner }, rises)
    if (user.owner && !owner) await this.#endInvitationsIn(user.account)
    return ended
  }

  /** Returns whether rights rose, which ends what the user logs in with. Owners have all of `iam.admin`. */
  async setRoles(user: UserRecord, roles: readonly string[]): Promise<boolean> {
    await this.#queries.all('DELETE FROM user_roles WHERE user_id = :user', { user: user.id })
    for (const role of new Set(roles)) await this.writer.insert('user_roles', { user_id: user.id, role })
    const [had, has] = [user.roles, roles].map((each) => each.includes(ADMINISTRATOR_ROLE))
    const rises = has === true && !administersAccount(user)
    const ended = await this.#recordGrant(user, 'set_roles', { roles }, rises)
    if (had && !has) await this.#endInvitationsIn(user.account)
    return ended
  }

  /** Returns whether their rights rose and their factors have ended. */
  async setValidator(user: UserRecord, validator: boolean): Promise<boolean> {
    await this.writer.update('users', user.id, { validator: validator ? 1 : 0 })
    const rises = validator && !user.validator
    return this.#recordGrant(user, 'set_validator', { validator }, rises)
  }

  /** Records what a user was given. If rights rise, their factors end. Returns whether they rose. */
  async #recordGrant(
    user: UserRecord,
    verb: 'set_owner' | 'set_roles' | 'set_validator',
    grant: object,
    rises: boolean,
  ): Promise<boolean> {
    const ends = rises && !this.#withoutCredentials.has(user.id)
    const details = { ...grant, ...(ends && { credentials_ended: true }) }
    this.writer.record(`${user.type}.${verb}`, user, details)
    if (!ends) return false
    await this.writer.endCredentialsOf(user.id)
    this.#withoutCredentials.add(user.id)
    return true
  }

  /** A former administrator of the account may have kept an invitation. The author of each is not stored. */
  async #endInvitationsIn(account: string): Promise<void> {
    const [ended] = await this.#queries.all(
      `UPDATE accounts SET invitations_since = :since WHERE account = :account AND deleted_at_ms IS NULL
       RETURNING id`,
      { account, since: UNNUMBERED },
    )
    if (ended !== undefined) this.writer.fillIn('accounts', 'id', 'invitations_since', text(ended.id))
  }

  /**
   * Replaces all permissions of the user. IAM tokens stay active only where the user keeps the access without
   * a break.
   *
   * @throws NoSuchProject
   */
  async setPermissions(
    user: Pick<UserRecord, 'id' | 'account' | 'name'>,
    permissions: readonly Permission[],
  ): Promise<void> {
    this.writer.record('service_user.set_permissions', user, { permissions })
    const selected = new Set(
      permissions.flatMap((permission) => (permission.scope === 'projects' ? permission.projects : [])),
    )
    const names = [...selected]
    if (names.length > 0) this.writer.hold({ account: user.account, projects: names })
    const accountWide = permissions.some(({ scope }) => scope === 'account')
    const [found, accountSince, held] = await Promise.all([
      Promise.all(names.map((name) => this.records.project(user.account, name))),
      this.#setAccountPermission(user.id, accountWide),
      this.#queries.all(
        'DELETE FROM project_permissions WHERE user_id = :user RETURNING project_id, selected_since, access_since',
        { user: user.id },
      ),
    ])
    const before = new Map(held.map((row) => [text(row.project_id), row]))
    const missing = found.indexOf(undefined)
    if (missing !== -1) throw new NoSuchProject(user.account, names[missing] ?? '')
    const kept = found
      .flatMap((project) => (project === undefined ? [] : [project.id]))
      .map((id) => {
        const row = before.get(id)
        before.delete(id)
        return {
          user_id: user.id,
          project_id: id,
          selected_since: optionalNumber(row?.selected_since) ?? UNNUMBERED,
          access_since: Math.min(optionalNumber(row?.access_since) ?? UNNUMBERED, accountSince ?? UNNUMBERED),
        }
      })
    // No longer selected, but the permission for the account gives the same access from this moment on.
    const others = accountWide ? [...before] : []
    const unselected = others.map(([id, row]) => ({
      user_id: user.id,
      project_id: id,
      selected_since: null,
      access_since: number(row.access_since),
    }))
    await Promise.all([...kept, ...unselected].map((row) => this.writer.insert('project_permissions', row)))
    for (const column of ['selected_since', 'access_since'])
      this.writer.fillIn('project_permissions', 'user_id', column, user.id)
  }

  /** Returns since which change the user had the permission for the account before this one, if at all. */
  async #setAccountPermission(userId: string, wanted: boolean): Promise<number | undefined> {
    const [row] = await this.#queries.all('SELECT since FROM account_permissions WHERE user_id = :user', {
      user: userId,
    })
    if (row === undefined && wanted) {
      await this.writer.insert('account_permissions', { user_id: userId, since: UNNUMBERED })
      this.writer.fillIn('account_permissions', 'user_id', 'since', userId)
    }
    if (row !== undefined && !wanted)
      await this.#queries.all('DELETE FROM account_permissions WHERE user_id = :user', { user: userId })
    return optionalNumber(row?.since)
  }

  async setPassword(user: UserRecord, passwordHash: string): Promise<void> {
    await this.#queries.all(
      'UPDATE users SET password_hash = :hash, generation = generation + 1 WHERE id = :id',
      { id: user.id, hash: passwordHash },
    )
    this.writer.record('service_user.replace_password', user)
  }

  /** Stores a new hash of the same password, unless it was replaced meanwhile. Tokens stay active. */
  async rehashPassword(user: ServiceUser, hash: string): Promise<void> {
    const [stored] = await this.#queries.all(
      'UPDATE users SET password_hash = :hash WHERE id = :id AND password_hash = :before RETURNING id',
      { id: user.id, hash, before: user.passwordHash },
    )
    if (stored !== undefined) this.writer.record('service_user.rehash_password', user)
  }

  async deleteUser(user: UserRecord): Promise<void> {
    await this.writer.update('users', user.id, { deleted_at_ms: this.#context.nowMs })
    this.writer.record(`${user.type}.delete`, user)
    if (administersAccount(user)) await this.#endInvitationsIn(user.account)
  }

  /** @param token contains the token's hash and the fingerprint of the pepper that was used for it */
  async addStaticToken(
    user: Pick<UserRecord, 'id' | 'account' | 'name'>,
    token: {
      readonly kind: string
      readonly name: string
      readonly hash: Buffer
      readonly pepper: string
      /** The end of its text; absent: it is not kept. */
      readonly lastFour?: string
      readonly note?: string
    },
  ): Promise<string> {
    const id = randomText(16)
    const { lastFour = '', note = '', ...columns } = token
    await this.writer.insert('static_tokens', {
      ...{ ...columns, last_four: lastFour, note },
      ...{ id, user_id: user.id, created_at_ms: this.#context.nowMs },
    })
    const subject = { account: user.account, name: token.name, id }
    this.writer.record('static_token.create', subject, {
      ...{ user: user.name, user_id: user.id },
      ...(lastFour !== '' && { last_four: lastFour }),
      ...(note !== '' && { note }),
    })
    return id
  }

  /**
   * Raises the days on which static tokens were last used, by the ids of the tokens. A day decides nothing
   * and is known from use, so the audit trail has no record of it.
   */
  async raiseLastUsedDays(days: ReadonlyMap<string, number>): Promise<void> {
    await raiseLastUsedDays(this.#queries, days)
  }

  async setPanelToken(user: UserRecord, projectId: string, claims: string, tokenId: string): Promise<void> {
    await this.#queries.all('DELETE FROM panel_tokens WHERE user_id = :user AND project_id = :project', {
      user: user.id,
      project: projectId,
    })
    await this.writer.insert('panel_tokens', {
      ...{ user_id: user.id, project_id: projectId, claims, token_id: tokenId },
    })
    this.writer.record('control_panel_user.reissue_token', user, { token_id: tokenId })
  }

  /** Changes nothing, but records that a credential was given out again. */
  async recordTokenCopied(user: UserRecord, tokenId: string): Promise<void> {
    this.writer.record('control_panel_user.copy_token', user, { token_id: tokenId })
  }

  /** Replaces all address ranges. Without any range the account has no restriction. */
  async setAddressRules({ id, account }: AccountRecord, cidrs: readonly string[]): Promise<void> {
    await this.#queries.all('DELETE FROM address_rules WHERE account_id = :account', { account: id })
    for (const cidr of new Set(cidrs)) await this.writer.insert('address_rules', { account_id: id, cidr })
    this.writer.record('address_restriction.set', { account, name: account, id }, { cidrs })
  }

  /**
   * Revokes a token of any kind for good. Returns when it was first revoked (epoch, milliseconds).
   *
   * @param holderId for the audit trail; a static token is known with its holder
   */
  async revoke(tokenId: string, account: string, holderId?: string): Promise<number> {
    const { nowMs } = this.#context
    // At the same time: where there was a revocation already, the static token has it as well.
    const [[added], [key], holder] = await Promise.all([
      this.#queries.all(
        `INSERT INTO revocations (token_id, revoked_at_ms, change_number)
         VALUES (:token, :now, CASE WHEN NOT EXISTS (SELECT 1 FROM static_tokens WHERE id = :token)
           THEN (${LAST_CHANGE}) END)
         ON CONFLICT DO NOTHING RETURNING revoked_at_ms`,
        { token: tokenId, now: nowMs },
      ),
      this.#queries.all(
        `UPDATE static_tokens SET revoked_at_ms = :now WHERE id = :token AND revoked_at_ms IS NULL
         RETURNING name, user_id, (SELECT users.name FROM users WHERE users.id = user_id) AS user_name`,
        { token: tokenId, now: nowMs },
      ),
      this.writer.namedUser(holderId),
    ])
    if (added !== undefined) {
      const subject = { account, name: key === undefined ? tokenId : text(key.name), id: tokenId }
      const named = key && { user: text(key.user_name), user_id: text(key.user_id) }
      this.writer.record('token.revoke', subject, named ?? holder)
      return nowMs
    }
    this.writer.repeat('token.revoke', { account, name: tokenId, id: tokenId })
    const [row] = await this.#queries.all('SELECT revoked_at_ms FROM revocations WHERE token_id = :token', {
      token: tokenId,
    })
    return Number(row?.revoked_at_ms)
  }

  /**
   * Deletes the records of the audit trail up to a number, and records where they are. The trail never
   * becomes empty, so the numbers of changes go on rising.
   */
  async forgetAudit(through: number, file: string): Promise<void> {
    // Another process may move the same records.
    this.writer.hold({ alone: ['the beginning of the audit trail'] })
    const [counted] = await this.#queries.all(
      'SELECT COUNT(*) AS records FROM audit WHERE sequence <= :through',
      { through },
    )
    const records = number(counted?.records)
    if (records === 0) return
    const { lift, restore } = AUDIT_PROTECTION[this.#context.dialect]
    this.writer.last(lift, {})
    this.writer.last('DELETE FROM audit WHERE sequence <= :through', { through })
    this.writer.last(restore, {})
    this.writer.record('audit.archive', { account: '', name: file }, { through, records })
  }
}

/** An id in Keystone's format: 32 hex digits. */
function newId(): string {
  return randomBytes(16).toString('hex')
}
