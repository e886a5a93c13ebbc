/**
 * The tokens that an upstream verifies. A token that it verified is believed for a stated time and never
 * past its expiry; one that it does not know is refused for a shorter time. Every age is read from the
 * clock of what is remembered (`elapsedMs`), every expiry from the wall clock.
 */
import type { TokenKind } from '../../../engine/index.ts'
import { CallError, callError } from '../../base/call-error.ts'
import { elapsedMs } from '../../base/clock.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Secret } from '../../base/secret.ts'
import type { IssuedToken, Verification, VerifiedToken } from '../authority.ts'
import { kindOfScope } from '../kind-of-scope.ts'
import { LazyLruCache } from '../lazy-lru-cache.ts'
import type { RemoteVerifier } from '../verifiers.ts'
import { type DescribedToken, TOKEN_LENGTH_MAX } from './token-answer.ts'
import { type UpstreamAuthority, type Validation, verifiedToken } from './upstream-authority.ts'

export interface UpstreamVerifierOptions {
  readonly authority: Pick<UpstreamAuthority, 'name' | 'validate'>
  readonly cacheMs: number
  readonly negativeCacheMs: number
  /** Beginnings of its tokens; empty: any. */
  readonly tokenPrefixes: readonly string[]
  /** Whether the upstream may verify tokens of an account. */
  readonly vouchesFor: (account: string) => MaybePromise<boolean>
  /** The token of the user who validates. @param rejected the one that the upstream has just refused */
  readonly ownToken: (
    kinds: ReadonlyMap<string, TokenKind>,
    rejected?: Secret,
  ) => MaybePromise<Pick<IssuedToken, 'value'>>
  /**
   * The upstream does not know a token of this digest. A profile that obtained it there no longer gives it.
   *
   * @param genuine whether the upstream verified it before
   * @returns the token, if a profile had it
   */
  readonly onUnknown: (upstream: string, digest: string, genuine: boolean) => VerifiedToken | undefined
  readonly events: UpstreamVerifierEvents
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** The clock of what is remembered, in milliseconds; default: `elapsedMs`. */
  readonly monotonicMs?: (() => number) | undefined
}

/** The events that an operator should see. Each is called once a minute at most. */
export interface UpstreamVerifierEvents {
  /** The upstream does not let the sidecar validate tokens, so Check gets no answer. */
  readonly onRefused: (upstream: string, error: CallError) => void
  /** The upstream verified a token of an account that it may not verify. The token is denied. */
  readonly onForeignAccount: (upstream: string, account: string) => void
}

const GENUINE_MAX = 20_000
const REFUSED_MAX = 10_000
const REVOKED_MAX = 10_000

/**
 * A token in use is asked about again after this part of the time for which it is believed, so that no call
 * waits for it.
 */
const REFRESH_FROM = 0.8

const EVENT_INTERVAL_MS = 60_000

interface Genuine {
  readonly described: DescribedToken
  readonly askedMs: number
  /** When it is asked about again while it is still believed. */
  refreshFromMs: number
  /** The kinds that `verification` was made with. A new matrix may name another kind for the scope. */
  kinds: ReadonlyMap<string, TokenKind>
  verification: Verification & { readonly token?: VerifiedToken }
}

interface Refused {
  readonly verification: Verification
  readonly untilMs: number
}

const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

export class UpstreamVerifier implements RemoteVerifier {
  readonly #options: UpstreamVerifierOptions
  readonly #monotonicMs: () => number
  readonly #genuine = new LazyLruCache<Genuine>(GENUINE_MAX)
  readonly #refused = new LazyLruCache<Refused>(REFUSED_MAX)
  /** Apart from what never was a token, so that no number of those makes a revoked one unknown. */
  readonly #revoked = new LazyLruCache<VerifiedToken>(REVOKED_MAX)
  readonly #running = new Map<string, Promise<Verification>>()
  readonly #reportedMs = new Map<keyof UpstreamVerifierEvents, number>()

  constructor(options: UpstreamVerifierOptions) {
    this.#options = options
    this.#monotonicMs = options.monotonicMs ?? elapsedMs
  }

  get name(): string {
    return this.#options.authority.name
  }

  fits(value: string): boolean {
    if (value.length > TOKEN_LENGTH_MAX) return false
    return this.#options.tokenPrefixes.length === 0 || this.claims(value)
  }

  claims(value: string): boolean {
    return this.#options.tokenPrefixes.some((prefix) => value.startsWith(prefix))
  }

  known(value: string, digest: string, kinds: ReadonlyMap<string, TokenKind>): Verification | undefined {
    const genuine = this.#genuine.get(digest)
    if (genuine === undefined) {
      const refused = this.#refused.get(digest)
      return refused !== undefined && this.#monotonicMs() < refused.untilMs ? refused.verification : undefined
    }
    if (genuine.kinds !== kinds) {
      genuine.kinds = kinds
      genuine.verification = this.#verificationOf(genuine.described, kinds)
    }
    const { verification, described, askedMs, refreshFromMs } = genuine
    if (this.#options.now() >= described.expiresAtMs) return expired(verification)
    const nowMs = this.#monotonicMs()
    if (nowMs - askedMs >= this.#options.cacheMs) return undefined
    if (nowMs >= refreshFromMs) {
      // Where this fails, the token is believed to the end of its time, and no longer.
      genuine.refreshFromMs = Number.POSITIVE_INFINITY
      this.ask(value, digest, kinds).catch(() => {})
    }
    return verification
  }

  /** Callers who ask about one token at once share one question. */
  ask(value: string, digest: string, kinds: ReadonlyMap<string, TokenKind>): Promise<Verification> {
    const running = this.#running.get(digest)
    if (running !== undefined) return running
    const asking: Promise<Verification> = this.#validate(value, kinds).then(
      async (validation) => this.#settle(digest, asking, validation, kinds),
      (error: unknown) => {
        if (this.#running.get(digest) === asking) this.#running.delete(digest)
        throw this.#noAnswer(error)
      },
    )
    this.#running.set(digest, asking)
    return asking
  }

  drop(digest: string): void {
    this.#revokedIs(digest, this.#genuine.get(digest)?.verification.token)
    // An answer that is on its way is older than the revocation.
    this.#running.delete(digest)
  }

  async #validate(value: string, kinds: ReadonlyMap<string, TokenKind>): Promise<Validation> {
    const { authority, ownToken } = this.#options
    const own = await ownToken(kinds)
    const validation = await authority.validate(own.value, value)
    if (validation.type !== 'own_token_refused') return validation
    const next = await ownToken(kinds, own.value)
    return authority.validate(next.value, value)
  }

  async #settle(
    digest: string,
    asking: Promise<Verification>,
    validation: Validation,
    kinds: ReadonlyMap<string, TokenKind>,
  ): Promise<Verification> {
    try {
      if (validation.type === 'own_token_refused') throw this.#refusal()
      if (validation.type === 'unusable') {
        // The answer cannot be used, and may say that the token has ended.
        this.#genuine.delete(digest)
        throw this.#noAnswer(validation.error)
      }
      const { described } = validation.type === 'genuine' ? validation : {}
      const vouched = described !== undefined && (await this.#vouches(described))
      if (described === undefined) this.#noteUnknown(digest)
      const verification = vouched ? this.#verificationOf(described, kinds) : this.#denialOf(digest)
      // Dropped meanwhile: the answer is for those who asked before, and is not kept.
      if (this.#running.get(digest) !== asking) return verification
      const nowMs = this.#monotonicMs()
      if (vouched)
        this.#genuine.set(digest, {
          described,
          askedMs: nowMs,
          refreshFromMs: nowMs + REFRESH_FROM * this.#options.cacheMs,
          kinds,
          verification,
        })
      else {
        this.#genuine.delete(digest)
        this.#refused.set(digest, { verification, untilMs: nowMs + this.#options.negativeCacheMs })
      }
      return verification
    } finally {
      if (this.#running.get(digest) === asking) this.#running.delete(digest)
    }
  }

  async #vouches({ scope: { account } }: DescribedToken): Promise<boolean> {
    if (await this.#options.vouchesFor(account)) return true
    this.#report('onForeignAccount', (events) => events.onForeignAccount(this.name, account))
    return false
  }

  #verificationOf(described: DescribedToken, kinds: ReadonlyMap<string, TokenKind>): Genuine['verification'] {
    const kind = kindOfScope(described.scope, kinds.values())
    if (kind === undefined) return INVALID
    return { ok: true, token: verifiedToken(this.name, kind, described) }
  }

  /** A token that the upstream knew and no longer knows, before its expiry, was revoked. */
  #noteUnknown(digest: string): void {
    const genuine = this.#genuine.get(digest)
    const issued = this.#options.onUnknown(this.name, digest, genuine !== undefined)
    this.#revokedIs(digest, genuine?.verification.token ?? issued)
  }

  /** From now on the reason is that it was revoked, however long ago. */
  #revokedIs(digest: string, token: VerifiedToken | undefined): void {
    this.#genuine.delete(digest)
    if (token !== undefined) this.#revoked.set(digest, token)
  }

  #denialOf(digest: string): Verification {
    const token = this.#revoked.get(digest)
    return token === undefined ? INVALID : { ok: false, reason: 'CREDENTIAL_REVOKED', token }
  }

  /**
   * Whatever the upstream has against the sidecar, the client of a check cannot help it: there is no answer.
   */
  #noAnswer(error: unknown): unknown {
    return error instanceof CallError && !error.row.retry ? this.#refusal(error) : error
  }

  #refusal(error?: CallError): CallError {
    const refusal = this.#unavailable('does not let the sidecar validate tokens')
    this.#report('onRefused', (events) => events.onRefused(this.name, error ?? refusal))
    return refusal
  }

  #unavailable(problem: string): CallError {
    return callError(
      'UPSTREAM_UNAVAILABLE',
      { upstream: this.name, problem },
      { metadata: { upstream: this.name } },
    )
  }

  #report(event: keyof UpstreamVerifierEvents, report: (events: UpstreamVerifierEvents) => void): void {
    const nowMs = this.#monotonicMs()
    if (nowMs - (this.#reportedMs.get(event) ?? Number.NEGATIVE_INFINITY) < EVENT_INTERVAL_MS) return
    this.#reportedMs.set(event, nowMs)
    report(this.#options.events)
  }
}

function expired({ token }: Genuine['verification']): Verification {
  return token === undefined ? INVALID : { ok: false, reason: 'CREDENTIAL_EXPIRED', token }
}
