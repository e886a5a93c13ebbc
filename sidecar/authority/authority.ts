/** What verifies and issues tokens. The embedded authority does so by its directory. */
import type { CredentialReason, Scope, TokenKind } from '../../engine/index.ts'
import type { Secret } from '../base/secret.ts'
import type { Actor } from './actor.ts'

/** Who holds a token. */
export interface Subject {
  readonly id: string
  readonly name: string
  /** `service_user` or `control_panel_user` (§5.1). */
  readonly type: string
}

/** A credential that the authority vouches for. */
export interface VerifiedToken {
  readonly kind: string
  readonly scope: Scope
  /** Of the scope's project: another one of the same name has another id. */
  readonly projectId?: string
  readonly subject: Subject
  /** Names the token without revealing it. */
  readonly tokenId: string
  /** Milliseconds since the epoch. */
  readonly issuedAtMs: number
  /** Milliseconds since the epoch; `undefined`: never (§8). */
  readonly expiresAtMs: number | undefined
}

/** The outcome of verifying. An expired or revoked token is still named, so that a log can say which. */
export type Verification =
  | { readonly ok: true; readonly token: VerifiedToken }
  | { readonly ok: false; readonly reason: CredentialReason; readonly token?: VerifiedToken }

/** A service user who asks for a token with their own password (§2.2). */
export interface PasswordRequester {
  readonly userName: string
  readonly account: string
  readonly password: Secret
}

/** Where a login comes from. */
export interface Origin {
  /** Failed logins are counted by it; `undefined`: this machine. */
  readonly address: string | undefined
  /** Whether it is at the endpoint that an account may restrict to addresses (§1). */
  readonly restricted: boolean
}

/** A token that was just issued. */
export interface IssuedToken {
  readonly value: Secret
  readonly token: VerifiedToken
}

export interface Authority {
  /**
   * How tokens of this form are obtained, judged by the form alone: enough to tell that a credential
   * arrived in the wrong header before anyone asks whether it is genuine. `undefined`: cannot be told.
   */
  formOf(value: string): TokenKind['obtained']['by'] | undefined
  /**
   * Verifies a credential. Never throws for what the credential is; `CallError` where the directory does not answer.
   *
   * @param clientAddress where the credential came from, for accounts that restrict addresses (§1)
   * @param evenExpired whether a token that expired in the last 48 hours is vouched for as if it had not
   */
  verify(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    clientAddress?: string,
    evenExpired?: boolean,
  ): Verification | Promise<Verification>
  /**
   * Issues a token of a kind for a scope, if §5.1 allows it.
   *
   * @param from by default this machine, at no endpoint that is restricted
   * @throws CallError
   */
  issue(requester: PasswordRequester, kind: TokenKind, scope: Scope, from?: Origin): Promise<IssuedToken>
  /** Revokes a token; returns when that first happened. */
  revoke(actor: Actor, revocation: TokenRevocation): Promise<number>
}

/** A token that is to be revoked. */
export interface TokenRevocation {
  readonly tokenId: string
  /** Empty: unknown; the authority's own record of the token counts, if it has one. */
  readonly account: string
  /** After that the record of the revocation may be deleted; `undefined`: never. */
  readonly expiresAtMs: number | undefined
}
