/**
 * The directory: what the embedded authority knows. Accounts, projects, users, permissions, static
 * tokens, revocations. It holds no secret in the clear, and knows neither tokens nor protocols.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'

export type UserType = 'service_user' | 'control_panel_user'

/** A permission of a service user (§5.1): for the whole account, or for selected projects. */
export type Permission =
  | { readonly scope: 'account' }
  | { readonly scope: 'projects'; readonly projects: readonly string[] }

/** What verifying and issuing ask. Every call may throw `CallError` when the store does not answer. */
export interface Directory {
  /** A number that changes whenever anybody has changed anything; `undefined`: nobody knows without asking. */
  version(): number | undefined
  /** Whether an IAM token still active: not revoked, its holder unchanged, its permission still there. */
  iamTokenStatus(ground: IamTokenQuery): MaybePromise<TokenStatus>
  /** The static token with this hash. */
  staticToken(hash: Buffer): MaybePromise<StaticToken | undefined>
  /** An enabled service user of an enabled account. Names are compared byte for byte. */
  serviceUser(account: string, name: string): MaybePromise<ServiceUser | undefined>
  /** Whether the user holds one of the permissions for that scope (§5.1). */
  permits(
    userId: string,
    account: string,
    project: string | undefined,
    scopes: readonly string[],
  ): MaybePromise<Grant | undefined>
}

/** What decides whether an IAM token is active. */
export interface IamTokenQuery {
  readonly tokenId: string
  readonly subjectId: string
  readonly generation: number
  readonly account: string
  /** Absent: the whole account. */
  readonly projectId: string | undefined
  /** Scopes of permission of which a service user needs one; empty: none. A control panel user needs none (§1). */
  readonly permissionScopes: readonly string[]
}

/** Whether a token is active (RFC 7662), and where it may be used from. */
export interface TokenStatus {
  readonly active: boolean
  /** Address ranges (CIDR) that the account restricts its tokens to (§1); empty: no restriction. */
  readonly addresses: readonly string[]
}

/** A service user as issuing needs it. */
export interface ServiceUser {
  readonly id: string
  readonly name: string
  readonly account: string
  /** PHC string. */
  readonly passwordHash: string
  /** Raised whenever the password is replaced or the user disabled; tokens of an earlier generation are revoked. */
  readonly generation: number
  readonly addresses: readonly string[]
}

/** A static token with its holder. `active`: not revoked, and its holder and account exist and are enabled. */
export interface StaticToken extends TokenStatus {
  readonly id: string
  readonly kind: string
  readonly account: string
  readonly createdAtMs: number
  readonly holder: { readonly id: string; readonly name: string }
}

/** What a grant rests on: the project's id, where the scope has a project. */
export interface Grant {
  readonly projectId: string | undefined
}

export interface AccountRecord {
  readonly account: string
  readonly id: string
  readonly enabled: boolean
  readonly createdAtMs: number
}

export interface ProjectRecord {
  readonly account: string
  readonly name: string
  readonly id: string
  readonly enabled: boolean
  readonly createdAtMs: number
}

export interface UserRecord {
  readonly account: string
  readonly name: string
  readonly id: string
  readonly type: UserType
  readonly enabled: boolean
  readonly generation: number
  /** Of service users. */
  readonly permissions: readonly Permission[]
  /** Whether a control panel user owns the account. */
  readonly owner: boolean
  /** For example `iam.admin` (§5.1). */
  readonly roles: readonly string[]
  readonly createdAtMs: number
}

export interface StaticTokenRecord {
  readonly id: string
  readonly account: string
  readonly userName: string
  /** Key name (§4.2). */
  readonly name: string
  readonly createdAtMs: number
  readonly revokedAtMs: number | undefined
}

export interface RevocationRecord {
  readonly tokenId: string
  readonly revokedAtMs: number
}

/** One change: who, what, when. Never a secret. */
export interface AuditRecord {
  readonly sequence: number
  readonly atMs: number
  readonly actor: string
  /** For example `service_user.create`. */
  readonly action: string
  /** Empty where no account is concerned. */
  readonly account: string
  /** Name or id of what was changed. */
  readonly subject: string
  readonly details: Readonly<Record<string, unknown>>
}

/** A part of a list: what comes after `after`, at most `size`. */
export interface Page {
  readonly after: string
  readonly size: number
}
