/**
 * The profiles and the upstreams in force: made of the configuration, and made anew when that changes.
 * Unchanged parts keep their caches. The code for them is loaded when the first one is configured.
 */
import type { Logger } from 'pino'
import type { Engine } from '../../../engine/index.ts'
import type { Administration } from '../../authority/administration/administration.ts'
import type { Authority, IssuedToken, UpstreamRevocation, VerifiedToken } from '../../authority/authority.ts'
import { canBeName } from '../../authority/names.ts'
import type { IssuedTokens } from '../../authority/upstream/issued-tokens.ts'
import type { Upstream } from '../../authority/upstream/open-upstream.ts'
import type { PasswordSource } from '../../authority/upstream/password-source.ts'
import type { Issuer, ProfileTokens } from '../../authority/upstream/profile-tokens.ts'
import { tokenDigest, Verifiers } from '../../authority/verifiers.ts'
import { CallError, callError } from '../../base/call-error.ts'
import { andThen } from '../../base/maybe-promise.ts'
import { Secret } from '../../base/secret.ts'
import type { Tracer } from '../../base/tracing.ts'
import type {
  ConfiguredCredentials,
  ConfiguredPassword,
  ConfiguredProfile,
  ConfiguredUpstream,
} from '../../config/profiles-config.ts'
import type { Meters } from '../../usecases/decision-meters.ts'
import { PROFILES_ORIGIN } from '../../usecases/profiles.ts'

/** Other processes on this host that cache tokens of the same upstreams. */
export interface TokenSiblings {
  /** Calls `forget` from now on with each token that another process revokes, by its digest. */
  watchTokens(forget: (digest: string) => void): void
  /** This process revoked a token. Resolves when no sibling has it. Never rejects. */
  tokenRevoked(digest: string): Promise<void>
}

export interface CredentialsOptions {
  readonly authority: Authority
  readonly administration: Administration
  /** The engine in force. */
  readonly engine: () => Engine
  readonly log: Logger
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  readonly siblings?: TokenSiblings | undefined
  /** Count the calls of upstreams. */
  readonly meters?: Meters | undefined
  readonly tracer?: Tracer | undefined
}

export class Credentials implements UpstreamRevocation {
  readonly #options: CredentialsOptions
  readonly verifiers: Verifiers
  /** By name. The map stays the same, and its content follows the configuration. */
  readonly profiles = new Map<string, ProfileTokens>()
  #configured: ConfiguredCredentials = { profiles: new Map(), upstreams: new Map() }
  #upstreams = new Map<string, Upstream>()
  #passwords = new Map<string, PasswordSource>()
  #tokens: IssuedTokens | undefined
  #applied: Promise<void> = Promise.resolve()

  constructor(options: CredentialsOptions) {
    this.#options = options
    this.verifiers = new Verifiers(options.authority)
    options.siblings?.watchTokens((digest) => this.forget(digest))
  }

  /**
   * Follows the configuration. A profile that is gone stops at once, and so does the use of an earlier
   * password.
   */
  apply(configured: ConfiguredCredentials): Promise<void> {
    for (const name of this.profiles.keys()) if (!configured.profiles.has(name)) this.profiles.delete(name)
    this.#applied = this.#applied.catch(() => {}).then(() => this.#apply(configured))
    return this.#applied
  }

  async revoke(upstream: string, value: Secret, by: Secret | undefined): Promise<void> {
    const found = this.#upstreams.get(upstream)
    if (found === undefined) throw callError('CREDENTIAL_INVALID', {})
    const own = by ?? (await found.ownToken(this.#options.engine().tokenKinds)).value
    await found.authority.revoke(own, value.reveal())
    const digest = tokenDigest(value.reveal())
    this.forget(digest)
    await this.#options.siblings?.tokenRevoked(digest)
  }

  /** Forgets a token that was revoked, here or by another process of this host. */
  forget(digest: string): void {
    this.verifiers.drop(digest)
    this.#tokens?.drop(digest)
  }

  async close(): Promise<void> {
    await this.#applied.catch(() => {})
    await Promise.all([...this.#upstreams.values()].map(({ authority }) => authority.close()))
  }

  async #apply(configured: ConfiguredCredentials): Promise<void> {
    const { profiles, upstreams } = configured
    const opened = await this.#openUpstreams(upstreams)
    const made = profiles.size === 0 ? [] : await this.#makeProfiles([...profiles.values()], opened)
    const closing = [...this.#upstreams].filter(([name, upstream]) => opened.get(name) !== upstream)
    this.#upstreams = opened
    this.#configured = configured
    this.profiles.clear()
    for (const profile of made) this.profiles.set(profile.name, profile)
    this.verifiers.replace([...opened.values()].flatMap(({ verifier }) => verifier ?? []))
    this.#tokens?.retain((parts) => made.some((profile) => profile.owns(parts)))
    // Calls that still run there end with `UPSTREAM_UNAVAILABLE`.
    for (const [, { authority }] of closing) void authority.close()
  }

  /** An upstream whose configuration is the same stays open, with what it has cached. */
  async #openUpstreams(configured: ReadonlyMap<string, ConfiguredUpstream>): Promise<Map<string, Upstream>> {
    const opened = new Map<string, Upstream>()
    if (configured.size === 0) return opened
    const { openUpstream } = await import('../../authority/upstream/open-upstream.ts')
    const { log, now, meters, tracer } = this.#options
    for (const [name, upstream] of configured) {
      const earlier = this.#upstreams.get(name)
      const same = earlier !== undefined && isSame(this.#configured.upstreams.get(name), upstream)
      opened.set(
        name,
        same
          ? earlier
          : openUpstream(upstream, {
              profile: (profile) => this.profiles.get(profile),
              hasOwner: (account, asked) => this.#hasOwner(account, asked),
              onUnknown: (...found) => this.#foundUnknown(...found),
              events: eventsIn(log, meters),
              ...{ now, tracer },
            }),
      )
    }
    return opened
  }

  /**
   * A token that was good, here or at another process, is not given again. A token that never was good does
   * not concern other processes.
   */
  #foundUnknown(upstream: string, digest: string, genuine: boolean): VerifiedToken | undefined {
    const issued = this.#tokens?.drop(digest, upstream)
    if (genuine || issued !== undefined) void this.#options.siblings?.tokenRevoked(digest)
    return issued?.token
  }

  async #makeProfiles(
    configured: readonly ConfiguredProfile[],
    upstreams: ReadonlyMap<string, Upstream>,
  ): Promise<ProfileTokens[]> {
    const { ProfileTokens } = await import('../../authority/upstream/profile-tokens.ts')
    const { IssuedTokens } = await import('../../authority/upstream/issued-tokens.ts')
    const { log, now } = this.#options
    this.#tokens ??= new IssuedTokens({
      now,
      onRenewalFailed: ([, account, user], error) => {
        const problem = error instanceof CallError ? error.message : 'internal error'
        log.warn(
          { account, user, problem },
          'a token of a profile cannot be renewed; the old one is used until it expires',
        )
      },
    })
    const tokens = this.#tokens
    const embedded = embeddedIssuer(this.#options.authority)
    const passwords = await this.#passwordSources(configured)
    return configured.map(
      ({ name, upstream, account, holder, staticToken, projects }) =>
        new ProfileTokens({
          ...{ name, upstream, account, holder, staticToken, projects, tokens },
          password: passwords.get(name) as PasswordSource,
          issuer: upstream === undefined ? embedded : (upstreams.get(upstream) as Upstream).issuer,
        }),
    )
  }

  /** A command that is the same keeps the password that it printed. */
  async #passwordSources(
    configured: readonly ConfiguredProfile[],
  ): Promise<ReadonlyMap<string, PasswordSource>> {
    const { fixedPassword, PasswordCommand } = await import('../../authority/upstream/password-source.ts')
    const sourceOf = (name: string, password: ConfiguredPassword): PasswordSource => {
      if (password.type === 'value') return fixedPassword(password.value)
      const earlier = this.#passwords.get(name)
      const before = this.#configured.profiles.get(name)?.password
      return earlier !== undefined && isSame(before, password)
        ? earlier
        : new PasswordCommand(name, password.command)
    }
    this.#passwords = new Map(configured.map(({ name, password }) => [name, sourceOf(name, password)]))
    return this.#passwords
  }

  /**
   * Whether the directory has the account, or another upstream names it: then an upstream that may verify any
   * may not verify this.
   */
  #hasOwner(account: string, asked: string): boolean | Promise<boolean> {
    for (const { name, verify } of this.#configured.upstreams.values())
      if (name !== asked && verify?.accounts?.has(account)) return true
    if (!canBeName(account)) return false
    return this.#options.administration.records.account(account).then((found) => found !== undefined)
  }
}

/**
 * The embedded authority as an issuer. A token of the cache is verified, which is a look-up, so a revoked one
 * is never given.
 */
function embeddedIssuer(authority: Authority): Issuer {
  return {
    id: '',
    issue: (_profile, requester, kind, scope) => {
      if (!('password' in requester)) throw new TypeError('expected a password; the configuration says so')
      return authority.issue(requester, kind, scope, PROFILES_ORIGIN)
    },
    isActive: ({ value }: IssuedToken, kind) =>
      andThen(
        authority.verify(value.reveal(), new Map([[kind.id, kind]])),
        (verification) =>
          // The address of the token's user is not known here.
          verification.ok || verification.reason === 'ADDRESS_NOT_ALLOWED',
      ),
    // The login throttle slows repeated failures down.
    rememberFailures: false,
  }
}

function eventsIn(log: Logger, meters: Meters | undefined) {
  return {
    onCalled: (upstream: string, result: 'answered' | 'failed') => meters?.upstreamCalled(upstream, result),
    onRefused: (upstream: string, error: CallError) =>
      log.error(
        { upstream, problem: error.message },
        'the upstream does not let the sidecar validate tokens; checks of its tokens fail',
      ),
    onLeftAlone: (upstream: string, problem: string) =>
      log.warn({ upstream, problem }, 'the upstream failed too often in a row; calls to it are paused'),
    onBack: (upstream: string) => log.info({ upstream }, 'the upstream answers again'),
    onForeignAccount: (upstream: string, account: string) =>
      log.warn(
        { upstream, account },
        'the upstream verified a token of an account that it may not verify; the token is denied',
      ),
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, plain) === JSON.stringify(other, plain)
}

/** Values that JSON has no form for, and secrets, which all look alike in it. */
function plain(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const raw = this[key]
  if (raw instanceof Secret) return raw.reveal()
  return raw instanceof Set || raw instanceof Map ? [...raw] : value
}
