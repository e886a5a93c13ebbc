/** Administration of the embedded authority: its directory's records, and the secrets that come into being with them. */
import type { Scope, TokenKind } from '../../engine/index.ts'
import { type DirectoryChange, NoSuchProject } from '../directory/change.ts'
import { AlreadyThere } from '../directory/database.ts'
import type {
  AccountRecord,
  AuditRecord,
  Page,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
  UserType,
} from '../directory/directory.ts'
import type { DirectoryStore } from '../directory/store.ts'
import { invalidArgument, NoAnswer, notFound } from '../errors.ts'
import { Secret } from '../secret.ts'
import { canonicalRange } from './addresses.ts'
import type { IssuedToken } from './authority.ts'
import {
  type AccountListing,
  type Applied,
  type DirectoryFile,
  DirectoryFileChange,
  listDirectory,
  type NewSecret,
  passwordsFor,
  type SecretMakers,
} from './directory-file.ts'
import { type IamClaims, type IamTokenSigner, newClaims, tokenOf } from './iam-token.ts'
import { newPassword, type Passwords } from './password.ts'
import { hashStaticToken, newStaticToken } from './static-token.ts'

export interface AdministrationParts {
  readonly store: DirectoryStore
  readonly passwords: Passwords
  readonly pepper: Buffer
  readonly signer: IamTokenSigner
  /** The kinds of the matrix in force. */
  readonly tokenKinds: () => Iterable<TokenKind>
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** How many ranges an account can restrict its addresses to. */
const ADDRESS_RANGES_MAX = 1000

/** Every change names its actor, for the audit trail. Every method throws `NoAnswer` where there is no answer. */
export class Administration {
  readonly #parts: AdministrationParts

  constructor(parts: AdministrationParts) {
    this.#parts = parts
  }

  async createAccount(actor: string, account: string): Promise<AccountRecord> {
    if (!/^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$/.test(account))
      throw invalidArgument({
        field: 'account',
        expected: '1 to 64 letters, digits, dots, hyphens and underscores',
      })
    return this.#change(actor, `account \`${account}\``, async (change) => {
      await change.createAccount(account)
      return found(await change.account(account), noAccount(account))
    })
  }

  async account(account: string): Promise<AccountRecord> {
    return found(await this.#parts.store.records.account(account), noAccount(account))
  }

  accountById(id: string): Promise<AccountRecord | undefined> {
    return this.#parts.store.records.accountById(id)
  }

  accounts(page: Page): Promise<AccountRecord[]> {
    return this.#parts.store.records.accounts(page)
  }

  setAccountEnabled(actor: string, account: string, enabled: boolean): Promise<AccountRecord> {
    return this.#change(actor, '', async (change) => {
      const record = found(await change.account(account), noAccount(account))
      if (record.enabled !== enabled) await change.setAccountEnabled(record, enabled)
      return { ...record, enabled }
    })
  }

  deleteAccount(actor: string, account: string): Promise<void> {
    return this.#change(actor, '', async (change) =>
      change.deleteAccount(found(await change.account(account), noAccount(account))),
    )
  }

  createProject(actor: string, account: string, name: string): Promise<ProjectRecord> {
    checkName('name', name)
    return this.#change(actor, `project \`${name}\``, async (change) => {
      await change.createProject(found(await change.account(account), noAccount(account)), name)
      return found(await change.project(account, name), noProject(account, name))
    })
  }

  async project(account: string, name: string): Promise<ProjectRecord> {
    return found(await this.#parts.store.records.project(account, name), noProject(account, name))
  }

  projectById(id: string): Promise<ProjectRecord | undefined> {
    return this.#parts.store.records.projectById(id)
  }

  projects(account: string, page: Page): Promise<ProjectRecord[]> {
    return this.#parts.store.records.projects(account, page)
  }

  setProjectEnabled(actor: string, account: string, name: string, enabled: boolean): Promise<ProjectRecord> {
    return this.#change(actor, '', async (change) => {
      const record = found(await change.project(account, name), noProject(account, name))
      if (record.enabled !== enabled) await change.setProjectEnabled(record, enabled)
      return { ...record, enabled }
    })
  }

  deleteProject(actor: string, account: string, name: string): Promise<void> {
    return this.#change(actor, '', async (change) =>
      change.deleteProject(found(await change.project(account, name), noProject(account, name))),
    )
  }

  /** The password is shown this once. */
  async createServiceUser(
    actor: string,
    account: string,
    user: {
      readonly name: string
      readonly permissions: readonly Permission[]
      readonly roles?: readonly string[]
    },
  ): Promise<{ user: UserRecord; password: Secret }> {
    checkName('name', user.name)
    checkRoles(user.roles ?? [])
    const { password, hash } = await this.#newPassword()
    const record = await this.#change(actor, `user \`${user.name}\``, async (change) => {
      const owner = found(await change.account(account), noAccount(account))
      const id = await change.createUser(owner, { name: user.name, type: 'service_user', passwordHash: hash })
      await change.setPermissions({ id, account, name: user.name }, user.permissions)
      const created = await userIn(change, account, user.name, 'service_user')
      if (user.roles !== undefined && user.roles.length > 0) await change.setRoles(created, user.roles)
      return userIn(change, account, user.name, 'service_user')
    })
    return { user: record, password }
  }

  createControlPanelUser(
    actor: string,
    account: string,
    user: { readonly name: string; readonly owner?: boolean; readonly roles?: readonly string[] },
  ): Promise<UserRecord> {
    checkName('name', user.name)
    checkRoles(user.roles ?? [])
    return this.#change(actor, `user \`${user.name}\``, async (change) => {
      const account_ = found(await change.account(account), noAccount(account))
      await change.createUser(account_, {
        name: user.name,
        type: 'control_panel_user',
        owner: user.owner === true,
      })
      const created = await userIn(change, account, user.name, 'control_panel_user')
      if (user.roles !== undefined && user.roles.length > 0) await change.setRoles(created, user.roles)
      return userIn(change, account, user.name, 'control_panel_user')
    })
  }

  async user(account: string, name: string, type: UserType): Promise<UserRecord> {
    return userIn(this.#parts.store.records, account, name, type)
  }

  users(account: string, type: UserType, page: Page): Promise<UserRecord[]> {
    return this.#parts.store.records.users(account, type, page)
  }

  userById(id: string): Promise<UserRecord | undefined> {
    return this.#parts.store.records.userById(id)
  }

  /** Sets what is given and leaves the rest. */
  updateUser(
    actor: string,
    account: string,
    name: string,
    type: UserType,
    to: {
      readonly enabled?: boolean | undefined
      readonly permissions?: readonly Permission[] | undefined
      readonly owner?: boolean | undefined
      readonly roles?: readonly string[] | undefined
    },
  ): Promise<UserRecord> {
    checkRoles(to.roles ?? [])
    return this.#change(actor, '', async (change) => {
      const user = await userIn(change, account, name, type)
      if (to.enabled !== undefined && to.enabled !== user.enabled)
        await change.setUserEnabled(user, to.enabled)
      if (to.permissions !== undefined) await change.setPermissions(user, to.permissions)
      if (to.owner !== undefined && to.owner !== user.owner) await change.setOwner(user, to.owner)
      if (to.roles !== undefined) await change.setRoles(user, to.roles)
      return userIn(change, account, name, type)
    })
  }

  deleteUser(actor: string, account: string, name: string, type: UserType): Promise<void> {
    return this.#change(actor, '', async (change) =>
      change.deleteUser(await userIn(change, account, name, type)),
    )
  }

  /** Replaces a service user's password (§5.1); their tokens no longer stand. The new one is shown this once. */
  async replacePassword(account: string, userName: string, actor = COMMAND_LINE): Promise<NewSecret> {
    const { password, hash } = await this.#newPassword()
    await this.#change(actor, '', async (change) =>
      change.setPassword(await userIn(change, account, userName, 'service_user'), hash),
    )
    return { account, user: userName, type: 'password', value: password.reveal() }
  }

  /** A static token of a control panel user (§4.2). The value is shown this once. */
  createStaticToken(
    actor: string,
    account: string,
    userName: string,
    name: string,
  ): Promise<{ token: StaticTokenRecord; kind: string; value: Secret }> {
    checkName('name', name)
    return this.#change(actor, `static token \`${name}\``, async (change) => {
      const user = await userIn(change, account, userName, 'control_panel_user')
      const value = await this.#addStaticToken(change, user, name)
      return {
        token: found(await change.liveStaticToken(user.id, name), noStaticToken(name)),
        kind: this.#staticKind(),
        value: new Secret(value),
      }
    })
  }

  async staticTokens(account: string, userName: string, page: Page): Promise<StaticTokenRecord[]> {
    const user = await this.user(account, userName, 'control_panel_user')
    return this.#parts.store.records.staticTokens(user.id, page)
  }

  revokeStaticToken(
    actor: string,
    account: string,
    userName: string,
    name: string,
  ): Promise<StaticTokenRecord> {
    return this.#change(actor, '', async (change) => {
      const user = await userIn(change, account, userName, 'control_panel_user')
      const token = found(await change.liveStaticToken(user.id, name), noStaticToken(name))
      return { ...token, revokedAtMs: await change.revoke(token.id, account, undefined) }
    })
  }

  /** A new IAM token of a control panel user, for testing (§5.1); the one before no longer stands. */
  async reissuePanelToken(
    actor: string,
    account: string,
    userName: string,
    project: string | undefined,
  ): Promise<IssuedToken> {
    const kind = this.#kindFor(project)
    return this.#change(actor, '', async (change) => {
      const user = await userIn(change, account, userName, 'control_panel_user')
      const inProject =
        project === undefined
          ? undefined
          : found(await change.project(account, project), noProject(account, project))
      const before = await change.panelToken(user.id, inProject?.id ?? '')
      if (before !== undefined) {
        const { jti, exp } = JSON.parse(before) as IamClaims
        await change.revoke(jti, account, exp === undefined ? undefined : exp * 1000)
      }
      const scope: Scope = project === undefined ? { account } : { account, project }
      const claims = newClaims({
        holder: user,
        kind,
        scope,
        projectId: inProject?.id,
        nowMs: this.#parts.now(),
      })
      await change.setPanelToken(user, inProject?.id ?? '', JSON.stringify(claims), claims.jti)
      return this.#issued(claims)
    })
  }

  /** The control panel user's IAM token once more (§5.1): signing the same claims with the same key gives the same token. */
  async copyPanelToken(account: string, userName: string, project: string | undefined): Promise<IssuedToken> {
    const { records } = this.#parts.store
    const user = await this.user(account, userName, 'control_panel_user')
    const projectId = project === undefined ? '' : (await this.project(account, project)).id
    const claims = await records.panelToken(user.id, projectId)
    return this.#issued(
      JSON.parse(
        found(claims, `control panel user \`${userName}\` has no such IAM token; reissue makes one`),
      ) as IamClaims,
    )
  }

  async addressRestriction(account: string): Promise<string[]> {
    return this.#parts.store.records.addressRules((await this.account(account)).id)
  }

  /** Restricts the account's tokens to these ranges (CIDR, IPv4 and IPv6); none: no restriction (§1). */
  setAddressRestriction(actor: string, account: string, ranges: readonly string[]): Promise<string[]> {
    const canonical = ranges.map((range, index) => {
      const form = canonicalRange(range)
      if (form === undefined)
        throw invalidArgument({
          field: `ranges[${index}]`,
          expected: 'an IPv4 or IPv6 address or range, for example 10.0.0.0/8',
        })
      return form
    })
    if (ranges.length > ADDRESS_RANGES_MAX)
      throw invalidArgument({
        field: 'ranges',
        expected: `at most ${ADDRESS_RANGES_MAX} ranges, not ${ranges.length}`,
      })
    return this.#change(actor, '', async (change) => {
      const record = found(await change.account(account), noAccount(account))
      await change.setAddressRules(record, canonical)
      return change.addressRules(record.id)
    })
  }

  revocations(page: Page): Promise<RevocationRecord[]> {
    return this.#parts.store.records.revocations(page)
  }

  /** Oldest first; of one account, or of all where it is empty. */
  audit(account: string, page: Page): Promise<AuditRecord[]> {
    return this.#parts.store.records.audit(account, page)
  }

  /**
   * Creates what the file names and is not there, and sets permissions, roles, `owner` and `enabled` of the users it
   * names; leaves alone whom it does not name. All or nothing.
   */
  async apply(file: DirectoryFile, actor = COMMAND_LINE): Promise<Applied> {
    const make: SecretMakers = {
      password: () => this.#newPassword(),
      staticToken: (change, user, name) => this.#addStaticToken(change, user, name),
    }
    const passwords = await passwordsFor(file, this.#parts.store.records, make)
    return this.#change(actor, 'a user of the file, of another type,', (change) =>
      new DirectoryFileChange(change, passwords, make).apply(file),
    )
  }

  /** Everything, for one look at a small directory. Never a secret. */
  listing(): Promise<AccountListing[]> {
    return listDirectory(this.#parts.store.records)
  }

  /** `subject` is named where its name turns out to be taken. */
  async #change<T>(
    actor: string,
    subject: string,
    work: (change: DirectoryChange) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#parts.store.change(actor, work)
    } catch (error) {
      if (error instanceof AlreadyThere)
        throw new NoAnswer('ALREADY_EXISTS', `${subject} is there already`, { reason: 'ALREADY_EXISTS' })
      if (error instanceof NoSuchProject)
        throw new NoAnswer('FAILED_PRECONDITION', error.message, { reason: 'NO_SUCH_PROJECT' })
      throw error
    }
  }

  async #newPassword(): Promise<{ password: Secret; hash: string }> {
    const password = newPassword()
    return { password: new Secret(password), hash: await this.#parts.passwords.hash(password) }
  }

  async #addStaticToken(change: DirectoryChange, user: UserRecord, name: string): Promise<string> {
    const value = newStaticToken()
    await change.addStaticToken(user, {
      kind: this.#staticKind(),
      name,
      hash: hashStaticToken(value, this.#parts.pepper),
    })
    return value
  }

  /** The kind of token that a control panel user creates (§4.2). */
  #staticKind(): string {
    const kinds = [...this.#parts.tokenKinds()].filter((kind) => kind.obtained.by === 'control_panel')
    const [kind] = kinds
    if (kind === undefined || kinds.length > 1)
      throw new NoAnswer(
        'FAILED_PRECONDITION',
        `expected one token kind of the matrix to be obtained by control_panel, found ${kinds.length}`,
        {
          reason: 'NO_STATIC_KIND',
        },
      )
    return kind.id
  }

  #kindFor(project: string | undefined): TokenKind {
    const level = project === undefined ? 'account' : 'project'
    for (const kind of this.#parts.tokenKinds())
      if (kind.obtained.by === 'issue' && kind.scopeLevel === level) return kind
    throw new NoAnswer(
      'FAILED_PRECONDITION',
      `no kind of token of the matrix can be issued with ${level} scope`,
      {
        reason: 'NO_KIND_FOR_SCOPE',
      },
    )
  }

  #issued(claims: IamClaims): IssuedToken {
    return { value: new Secret(this.#parts.signer.sign(claims)), token: tokenOf(claims) }
  }
}

/** Who works on the data folder itself. */
export const COMMAND_LINE = 'command line'

async function userIn(
  records: { user(account: string, name: string, type: UserType): Promise<UserRecord | undefined> },
  account: string,
  name: string,
  type: UserType,
): Promise<UserRecord> {
  const what = type === 'service_user' ? 'service user' : 'control panel user'
  return found(await records.user(account, name, type), `account \`${account}\` has no ${what} \`${name}\``)
}

function found<T>(value: T | undefined, otherwise: string): T {
  if (value === undefined) throw notFound(otherwise)
  return value
}

const noAccount = (account: string) => `there is no account \`${account}\``
const noProject = (account: string, name: string) => `account \`${account}\` has no project \`${name}\``
const noStaticToken = (name: string) => `there is no static token \`${name}\` that is not revoked`

function checkName(field: string, name: string): void {
  if (name.length < 1 || name.length > 255 || /[\u0000-\u001f\u007f]/.test(name) || !name.isWellFormed())
    throw invalidArgument({ field, expected: 'a name of 1 to 255 characters without control characters' })
}

function checkRoles(roles: readonly string[]): void {
  for (const [index, role] of roles.entries())
    if (!/^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$/.test(role) || role.length > 64)
      throw invalidArgument({
        field: `roles[${index}]`,
        expected: 'the name of a role, for example iam.admin',
      })
}
