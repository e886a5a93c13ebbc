/** Administration of the embedded authority: brings the directory to what a directory file says, and makes the secrets. */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { TokenKind } from '../../engine/index.ts'
import type { AccountListing, DirectoryAdministration, Permission, UserType } from '../directory/directory.ts'
import type { Passwords } from './password.ts'
import { hashStaticToken, newStaticToken } from './static-token.ts'

/** What a directory file says; its schema is `config/directory.schema.json`. */
export interface DirectoryFile {
  readonly accounts: readonly {
    readonly account: string
    readonly projects?: readonly string[]
    readonly service_users?: readonly {
      readonly name: string
      readonly enabled?: boolean
      readonly permissions: readonly Permission[]
    }[]
    readonly control_panel_users?: readonly {
      readonly name: string
      readonly enabled?: boolean
      readonly static_tokens?: readonly string[]
    }[]
  }[]
}

/** A secret that was just made. It is shown once and stored nowhere. */
export interface NewSecret {
  readonly account: string
  readonly user: string
  readonly type: 'password' | 'static_token'
  /** Key name of a static token. */
  readonly name?: string
  readonly value: string
}

/** What was created, and the secrets made on the way. */
export interface Applied {
  readonly created: {
    readonly accounts: number
    readonly projects: number
    readonly users: number
    readonly static_tokens: number
  }
  readonly secrets: readonly NewSecret[]
}

export interface AdministrationParts {
  readonly directory: DirectoryAdministration
  readonly passwords: Passwords
  readonly pepper: KeyObject
  readonly tokenKinds: Iterable<TokenKind>
}

export class Administration {
  readonly #parts: AdministrationParts

  constructor(parts: AdministrationParts) {
    this.#parts = parts
  }

  /**
   * Creates what the file names and is not there, and sets permissions and `enabled` of the users it names;
   * leaves alone whom it does not name. All or nothing.
   *
   * @throws Error where a permission selects a project that the account does not have, or a name is taken by another type of user
   */
  async apply(file: DirectoryFile): Promise<Applied> {
    const { directory } = this.#parts
    // Hashing takes its time, so it is done before the transaction; a user made meanwhile keeps their password.
    const passwords = await this.#passwordsFor(file)
    const secrets: NewSecret[] = []
    const created = { accounts: 0, projects: 0, users: 0, static_tokens: 0 }
    const ensureUser = (account: string, name: string, type: UserType): string => {
      const found = directory.userId(account, name, type)
      if (found !== undefined) return found
      created.users++
      const password = passwords.get(JSON.stringify([account, name]))
      if (type === 'service_user' && password !== undefined)
        secrets.push({ account, user: name, type: 'password', value: password.value })
      return directory.addUser(account, name, type, type === 'service_user' ? password?.hash : undefined)
    }

    directory.transaction(() => {
      for (const { account, projects = [], service_users = [], control_panel_users = [] } of file.accounts) {
        if (directory.ensureAccount(account)) created.accounts++
        for (const project of projects) if (directory.ensureProject(account, project)) created.projects++
        for (const { name, permissions, enabled } of service_users) {
          const user = ensureUser(account, name, 'service_user')
          directory.setPermissions(user, account, permissions)
          if (enabled !== undefined) directory.setEnabled(user, enabled)
        }
        for (const { name, static_tokens = [], enabled } of control_panel_users) {
          const user = ensureUser(account, name, 'control_panel_user')
          if (enabled !== undefined) directory.setEnabled(user, enabled)
          for (const key of static_tokens) {
            if (directory.hasStaticToken(user, key)) continue
            created.static_tokens++
            secrets.push({
              account,
              user: name,
              type: 'static_token',
              name: key,
              value: this.#addStaticToken(user, key),
            })
          }
        }
      }
    })
    return { created, secrets }
  }

  /** Replaces a service user's password (§5.1); their tokens no longer stand. The new one is shown once. */
  async replacePassword(account: string, userName: string): Promise<NewSecret> {
    const { directory, passwords } = this.#parts
    const user = directory.userId(account, userName, 'service_user')
    if (user === undefined) throw new Error(`account \`${account}\` has no service user \`${userName}\``)
    const value = newPassword()
    directory.setPassword(user, await passwords.hash(value))
    return { account, user: userName, type: 'password', value }
  }

  listing(): AccountListing[] {
    return this.#parts.directory.listing()
  }

  async #passwordsFor(file: DirectoryFile): Promise<Map<string, { value: string; hash: string }>> {
    const made = new Map<string, { value: string; hash: string }>()
    for (const { account, service_users = [] } of file.accounts)
      for (const { name } of service_users) {
        if (this.#parts.directory.userId(account, name, 'service_user') !== undefined) continue
        const value = newPassword()
        made.set(JSON.stringify([account, name]), { value, hash: await this.#parts.passwords.hash(value) })
      }
    return made
  }

  #addStaticToken(userId: string, name: string): string {
    const value = newStaticToken()
    this.#parts.directory.addStaticToken(
      userId,
      this.#staticKind(),
      name,
      hashStaticToken(value, this.#parts.pepper),
    )
    return value
  }

  /** The kind of token that a control panel user creates (§4.2). */
  #staticKind(): string {
    const kinds = [...this.#parts.tokenKinds].filter((kind) => kind.obtained.by === 'control_panel')
    const [kind] = kinds
    if (kind === undefined || kinds.length > 1)
      throw new Error(
        `expected one token kind in the matrix that is obtained by control_panel, found ${kinds.length}`,
      )
    return kind.id
  }
}

/** 144 random bits, without characters that a shell or a URL would change. */
function newPassword(): string {
  return randomBytes(18).toString('base64url')
}
