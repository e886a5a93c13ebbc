/** The directory as a file: brings the records to what it says. */
import { callError, type FieldViolation, invalidFields } from '../../base/call-error.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { AccountRecord, Permission, UserRecord, UserType } from '../../directory/directory.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import { checkAccountNumber, checkName } from '../names.ts'
import type { Administration } from './administration.ts'
import { changeDirectory } from './change-directory.ts'
import type { HashedPassword, NewSecret, SecretMaker } from './secrets.ts'

/** The content of a directory file; its schema is `config/directory.schema.json`. */
export interface DirectoryFile {
  readonly accounts: readonly {
    readonly account: string
    readonly projects?: readonly string[]
    readonly service_users?: readonly {
      readonly name: string
      readonly enabled?: boolean
      readonly permissions: readonly Permission[]
      readonly roles?: readonly string[]
      readonly validator?: boolean
    }[]
    readonly control_panel_users?: readonly {
      readonly name: string
      readonly enabled?: boolean
      readonly owner?: boolean
      readonly roles?: readonly string[]
      readonly static_tokens?: readonly (string | { readonly name: string; readonly kind: string })[]
    }[]
  }[]
}

/** The created records, and the secrets made on the way. */
export interface Applied {
  readonly created: {
    readonly accounts: number
    readonly projects: number
    readonly users: number
    readonly static_tokens: number
  }
  /** Users who were there already and are now another way. */
  readonly changed: readonly ChangedUser[]
  readonly secrets: readonly NewSecret[]
}

interface ChangedUser {
  readonly account: string
  readonly user: string
  readonly what: readonly ('permissions' | 'roles' | 'owner' | 'enabled' | 'validator')[]
  /** Whether their rights rose: then what they logged in with before has ended. */
  readonly credentialsEnded: boolean
}

/**
 * Creates what the file names and is missing, and sets permissions, roles, `owner` and `enabled` of the users
 * it names. Other users stay as they are. All or nothing.
 *
 * @param follow called with the number of new passwords, before they are hashed
 * @throws CallError
 */
export async function applyFile(
  { directory, records, secrets }: Pick<Administration, 'directory' | 'records' | 'secrets'>,
  author: ChangeAuthor,
  file: DirectoryFile,
  follow?: FollowPasswords,
): Promise<Applied> {
  refuseRepetitions(file)
  const missing = await missingServiceUsers(file, records)
  const passwords = await passwordsFor(missing, secrets, author.principal, follow)
  return changeDirectory(
    directory,
    author,
    (change) => {
      // One at a time: each holds many users.
      change.writer.hold({ alone: ['a directory file'] })
      return new DirectoryFileChange(change, passwords, secrets).apply(file)
    },
    'what the file names',
  )
}

/** Entries of the file at once: a database far away gets the same step of all of them in one message. */
const TOGETHER = 500

/** In the order of the entries. */
async function together<Entry, Result>(
  entries: readonly Entry[],
  apply: (entry: Entry) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < entries.length; start += TOGETHER)
    results.push(...(await Promise.all(entries.slice(start, start + TOGETHER).map(apply))))
  return results
}

/** The changes and secrets of one user of the file. */
type AppliedPart = Pick<Applied, 'changed' | 'secrets'>

type NewPasswords = ReadonlyMap<string, HashedPassword>

type FollowPasswords = (passwords: number) => Disposable & { add(passwords: number): void }

/** The service users of the file who are missing, each as the key of its password. */
async function missingServiceUsers(file: DirectoryFile, records: DirectoryRecords): Promise<string[]> {
  const missing: string[] = []
  for (const { account, service_users = [] } of file.accounts)
    for (const { name } of service_users)
      if ((await records.user(account, name, 'service_user')) === undefined)
        missing.push(JSON.stringify([account, name]))
  return missing
}

/** Hashing passwords takes long, so it is done before the change. */
async function passwordsFor(
  missing: readonly string[],
  secrets: SecretMaker,
  principal: string,
  follow: FollowPasswords | undefined,
): Promise<NewPasswords> {
  const made = new Map<string, HashedPassword>()
  using follower = follow?.(missing.length)
  for (const user of missing) {
    made.set(user, await secrets.newPassword(principal))
    follower?.add(1)
  }
  return made
}

/**
 * Brings the records to what the file says, account by account: projects first, because permissions name
 * them.
 */
class DirectoryFileChange {
  readonly #change: DirectoryChange
  readonly #passwords: NewPasswords
  readonly #maker: SecretMaker
  readonly #created = { accounts: 0, projects: 0, users: 0, static_tokens: 0 }

  constructor(change: DirectoryChange, passwords: NewPasswords, maker: SecretMaker) {
    this.#change = change
    this.#passwords = passwords
    this.#maker = maker
  }

  async apply(file: DirectoryFile): Promise<Applied> {
    const parts: AppliedPart[] = []
    for (const {
      account: name,
      projects = [],
      service_users = [],
      control_panel_users = [],
    } of file.accounts) {
      const userNames = [...service_users, ...control_panel_users].map((user) => user.name)
      this.#change.writer.hold({ account: name, userNames, changes: 'users' })
      const account = await this.#account(name)
      await together(projects, (project) => this.#project(account, project))
      parts.push(
        ...(await together(service_users, (user) => this.#serviceUser(account, user))),
        ...(await together(control_panel_users, (user) => this.#controlPanelUser(account, user))),
      )
    }
    return {
      created: this.#created,
      changed: parts.flatMap(({ changed }) => changed),
      secrets: parts.flatMap(({ secrets }) => secrets),
    }
  }

  async #account(account: string): Promise<AccountRecord> {
    const there = await this.#change.records.account(account)
    if (there !== undefined) return there
    checkAccountNumber('account', account)
    await this.#change.createAccount(account)
    this.#created.accounts++
    return (await this.#change.records.account(account)) as AccountRecord
  }

  async #project(account: AccountRecord, name: string): Promise<void> {
    if ((await this.#change.records.project(account.account, name)) !== undefined) return
    checkName('projects', name)
    await this.#change.createProject(account, name)
    this.#created.projects++
  }

  async #serviceUser(
    account: AccountRecord,
    {
      name,
      permissions,
      roles,
      enabled,
      validator,
    }: NonNullable<DirectoryFile['accounts'][number]['service_users']>[number],
  ): Promise<AppliedPart> {
    const { user, isNew, secrets } = await this.#user(account, name, 'service_user')
    const regranted = isNew || !sameSet(grantsOf(permissions), grantsOf(user.permissions))
    if (regranted) await this.#change.setPermissions(user, permissions)
    const otherValidator = validator !== undefined && validator !== user.validator
    const risen = otherValidator && (await this.#change.setValidator(user, validator))
    const common = await this.#common(user, roles, enabled)
    const what = [
      ...(regranted ? (['permissions'] as const) : []),
      ...common.what,
      ...(otherValidator ? (['validator'] as const) : []),
    ]
    return { secrets, changed: isNew ? [] : changedIn(user, what, risen || common.risen) }
  }

  /** Sets what users of both types have, where it differs; says what did, and whether their rights rose. */
  async #common(
    user: UserRecord,
    roles: readonly string[] | undefined,
    enabled: boolean | undefined,
  ): Promise<{ readonly what: ('roles' | 'enabled')[]; readonly risen: boolean }> {
    const otherRoles = roles !== undefined && !sameSet(roles, user.roles)
    const risen = otherRoles && (await this.#change.setRoles(user, roles))
    const otherwise = enabled !== undefined && enabled !== user.enabled
    if (otherwise) await this.#change.setUserEnabled(user, enabled)
    const what = [...(otherRoles ? (['roles'] as const) : []), ...(otherwise ? (['enabled'] as const) : [])]
    return { what, risen }
  }

  async #controlPanelUser(
    account: AccountRecord,
    entry: NonNullable<DirectoryFile['accounts'][number]['control_panel_users']>[number],
  ): Promise<AppliedPart> {
    const { name, static_tokens = [], enabled, owner, roles } = entry
    const { user, isNew } = await this.#user(account, name, 'control_panel_user')
    const otherOwner = owner !== undefined && owner !== user.owner
    const risen = otherOwner && (await this.#change.setOwner(user, owner))
    const common = await this.#common(user, roles, enabled)
    const what = [...(otherOwner ? (['owner'] as const) : []), ...common.what]
    const secrets: NewSecret[] = []
    for (const token of static_tokens) {
      const { name: key, kind } = typeof token === 'string' ? { name: token, kind: undefined } : token
      if ((await this.#change.records.activeStaticToken(user.id, key)) !== undefined) continue
      checkName('static_tokens', key)
      const value = await this.#maker.addStaticToken(this.#change, user, { name: key, note: '', kind })
      this.#created.static_tokens++
      secrets.push({ account: account.account, user: name, type: 'static_token', name: key, value })
    }
    return { secrets, changed: isNew ? [] : changedIn(user, what, risen || common.risen) }
  }

  async #user(
    account: AccountRecord,
    name: string,
    type: UserType,
  ): Promise<{ readonly user: UserRecord; readonly isNew: boolean; readonly secrets: NewSecret[] }> {
    const other: UserType = type === 'service_user' ? 'control_panel_user' : 'service_user'
    const { records } = this.#change
    const [there, ofOtherType] = await Promise.all([
      records.user(account.account, name, type),
      records.user(account.account, name, other),
    ])
    if (there !== undefined) return { user: there, isNew: false, secrets: [] }
    if (ofOtherType !== undefined)
      throw callError('USER_TYPE_DIFFERS', {
        user: name,
        account: account.account,
        found: other,
        expected: type,
      })
    checkName(`${type}s: name`, name)
    const made =
      type === 'service_user' ? this.#passwords.get(JSON.stringify([account.account, name])) : undefined
    await this.#change.createUser(account, { name, type, passwordHash: made?.hash })
    this.#created.users++
    const user = (await records.user(account.account, name, type)) as UserRecord
    const secret = { account: account.account, user: name, type: 'password' } as const
    return { user, isNew: true, secrets: made === undefined ? [] : [{ ...secret, value: made.password }] }
  }
}

function changedIn(
  { account, name: user }: UserRecord,
  what: ChangedUser['what'],
  credentialsEnded: boolean,
): ChangedUser[] {
  return what.length === 0 ? [] : [{ account, user, what, credentialsEnded }]
}

/** The rights of a user by these permissions, whichever way they are written. */
function grantsOf(permissions: readonly Permission[]): string[] {
  return permissions.flatMap((permission) =>
    permission.scope === 'account' ? ['account'] : permission.projects.map((project) => `project ${project}`),
  )
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  const [ones, others] = [new Set(one), new Set(other)]
  return ones.size === others.size && one.every((each) => others.has(each))
}

/**
 * A rule beyond the schema of the file: each account and each user is there once.
 *
 * @throws CallError that names what is repeated
 */
export function refuseRepetitions({ accounts }: DirectoryFile): void {
  const violations = [
    ...repeated('accounts', accounts, 'account'),
    ...accounts.flatMap(({ service_users = [], control_panel_users = [] }, index) => [
      ...repeated(`accounts[${index}].service_users`, service_users, 'name'),
      ...repeated(`accounts[${index}].control_panel_users`, control_panel_users, 'name'),
    ]),
  ]
  if (violations.length > 0) throw invalidFields(violations)
}

function repeated<Key extends string>(
  path: string,
  items: readonly { readonly [key in Key]: string }[],
  key: Key,
): FieldViolation[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    if (seen.has(item[key]))
      return [{ field: `${path}[${index}].${key}`, expected: 'no repetition of an earlier item' }]
    seen.add(item[key])
    return []
  })
}
