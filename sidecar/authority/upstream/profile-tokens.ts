/**
 * A profile of the configuration at work: its tokens, from the cache where there is one, obtained with its
 * password where not.
 */
import type { Scope, TokenKind } from '../../../engine/index.ts'
import { CallError, callError } from '../../base/call-error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Secret } from '../../base/secret.ts'
import type { IssuedToken, PasswordRequester } from '../authority.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import type { PasswordSource, VersionedPassword } from './password-source.ts'

/** Who issues the tokens of a profile. */
export interface Issuer {
  /** Identifies it, with what its tokens depend on. */
  readonly id: string
  /** @param profile name of the profile, for errors @throws CallError */
  issue(profile: string, requester: PasswordRequester, kind: TokenKind, scope: Scope): Promise<IssuedToken>
  /** Whether it still vouches for a token of the cache. @throws CallError where it does not answer */
  isActive(token: IssuedToken, kind: TokenKind): MaybePromise<boolean>
  /** Whether a failed login is remembered for a while. */
  readonly rememberFailures: boolean
}

export interface ProfileTokensOptions {
  readonly name: string
  /** Name of the upstream that issues; `undefined`: the embedded authority. */
  readonly upstream: string | undefined
  readonly account: string
  readonly userName: string
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
  owns([issuer, account, userName, version, name]: readonly string[]): boolean {
    const { password } = this.#options
    return (
      name === this.name &&
      issuer === this.#options.issuer.id &&
      account === this.account &&
      userName === this.#options.userName &&
      version === password.current?.version
    )
  }

  #issueWith(
    password: VersionedPassword,
    kind: TokenKind,
    scope: Scope,
    rejected: Secret | undefined,
  ): MaybePromise<IssuedToken> {
    const { account, userName, issuer, tokens } = this.#options
    const level = scope.project === undefined ? 'account' : 'project'
    const issued = tokens.get({
      parts: [
        ...[issuer.id, account, userName, password.version, this.name],
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
    const { name, account, userName, issuer, password: source } = this.#options
    try {
      return await issuer.issue(name, { account, userName, password: password.value }, kind, scope)
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
