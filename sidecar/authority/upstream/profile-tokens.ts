/**
 * A profile of the configuration at work: its tokens, from the cache where there is one, obtained with its
 * password where not.
 */
import type { Scope, TokenKind } from '../../../engine/index.ts'
import { CallError, callError } from '../../base/call-error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Secret } from '../../base/secret.ts'
import type { ApplicationCredentialReference, ConfiguredHolder } from '../../config/profiles-config.ts'
import type { IssuedToken, PasswordRequester } from '../authority.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import type { PasswordSource, VersionedPassword } from './password-source.ts'

/** An application credential with its secret. Its tokens are for the one project that it was made for. */
export interface CredentialRequester {
  readonly account: string
  readonly credential: ApplicationCredentialReference
  readonly secret: Secret
}

/** The holder of a profile with what they log in with. */
export type ProfileRequester = PasswordRequester | CredentialRequester

/** The issuer of the tokens of a profile. */
export interface Issuer {
  /** Identifies it, with what its tokens depend on. */
  readonly id: string
  /** @param profile name of the profile, for errors @throws CallError */
  issue(profile: string, requester: ProfileRequester, kind: TokenKind, scope: Scope): Promise<IssuedToken>
  /** Whether it still verifies a token of the cache. @throws CallError where it does not answer */
  isActive(token: IssuedToken, kind: TokenKind): MaybePromise<boolean>
  /** Whether a failed login is remembered for a while. */
  readonly rememberFailures: boolean
}

export interface ProfileTokensOptions {
  readonly name: string
  /** Name of the upstream that issues; `undefined`: the embedded authority. */
  readonly upstream: string | undefined
  readonly account: string
  readonly holder: ConfiguredHolder
  /** The password of the holder, or the secret of the application credential. */
  readonly password: PasswordSource
  readonly staticToken: Secret | undefined
  /** The only projects that tokens are issued for; `undefined`: any scope. */
  readonly projects: ReadonlySet<string> | undefined
  readonly issuer: Issuer
  readonly tokens: IssuedTokens
}

export class ProfileTokens {
  readonly name: string
  readonly upstream: string | undefined
  readonly account: string
  readonly staticToken: Secret | undefined
  readonly projects: ReadonlySet<string> | undefined
  readonly #options: ProfileTokensOptions

  constructor(options: ProfileTokensOptions) {
    this.#options = options
    this.name = options.name
    this.upstream = options.upstream
    this.account = options.account
    this.staticToken = options.staticToken
    this.projects = options.projects
  }

  /**
   * A token of the profile's user for a scope.
   *
   * @param rejected a token that an API has just refused: it is replaced, if it is the one that would be
   *   given
   * @throws CallError where the scope is not the profile's, or the issuer refuses or does not answer
   */
  issue(kind: TokenKind, scope: Scope, rejected?: Secret): MaybePromise<IssuedToken> {
    this.#expectAllowed(scope)
    const { current } = this.#options.password
    if (current !== undefined) return this.#issueWith(current, kind, scope, rejected)
    return this.#options.password
      .obtain()
      .then((password) => this.#issueWith(password, kind, scope, rejected))
  }

  /** Whether tokens of the cache with these parts of the key are this profile's, and of its password. */
  owns([issuer, account, holder, version, name]: readonly string[]): boolean {
    const { password } = this.#options
    return (
      name === this.name &&
      issuer === this.#options.issuer.id &&
      account === this.account &&
      holder === nameOfHolder(this.#options.holder) &&
      version === password.current?.version
    )
  }

  #issueWith(
    password: VersionedPassword,
    kind: TokenKind,
    scope: Scope,
    rejected: Secret | undefined,
  ): MaybePromise<IssuedToken> {
    const { account, holder, issuer, tokens } = this.#options
    const level = scope.project === undefined ? 'account' : 'project'
    const issued = tokens.get({
      parts: [
        ...[issuer.id, account, nameOfHolder(holder), password.version, this.name],
        ...[kind.id, level, scope.account, scope.project ?? ''],
      ],
      obtain: () => this.#logIn(password, kind, scope),
      isActive: (token) => issuer.isActive(token, kind),
      rememberFailures: issuer.rememberFailures,
      rejected,
    })
    if (!(issued instanceof Promise)) return issued
    return issued.catch((error: unknown) => {
      // A refused login may have shown that there is a newer password.
      const { current } = this.#options.password
      if (current === undefined || current.version === password.version) throw error
      return this.#issueWith(current, kind, scope, rejected)
    })
  }

  async #logIn(password: VersionedPassword, kind: TokenKind, scope: Scope): Promise<IssuedToken> {
    const { name, account, holder, issuer, password: source } = this.#options
    try {
      return await issuer.issue(name, requesterOf(account, holder, password.value), kind, scope)
    } catch (error) {
      if (error instanceof CallError && error.code === 'UNAUTHENTICATED')
        await source.obtain(password.version).catch(() => {})
      throw error
    }
  }

  /** A token for the whole account would open every project of it. */
  #expectAllowed({ account, project }: Scope): void {
    const { name: profile, projects } = this.#options
    if (projects === undefined) return
    if (project !== undefined && account === this.account && projects.has(project)) return
    const scope = project === undefined ? 'a whole account' : 'that project'
    throw callError('PROFILE_SCOPE_NOT_ALLOWED', { profile, scope })
  }
}

/** The holder with what they log in with. */
export function requesterOf(account: string, holder: ConfiguredHolder, secret: Secret): ProfileRequester {
  return isCredential(holder)
    ? { account, credential: holder, secret }
    : { account, userName: holder.userName, password: secret }
}

/** Names the holder, for logs and for the key of their tokens. */
export function nameOfHolder(holder: ConfiguredHolder): string {
  if (!isCredential(holder)) return holder.userName
  return 'credentialId' in holder
    ? `application credential ${holder.credentialId}`
    : `application credential ${holder.credentialName} of ${holder.userName}`
}

/** Whether the holder is an application credential. */
export function isCredential(holder: ConfiguredHolder): holder is ApplicationCredentialReference {
  return 'credentialId' in holder || 'credentialName' in holder
}
