/**
 * The directory: what the embedded authority knows. Accounts, projects, users, permissions, static
 * tokens, revocations. It holds no secret in the clear, and knows neither tokens nor protocols.
 */

/** A store on this host answers at once, a remote one later. */
export type Answer<T> = T | Promise<T>

export type UserType = 'service_user' | 'control_panel_user'

/** A permission of a service user (§5.1): for the whole account, or for selected projects. */
export type Permission =
  | { readonly scope: 'account' }
  | { readonly scope: 'projects'; readonly projects: readonly string[] }

/** A service user as issuing needs it. */
export interface ServiceUser {
  readonly id: string
  readonly name: string
  readonly account: string
  /** PHC string. */
  readonly passwordHash: string
  /** Raised whenever the password is replaced; tokens of an earlier generation no longer stand. */
  readonly generation: number
}

/** A static token with its holder. */
export interface StaticToken {
  readonly id: string
  readonly kind: string
  readonly account: string
  readonly createdAtMs: number
  readonly holder: { readonly id: string; readonly name: string }
  /** Not revoked, and holder and account enabled. */
  readonly stands: boolean
}

/** What an IAM token rests on. */
export interface IamTokenGround {
  readonly tokenId: string
  readonly subjectId: string
  readonly generation: number
  readonly account: string
  /** Absent: the whole account. */
  readonly projectId: string | undefined
  /** Scopes of permission of which the holder needs one; empty: none. */
  readonly permissionScopes: readonly string[]
}

/** What a grant rests on: the project's id, where the scope has a project. */
export interface Grant {
  readonly projectId: string | undefined
}

/** An account with all that is in it; never a secret. */
export interface AccountListing {
  readonly account: string
  readonly projects: readonly string[]
  readonly serviceUsers: readonly {
    readonly name: string
    readonly enabled: boolean
    readonly permissions: readonly Permission[]
  }[]
  readonly controlPanelUsers: readonly {
    readonly name: string
    readonly enabled: boolean
    readonly staticTokens: readonly {
      readonly name: string
      readonly id: string
      readonly revoked: boolean
    }[]
  }[]
}

/** What verifying and issuing ask. Every call may throw `NoAnswer` when the store does not answer. */
export interface Directory {
  /** Whether an IAM token still stands: not revoked, its holder unchanged, its permission still there. */
  iamTokenStands(ground: IamTokenGround): Answer<boolean>
  /** The static token with this hash. */
  staticToken(hash: Buffer): Answer<StaticToken | undefined>
  /** An enabled service user of an enabled account. Names are compared byte for byte. */
  serviceUser(account: string, name: string): Answer<ServiceUser | undefined>
  /** Whether the user holds one of the permissions for that scope (§5.1). */
  permits(
    userId: string,
    account: string,
    project: string | undefined,
    scopes: readonly string[],
  ): Answer<Grant | undefined>
  /** Revokes; returns when that first happened. The record is kept at least until `forgetAtMs`, or for good. */
  revoke(tokenId: string, atMs: number, forgetAtMs: number | undefined): Answer<number>
  close(): void
}

/** What administration asks. Each `ensure…` returns whether it created what it names. */
export interface DirectoryAdministration {
  /** All or nothing. */
  transaction<T>(change: () => T): T
  listing(): AccountListing[]
  ensureAccount(account: string): boolean
  ensureProject(account: string, name: string): boolean
  /** The id of a user of that type, if there is one. @throws Error where the name belongs to the other type */
  userId(account: string, name: string, type: UserType): string | undefined
  addUser(account: string, name: string, type: UserType, passwordHash: string | undefined): string
  /** Replaces the password and raises the generation. */
  setPassword(userId: string, passwordHash: string): void
  setEnabled(userId: string, enabled: boolean): void
  setPermissions(userId: string, account: string, permissions: readonly Permission[]): void
  hasStaticToken(userId: string, name: string): boolean
  addStaticToken(userId: string, kind: string, name: string, hash: Buffer): void
}
