/**
 * The interface of an authority, which verifies and issues tokens. The embedded authority uses a directory.
 */

import type { CredentialReason, Scope, TokenKind } from '../../engine/index.ts'
import type { IpAddress } from '../base/ip-address.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Secret } from '../base/secret.ts'
import type { ApplicationCredentialKey } from '../directory/application-credential-records.ts'
import type { TokenStatus } from '../directory/directory.ts'
import type { Presented } from './elsewhere.ts'
import type { PublicKey } from './keys.ts'
import type { LoginSource } from './login-source.ts'
import type { VerifiedToken } from './verified-token.ts'

export type { ApplicationCredentialKey } from '../directory/application-credential-records.ts'
export type { VerifiedToken } from './verified-token.ts'
export { isUnscoped, UNSCOPED_KIND } from './verified-token.ts'

/**
 * The result of a verification. It includes the token even if that is expired or revoked, so that a log can
 * name it.
 */
export type Verification =
  | { readonly ok: true; readonly token: VerifiedToken }
  | { readonly ok: false; readonly reason: CredentialReason; readonly token?: VerifiedToken }

/** A service user who requests a token with their own password (§2.2). */
export interface PasswordRequester {
  readonly userName: string
  readonly account: string
  readonly password: Secret
}

/** A program that logs in with an application credential of a service user. */
export interface CredentialLogin {
  readonly key: ApplicationCredentialKey
  readonly secret: Secret
}

/** Where a login comes from. */
export interface Origin {
  /** For which failed logins are counted, and which shares the password checks with others. */
  readonly source: LoginSource
  /** Distinguishes the connections of a source, as far as it has any. Each of them has its turn. */
  readonly connection?: string | undefined
  /** The client address; `undefined`: none is known. */
  readonly address?: IpAddress | undefined
  /** Whether the login uses the endpoint that an account may restrict to some addresses (§1). */
  readonly restricted: boolean
  /** Secrets that a sidecar without a directory forwards with it; absent: the login is the sidecar's own. */
  readonly handOn?: (() => Presented) | undefined
}

/** A token that was just issued. */
export interface IssuedToken {
  readonly value: Secret
  readonly token: VerifiedToken
}

/** Where a credential comes from, and what for. */
export interface CredentialOrigin {
  /** The address that it came from, for accounts that restrict addresses (§1). */
  readonly clientAddress?: IpAddress | undefined
  /**
   * Any object that is the same for all credentials of a connection: connections take turns where credentials
   * are costly.
   */
  readonly connection?: object | undefined
  /** Whether a token that expired in the last 48 hours is accepted. */
  readonly acceptExpired?: boolean | undefined
  /**
   * Whether the credential is only looked up, for example to revoke it. Then it is not used, and no day of
   * use is noted.
   */
  readonly lookedUp?: boolean | undefined
}

/** Says which credentials are genuine. */
export interface Verifier {
  /**
   * Returns how tokens that look like this one are obtained. It only looks at the text and does not verify
   * the token. So a credential in the wrong header is found before any verification. `undefined`: the text is
   * not recognised.
   *
   * @param kinds of the matrix, which states with what the tokens of a kind begin
   */
  recognize(value: string, kinds: ReadonlyMap<string, TokenKind>): TokenKind['obtained']['by'] | undefined
  /**
   * Verifies a credential. A credential of any content gets a result and no exception.
   *
   * @throws CallError if the authority does not answer, or too many credentials wait to be verified
   */
  verify(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    from?: CredentialOrigin,
  ): Verification | Promise<Verification>
}

/** A genuine token, and what the directory says of it, whenever and from wherever it is used. */
export interface DescribedToken {
  readonly token: VerifiedToken
  readonly status: TokenStatus
}

/** Says what its directory knows of a token. */
export interface TokenDescriber {
  /**
   * The facts about a token, whenever and from wherever it is used; `undefined`: it is not genuine.
   *
   * @param connection of the credential, as `CredentialOrigin` has it
   * @throws CallError if the directory does not answer, or too many credentials wait to be verified
   */
  describe(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    connection: object,
  ): MaybePromise<DescribedToken | undefined>
}

export interface Authority extends Verifier, TokenDescriber {
  /**
   * Issues a token of a kind for a scope, if §5.1 allows it.
   *
   * @param from by default this machine and an endpoint without address restrictions
   * @throws CallError if the login fails, a permission is missing or the directory does not answer
   */
  issue(requester: PasswordRequester, kind: TokenKind, scope: Scope, from?: Origin): Promise<IssuedToken>
  /**
   * Issues a token to a program with an application credential, for the project of the credential. It ends
   * with the credential.
   *
   * @param kind of a token for a project
   * @throws CallError as `issue`
   */
  issueByCredential(login: CredentialLogin, kind: TokenKind, from?: Origin): Promise<IssuedToken>
  /**
   * Issues a token to the holder of an active IAM token of a service user, if §5.1 allows it. The new token
   * ends with the one that it is derived from: it expires no later, and is revoked with it.
   *
   * @param value of that token
   * @param from by default this machine and an endpoint without address restrictions
   * @throws CallError if the token is not active or derived too often, a permission is missing or the
   *   directory does not answer
   */
  derive(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    kind: TokenKind,
    scope: Scope,
    from?: Origin,
  ): Promise<IssuedToken>
  /** The keys whose tokens are genuine now. @throws CallError if they cannot be read */
  publicKeys(): readonly PublicKey[]
}

/** Ends tokens that an upstream verifies. */
export interface UpstreamRevocation {
  /**
   * The upstream decides whether the requester may revoke it. From then on the cached verification of the
   * token is not used.
   *
   * @param upstream its name, as the verified token says
   * @param by the token of the requester; `undefined`: the one that the sidecar validates with
   * @throws CallError where the upstream refuses or does not answer
   */
  revoke(upstream: string, value: Secret, by: Secret | undefined): Promise<void>
}
