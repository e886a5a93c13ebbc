/**
 * The directory: the data of the embedded authority. It contains accounts, projects, users, permissions,
 * static tokens and revocations. It stores no secret in the clear, and does not know token formats or
 * protocols.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Changes } from './feed/changes.ts'

export type UserType = 'service_user' | 'control_panel_user'

/** A permission of a service user (§5.1): for the whole account, or for selected projects. */
export type Permission =
  | { readonly scope: 'account' }
  | { readonly scope: 'projects'; readonly projects: readonly string[] }

/** The queries of verifying and issuing. Every call may throw `CallError` if the store does not answer. */
export interface Directory {
  /** Says whether what was asked before still holds. */
  readonly changes: Changes
  /**
   * Whether an IAM token is still active: not revoked, the holder's generation unchanged, and its account,
   * project and permission without a break since it was issued.
   */
  iamTokenStatus(query: IamTokenQuery): MaybePromise<TokenStatus>
  /** The static token with this hash. */
  staticToken(hash: Buffer): MaybePromise<StaticToken | undefined>
  /** An enabled service user of an enabled account, who has a password. Names are compared byte for byte. */
  serviceUser(account: string, name: string): MaybePromise<ServiceUser | undefined>
  /** Whether the user has one of the permissions for that scope (§5.1). */
  permits(
    userId: string,
    account: string,
    project: string | undefined,
    scopes: readonly string[],
  ): MaybePromise<Grant | undefined>
}

/** Most tokens that an IAM token is derived from, one after the other. */
export const ANCESTORS_MAX = 8

/** The facts that decide whether an IAM token is active. */
export interface IamTokenQuery {
  readonly tokenId: string
  /**
   * Ids of the tokens that it was derived from, at most `ANCESTORS_MAX`. If one of them is revoked, it is not
   * active.
   */
  readonly ancestors: readonly string[]
  readonly subjectId: string
  readonly generation: number
  /** Number of the last change of the directory when the token was issued (`Grant.changeNumber`). */
  readonly changeNumber: number
  readonly account: string
  /** `undefined`: the token is for the whole account. */
  readonly projectId: string | undefined
  /**
   * A service user needs a permission with one of these scopes; empty: no permission is needed. Control panel
   * users need none (§1).
   */
  readonly permissionScopes: readonly string[]
  /**
   * Whether its revocation is kept forever. Otherwise it is removed after a time, and whatever was issued
   * before that counts as revoked; default: no.
   */
  readonly revocationIsKept?: true
}

/** Whether a token is active (RFC 7662), and where it may be used from. */
export interface TokenStatus {
  readonly active: boolean
  /** Address ranges (CIDR) that the account restricts its tokens to (§1); empty: no restriction. */
  readonly addresses: readonly string[]
}

/** The holder of an active IAM token. */
export interface TokenHolder {
  readonly user: UserRecord
  /** Address ranges (CIDR) that the account restricts its tokens to (§1); empty: no restriction. */
  readonly addresses: readonly string[]
}

/** The facts about a service user that issuing needs. */
export interface ServiceUser {
  readonly id: string
  readonly name: string
  readonly account: string
  /** PHC string. */
  readonly passwordHash: string
  /**
   * Raised whenever the password is replaced, the user disabled or their rights rise; tokens of an earlier
   * generation are revoked.
   */
  readonly generation: number
  readonly addresses: readonly string[]
}

/**
 * A static token with its holder. `active`: not revoked, and its holder and account exist and are enabled.
 */
export interface StaticToken extends TokenStatus {
  readonly id: string
  readonly kind: string
  readonly account: string
  readonly createdAtMs: number
  /**
   * On which day it was last used, in days since the epoch (UTC); `undefined`: never, or before that was
   * recorded.
   */
  readonly lastUsedDay: number | undefined
  readonly holder: { readonly id: string; readonly name: string }
}

/** The user has the permission. `projectId` is the id of the scope's project, if the scope has one. */
export interface Grant {
  readonly projectId: string | undefined
  /** Number of the last change of the directory. Numbers only rise, whatever the clocks do. */
  readonly changeNumber: number
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
  /** Empty for control panel users. */
  readonly permissions: readonly Permission[]
  /** Whether a control panel user owns the account. */
  readonly owner: boolean
  /** For example `iam.admin` (§5.1). */
  readonly roles: readonly string[]
  /** Whether a service user may validate the tokens of every account. */
  readonly validator: boolean
  readonly createdAtMs: number
}

/** The role whose holders administer their account (§5.1). */
export const ADMINISTRATOR_ROLE = 'iam.admin'

/** Whether a user administers their account (§5.1). */
export function administersAccount({ owner, roles }: Pick<UserRecord, 'owner' | 'roles'>): boolean {
  return owner || roles.includes(ADMINISTRATOR_ROLE)
}

export interface StaticTokenRecord {
  readonly id: string
  readonly account: string
  readonly userName: string
  /** Key name (§4.2). */
  readonly name: string
  /** The last characters of its text; empty: an earlier version made it. */
  readonly lastFour: string
  /** A note of its holder, or empty. */
  readonly note: string
  /** Id of its kind. */
  readonly kind: string
  readonly createdAtMs: number
  readonly revokedAtMs: number | undefined
  /**
   * On which day it was last used, in days since the epoch (UTC); `undefined`: never, or before that was
   * recorded.
   */
  readonly lastUsedDay: number | undefined
}

export interface RevocationRecord {
  readonly tokenId: string
  readonly revokedAtMs: number
}

/** One change: who made it, what was changed, and when. Never contains a secret. */
export interface AuditRecord {
  readonly sequence: number
  readonly atMs: number
  readonly actor: string
  /** For example `service_user.create`. */
  readonly action: string
  /** Empty if the change does not concern an account. */
  readonly account: string
  /** Name of what was changed: of a static token its key name. A subject without a name has its id here. */
  readonly subject: string
  /** Id of what was changed; empty: it has none, or an earlier version recorded the change. */
  readonly subjectId: string
  readonly details: Readonly<Record<string, unknown>>
}

/** An address that a user came from. */
export interface KnownAddress {
  readonly userName: string
  /** IP address, `unix socket`, or `unknown`; `gone` in older records. */
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly lastSeenMs: number
}

/** Addresses that the users of an account came from, the one that was seen last first. */
export interface KnownAddresses {
  readonly known: readonly KnownAddress[]
  /** Whether there may be more. */
  readonly truncated: boolean
}

/** The records of the audit trail to search for. A record matches if it does in everything that is set. */
export interface AuditFilter {
  /** Texts that it contains literally; letters of ASCII match in both cases. Empty: any. */
  readonly actor?: string
  readonly action?: string
  /** The id of the subject matches too, as a whole. */
  readonly subject?: string
  /** Not before this time, in milliseconds since the epoch. */
  readonly sinceMs?: number | undefined
  /** Before this time. */
  readonly untilMs?: number | undefined
}

/** Selects a part of the audit trail. */
export interface AuditQuery {
  /** Empty: all accounts. */
  readonly account: string
  /** Whether to include records of deleted accounts that had the same number; default: yes. */
  readonly earlier?: boolean
  /** Default: the oldest record comes first. */
  readonly newestFirst?: boolean
  /** Number of the last record before the page; default: the page is the first one. */
  readonly after?: number | undefined
  readonly filter?: AuditFilter | undefined
  /** Most records of the page. */
  readonly size: number
}

/**
 * A part of the audit trail. With a filter it may have fewer records than were asked for, although there are
 * more.
 */
export interface AuditPage {
  readonly records: readonly AuditRecord[]
  /** `after` of the next page; `undefined`: that was all. */
  readonly next: number | undefined
}

/** Selects a part of a list: at most `size` entries that come after `after`. */
export interface Page {
  readonly after: string
  readonly size: number
}
