/** A genuine token, and who holds it. */
import type { Scope } from '../../engine/index.ts'

/** The holder of a token. */
export interface Subject {
  readonly id: string
  readonly name: string
  /** `service_user` or `control_panel_user` (§5.1); `user` where an upstream vouches, which does not say which. */
  readonly type: string
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
  /** Number of the last change of the directory when an IAM token was issued; `undefined` for a static token. */
  readonly changeNumber?: number
  /** Identifies the token without revealing it. */
  readonly tokenId: string
  /** Milliseconds since the epoch. */
  readonly issuedAtMs: number
  /** Milliseconds since the epoch; `undefined`: the token never expires (§8). */
  readonly expiresAtMs: number | undefined
  /** Name of the upstream that vouches for the token; `undefined`: the embedded authority does. */
  readonly authority?: string
  /** Names of the holder's roles in the scope, as the upstream says; `undefined`: the embedded authority says it elsewhere. */
  readonly roles?: readonly string[]
  /** The catalog of the upstream, for a token that it just issued. It never leaves the process. */
  readonly catalog?: readonly unknown[]
}
