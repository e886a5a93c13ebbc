/**
 * A foreign identity endpoint as an authority: issues tokens by its login (§4.1), says which tokens
 * are genuine, and revokes them. It keeps nothing: its remembered answers are in `issued-tokens.ts`
 * and `verified-tokens.ts`.
 */
import { buildIssuanceBody, type Scope, type TokenKind } from '../../../engine/index.ts'
import { type CallError, callError } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import type { IssuedToken, VerifiedToken } from '../authority.ts'
import type { Answer, IdentityClient } from './identity-client.ts'
import type { CredentialRequester, ProfileRequester } from './profile-tokens.ts'
import { AnswerFault, type DescribedToken, readIssuedToken, readValidatedToken } from './token-answer.ts'

/**
 * The answer of an upstream about a token. `own_token_refused`: it does not know the token that asked.
 * `unusable`: its answer is not as expected.
 */
export type Validation =
  | { readonly type: 'genuine'; readonly described: DescribedToken }
  | { readonly type: 'unknown' }
  | { readonly type: 'own_token_refused' }
  | { readonly type: 'unusable'; readonly error: CallError }

export class UpstreamAuthority {
  readonly name: string
  readonly #client: IdentityClient
  readonly #now: () => number

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(name: string, client: IdentityClient, now: () => number) {
    this.name = name
    this.#client = client
    this.#now = now
  }

  /**
   * Logs in. An application credential has its scope itself: a token for another one is an answer that cannot
   * be used.
   *
   * @param profile name of the profile that logs in, for errors
   * @throws CallError where the upstream refuses, does not answer or gives an answer that cannot be used
   */
  async issue(
    profile: string,
    requester: ProfileRequester,
    kind: TokenKind,
    scope: Scope,
  ): Promise<IssuedToken> {
    const answer = await this.#client.logIn(loginBody(requester, scope))
    if (answer.status === 401)
      throw callError('UPSTREAM_LOGIN_REFUSED', { upstream: this.name, profile }, this.#details())
    if (answer.status === 403 || answer.status === 409)
      throw this.#forbidden(`the login of profile \`${profile}\``, answer)
    const asked = { userName: 'password' in requester ? requester.userName : undefined, scope }
    const { value, described } = this.#read(() => readIssuedToken(answer, asked, this.#now()))
    return { value: new Secret(value), token: verifiedToken(this.name, kind, described) }
  }

  /**
   * Asks about a token.
   *
   * @param own token of a user who may validate tokens
   * @throws CallError where the upstream does not answer, or not to this user
   */
  async validate(own: Secret, value: string): Promise<Validation> {
    const answer = await this.#client.validate(own, value)
    if (answer.status === 404) return { type: 'unknown' }
    if (answer.status === 401) return { type: 'own_token_refused' }
    if (answer.status === 403) throw this.#forbidden('the sidecar to validate tokens', answer)
    try {
      return { type: 'genuine', described: readValidatedToken(answer, value, this.#now()) }
    } catch (error) {
      return { type: 'unusable', error: this.#unusable(error) }
    }
  }

  /**
   * Revokes a token.
   *
   * @param by token of the requester, by which the upstream decides
   * @returns whether there was such a token
   * @throws CallError where the upstream refuses or does not answer
   */
  async revoke(by: Secret, value: string): Promise<boolean> {
    const answer = await this.#client.revoke(by.reveal(), value)
    if (answer.status === 404) return false
    if (answer.status === 401)
      throw callError('REQUESTER_NOT_AUTHENTICATED', {
        credential: `a token that upstream \`${this.name}\` knows`,
      })
    if (answer.status === 403) throw this.#forbidden('the requester to revoke this token', answer)
    this.#read(() => {
      if (answer.status !== 204) throw new AnswerFault(`status 204 or 404, found ${answer.status}`)
    })
    return true
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  #read<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw this.#unusable(error)
    }
  }

  /** @throws the same error, if it is not a fault of an answer */
  #unusable(error: unknown): CallError {
    if (!(error instanceof AnswerFault)) throw error
    const { message: expected } = error
    const { url } = this.#client
    return callError('UPSTREAM_BAD_ANSWER', { upstream: this.name, url, expected }, this.#details())
  }

  #forbidden(action: string, { status }: Answer): Error {
    return callError('UPSTREAM_FORBIDDEN', { upstream: this.name, action, status }, this.#details())
  }

  #details() {
    return { metadata: { upstream: this.name } }
  }
}

/** The body of §2.2, or that of Keystone's method `application_credential`, which has no scope. */
function loginBody(requester: ProfileRequester, scope: Scope): object {
  if (!('password' in requester)) return credentialBody(requester)
  const { account, userName, password } = requester
  return buildIssuanceBody({ account, userName, password: password.reveal(), scope })
}

function credentialBody({ account, credential, secret }: CredentialRequester): object {
  const named =
    'credentialId' in credential
      ? { id: credential.credentialId }
      : { name: credential.credentialName, user: { name: credential.userName, domain: { name: account } } }
  return {
    auth: {
      identity: {
        methods: ['application_credential'],
        application_credential: { ...named, secret: secret.reveal() },
      },
    },
  }
}

/** A token that an upstream verifies. The upstream does not say of which sort its user is (§5.1). */
export function verifiedToken(upstream: string, kind: TokenKind, described: DescribedToken): VerifiedToken {
  const { id, scope, projectId, subject, issuedAtMs, expiresAtMs, roles, catalog } = described
  return {
    kind: kind.id,
    scope,
    ...(projectId !== undefined && { projectId }),
    subject: { ...subject, type: 'user' },
    // No other authority has ids of this form, so that one cannot be mistaken for the id of another token.
    tokenId: `${upstream}:${id}`,
    issuedAtMs,
    expiresAtMs,
    authority: upstream,
    roles,
    ...(catalog !== undefined && { catalog }),
  }
}
