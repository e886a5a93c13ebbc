/** A genuine token, and its holder. */
import type { Scope } from '../../engine/index.ts'
import { hasCome } from '../base/time-limit.ts'

/** The holder of a token. */
interface Subject {
  readonly id: string
  readonly name: string
  /**
   * `service_user` or `control_panel_user` (§5.1); `user` where an upstream verifies the token, which does
   * not say which.
   */
  readonly type: string
}

/**
 * The kind of an unscoped token, which Keystone's clients can ask for (`http.compatibility.unscoped_login`).
 * The schema of a matrix refuses this id, so every decision about such a token is a denial, and it does not
 * identify an administrator.
 */
export const UNSCOPED_KIND = 'iam_token.unscoped'

/** Whether a token is bound to no scope; the account in its scope is then that of its holder. */
export function isUnscoped({ kind }: Pick<VerifiedToken, 'kind'>): boolean {
  return kind === UNSCOPED_KIND
}

/** Whether a token has expired, or a clock that was ahead issued it. */
export function isOver(
  { issuedAtMs, expiresAtMs = Number.POSITIVE_INFINITY }: Pick<VerifiedToken, 'issuedAtMs' | 'expiresAtMs'>,
  nowMs: number,
): boolean {
  return !hasCome(issuedAtMs, nowMs) || nowMs >= expiresAtMs
}

/** The application credential of a token. */
export interface TokenCredential {
  /** 32 hex digits. */
  readonly id: string
  /** Whether the token can be exchanged, and can make and delete application credentials. */
  readonly unrestricted: boolean
  /** Whether it has fewer roles than its user had: then the token administers and validates nothing. */
  readonly limited: boolean
}

/** A genuine token. */
export interface VerifiedToken {
  readonly kind: string
  readonly scope: Scope
  /** Id of the scope's project. A later project with the same name has another id. */
  readonly projectId?: string
  readonly subject: Subject
  /** The holder's generation when an IAM token was issued; `undefined` for a static token. */
  readonly generation?: number
  /**
   * Number of the last change of the directory when an IAM token was issued; `undefined` for a static token.
   */
  readonly changeNumber?: number
  /** Identifies the token without revealing it. */
  readonly tokenId: string
  /**
   * Ids of the tokens that it was derived from, the nearest first; `undefined`: it was issued for a password
   * or in the control panel. It ends when one of them is revoked, and at the latest when they expire.
   */
  readonly derivedFrom?: readonly string[]
  /** The application credential that logged in for it, or for a token that it was derived from. */
  readonly applicationCredential?: TokenCredential
  /** Milliseconds since the epoch. */
  readonly issuedAtMs: number
  /** Milliseconds since the epoch; `undefined`: the token never expires (§8). */
  readonly expiresAtMs: number | undefined
  /** Name of the upstream that verifies the token; `undefined`: the embedded authority does. */
  readonly authority?: string
  /**
   * Names of the holder's roles in the scope, as the upstream says; `undefined`: the embedded authority says
   * it elsewhere.
   */
  readonly roles?: readonly string[]
  /**
   * The hub's answer about it holds for no position that was received here, so an answer about it has none:
   * no client may remember it.
   */
  readonly countsOnce?: true
  /** The catalog of the upstream, for a token that it just issued. It never leaves the process. */
  readonly catalog?: readonly unknown[]
}
