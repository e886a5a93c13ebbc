/**
 * The JSON that the control panel and its sidecar exchange beside the contract: sessions, factors, and what
 * operators look at.
 */

/** Rights of an operator's caller. */
export interface CallerRights {
  readonly everything: boolean
  readonly read: boolean
  readonly revoke: boolean
  /** Accounts that it administers. */
  readonly administer: readonly string[]
}

export interface UserWho {
  readonly type: 'user'
  readonly account: string
  readonly name: string
  readonly owner: boolean
  /** The owner, or a user with the role `iam.admin` (§5.1). */
  readonly administrator: boolean
  readonly roles: readonly string[]
}

export interface OperatorWho {
  readonly type: 'operator'
  readonly name: string
  readonly rights: CallerRights
}

/** The user who is logged in. */
export type Who = UserWho | OperatorWho

/** Times are milliseconds since the epoch, by the clock of the sidecar. */
export interface Session {
  readonly signedIn: true
  readonly id: string
  readonly who: Who
  readonly address: string | null
  readonly createdAtMs: number
  /** Until then no password is asked for before a secret is shown. */
  readonly confirmedUntilMs: number
  readonly idleUntilMs: number
  readonly endsAtMs: number
  readonly nowMs: number
  /** Whether passkeys are possible at this address. */
  readonly passkeys: boolean
}

interface NoSession {
  readonly signedIn: false
  readonly passkeys: boolean
}

export type SessionAnswer = Session | NoSession

export interface LogIn {
  readonly account: string
  readonly user: string
  readonly password: string
  readonly code?: string
}

/** An invitation that can still be accepted. */
export interface Invitation {
  readonly account: string
  readonly user: string
  readonly endsAtMs: number
}

/** How a user confirms their identity again. `passkey` is the browser's answer to a challenge. */
export type Confirmation =
  | { readonly password: string; readonly code?: string }
  | { readonly passkey: unknown }
  | { readonly token: string }

export interface Passkey {
  readonly id: string
  readonly name: string
  readonly createdAtMs: number
  /** ISO date. */
  readonly lastUsedDay: string | null
}

/** The factors of a user. */
export interface Factors {
  readonly password: { readonly changedAtMs: number } | null
  readonly code: { readonly createdAtMs: number } | null
  readonly passkeys: readonly Passkey[]
}

/** A one-time code that is being set up. Nothing is stored until a code of it was sent. */
export interface NewCode {
  readonly secret: string
  readonly uri: string
  readonly sealed: string
}

export interface Caller {
  readonly name: string
  readonly rights: CallerRights
  readonly profiles: readonly string[]
  readonly identifiedBy: readonly ('token' | 'certificate')[]
  readonly expiresAtMs: number | null
  readonly expired: boolean
}

interface SigningKey {
  readonly id: string
  readonly state: string
  /** When it entered this state. */
  readonly sinceMs: number
  /** `null`: it is not recorded. */
  readonly createdAtMs: number | null
  /** Whether another key should take its place. */
  readonly old: boolean
}

interface CertificateInUse {
  /** Key of the configuration with its file. */
  readonly what: string
  readonly subject: string
  readonly endsAtMs: number
  readonly state: string
}

/** The deleted users and projects that are still in the directory. */
export interface Removal {
  /** null: this process has not looked yet. */
  readonly left: LeftToRemove | null
}

/** Users and projects to mark as deleted, to remove, and to keep for now. */
type LeftToRemove = Readonly<
  Record<'unmarked' | 'due' | 'kept', { readonly users: number; readonly projects: number }>
>

/** The facts about the keys and secrets of the sidecar, without any of them. */
export interface Keys {
  readonly signing: readonly SigningKey[]
  /** Whether the host signs IAM tokens. Otherwise it only checks them. */
  readonly signs: boolean
  readonly certificates: readonly CertificateInUse[]
  readonly pepper: { readonly writtenAtMs: number | null }
  readonly administratorToken: { readonly writtenAtMs: number } | null
}
