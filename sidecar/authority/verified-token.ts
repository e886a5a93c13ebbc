/** A genuine token, and who holds it. */
import type { Scope } from '../../engine/index.ts'

/** The holder of a token. */
export interface Subject {
  readonly id: string
  readonly name: string
  /** `service_user` or `control_panel_user` (§5.1). */
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
}
