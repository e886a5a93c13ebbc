/**
 * The tokens that were issued for profiles. A token is used for most of its life and replaced ahead of its
 * end, while the old one is still served. However many callers wait for a token, one login obtains it.
 *
 * No timer runs: the next request for a token finds that it is due. So a jump of a clock can neither set off
 * a storm of logins nor leave a timer behind. The age of a token is read from the monotonic clock, and its
 * expiry from both clocks: a token is served only while neither says that it has expired.
 */
import NodeCache from 'node-cache'
import { CallError } from '../../base/call-error.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Secret } from '../../base/secret.ts'
import type { IssuedToken } from '../authority.ts'

export interface IssuedTokensOptions {
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** Monotonic clock, in milliseconds; default: the process's. */
  readonly monotonicMs?: (() => number) | undefined
  /** A number from 0 to 1, for jitter; default: at random. */
  readonly random?: (() => number) | undefined
  /** A token that is still served could not be replaced. */
  readonly onRenewalFailed?: ((parts: readonly string[], error: unknown) => void) | undefined
  /** Most tokens; default: 10,000. */
  readonly tokensMax?: number | undefined
}

/** A token to obtain, and how. */
export interface Wish {
  /**
   * What the token depends on: who logs in where, with which version of the secret, and for what. Texts are
   * joined as JSON, so that no two wishes have one key.
   */
  readonly parts: readonly string[]
  readonly obtain: () => Promise<IssuedToken>
  /** Whether the issuer still vouches for a token of the cache. */
  readonly isActive: (token: IssuedToken) => MaybePromise<boolean>
  /**
   * Whether a failure is remembered for a while, so that callers who repeat themselves cause no storm of
   * logins.
   */
  readonly rememberFailures: boolean
  /** A token that an API has just refused: if it is the one in the cache, it is replaced. */
  readonly rejected?: Secret | undefined
}

const TOKENS_MAX = 10_000

/**
 * A token is replaced after this part of its life, at the earliest and at the latest. Hosts that started
 * together drift apart.
 */
const RENEWAL_FROM = 0.8
const RENEWAL_TO = 0.9
/**
 * Longest time before a token is replaced, in milliseconds: a token that lives for years would hide a change
 * of its user.
 */
const RENEWAL_MS_MAX = 86_400_000

/** Pause after a failure, which doubles with each further one, in milliseconds. */
const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 60_000

/**
 * How many tokens of one wish may be rejected in a row, and how long until another one may be, in
 * milliseconds.
 */
const REJECTIONS_MAX = 5
const REJECTION_MS = 10_000

interface Entry {
  readonly parts: readonly string[]
  readonly issued: IssuedToken
  /** By the monotonic clock, as the end. */
  readonly renewFromMs: number
  readonly endsMs: number
}

/** What is remembered of a wish that failed. */
interface Failure {
  readonly error: unknown
  readonly count: number
  /** Until when a token that is still served is not renewed, by the monotonic clock. */
  readonly untilMs: number
  /** Until when callers without a token get the same error. */
  readonly callersUntilMs: number
}

export class IssuedTokens {
  readonly #now: () => number
  readonly #monotonicMs: () => number
  readonly #random: () => number
  readonly #onRenewalFailed: (parts: readonly string[], error: unknown) => void
  readonly #tokensMax: number
  /** By the key of the wish. It has no timers, clones nothing, and never holds more than it may. */
  readonly #cache: NodeCache
  readonly #running = new Map<string, Promise<IssuedToken>>()
  readonly #failures = new Map<string, Failure>()
  readonly #rejections = new Map<string, { readonly count: number; readonly lastMs: number }>()

  constructor({ now, monotonicMs, random, onRenewalFailed, tokensMax }: IssuedTokensOptions) {
    this.#onRenewalFailed = onRenewalFailed ?? (() => {})
    this.#now = now
    this.#monotonicMs = monotonicMs ?? (() => performance.now())
    this.#random = random ?? Math.random
    this.#tokensMax = tokensMax ?? TOKENS_MAX
    this.#cache = new NodeCache({ useClones: false, checkperiod: 0, maxKeys: this.#tokensMax })
  }

  /** How many tokens there are. */
  get size(): number {
    return this.#cache.getStats().keys
  }

  /** A token that is active now. @throws CallError that the login failed with */
  get(wish: Wish): MaybePromise<IssuedToken> {
    const key = JSON.stringify(wish.parts)
    const entry = this.#usable(key)
    if (entry === undefined) return this.#obtain(key, wish)
    const { rejected } = wish
    if (rejected !== undefined && rejected.reveal() === entry.issued.value.reveal() && this.#mayReject(key)) {
      this.#cache.del(key)
      return this.#obtain(key, wish)
    }
    return andThen(wish.isActive(entry.issued), (active) => {
      if (!active) {
        // Another call may have replaced it during the question.
        if (this.#cache.get(key) === entry) this.#cache.del(key)
        return this.#obtain(key, wish)
      }
      if (this.#monotonicMs() >= entry.renewFromMs) this.#renew(key, wish)
      return entry.issued
    })
  }

  /** Forgets the tokens that do not belong any more. @param belongs judges by the parts of the wish */
  retain(belongs: (parts: readonly string[]) => boolean): void {
    for (const key of this.#cache.keys()) {
      const entry = this.#cache.get<Entry>(key)
      if (entry !== undefined && !belongs(entry.parts)) this.#cache.del(key)
    }
    for (const key of this.#failures.keys())
      if (!belongs(JSON.parse(key) as string[])) this.#failures.delete(key)
  }

  /** Forgets a token that was revoked. */
  drop(isRevoked: (issued: IssuedToken) => boolean): void {
    for (const key of this.#cache.keys()) {
      const entry = this.#cache.get<Entry>(key)
      if (entry !== undefined && isRevoked(entry.issued)) this.#cache.del(key)
    }
  }

  #usable(key: string): Entry | undefined {
    const entry = this.#cache.get<Entry>(key)
    if (entry === undefined) return undefined
    const { expiresAtMs } = entry.issued.token
    const expired = expiresAtMs !== undefined && this.#now() >= expiresAtMs
    if (!expired && this.#monotonicMs() < entry.endsMs) return entry
    this.#cache.del(key)
    return undefined
  }

  /**
   * Joins the login that is running, or starts one. A caller who gives up does not end it, because others may
   * wait.
   */
  #obtain(key: string, wish: Wish): Promise<IssuedToken> {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const failure = this.#failures.get(key)
    if (failure !== undefined && this.#monotonicMs() < failure.callersUntilMs)
      return Promise.reject(failure.error)
    return this.#start(key, wish)
  }

  /** Replaces a token that is still served. */
  #renew(key: string, wish: Wish): void {
    const failure = this.#failures.get(key)
    const paused = failure !== undefined && this.#monotonicMs() < failure.untilMs
    // Until the next attempt the old token is served, up to its end.
    if (!paused && !this.#running.has(key))
      this.#start(key, wish).catch((error: unknown) => this.#onRenewalFailed(wish.parts, error))
  }

  #start(key: string, wish: Wish): Promise<IssuedToken> {
    const running = wish.obtain().then(
      (issued) => {
        this.#running.delete(key)
        this.#failures.delete(key)
        this.#store(key, wish.parts, issued)
        return issued
      },
      (error: unknown) => {
        this.#running.delete(key)
        if (wish.rememberFailures || this.#cache.has(key)) this.#remember(key, error)
        throw error
      },
    )
    this.#running.set(key, running)
    return running
  }

  #store(key: string, parts: readonly string[], issued: IssuedToken): void {
    const nowMs = this.#monotonicMs()
    const { expiresAtMs } = issued.token
    const lifeMs = expiresAtMs === undefined ? Number.POSITIVE_INFINITY : expiresAtMs - this.#now()
    // Its issuer and this host do not agree on the time, so it is unknown how long it may be kept.
    if (lifeMs <= 0) return
    const part = RENEWAL_FROM + (RENEWAL_TO - RENEWAL_FROM) * this.#random()
    const entry: Entry = {
      parts,
      issued,
      renewFromMs: nowMs + part * Math.min(lifeMs, RENEWAL_MS_MAX),
      endsMs: nowMs + lifeMs,
    }
    if (!this.#cache.has(key)) this.#makeRoom()
    this.#cache.set(key, entry)
  }

  /** `NodeCache` refuses a key too many. What ends soonest is worth least. */
  #makeRoom(): void {
    if (this.size < this.#tokensMax) return
    let [soonest, endsMs] = ['', Number.POSITIVE_INFINITY]
    for (const key of this.#cache.keys()) {
      const entry = this.#cache.get<Entry>(key)
      if (entry !== undefined && entry.endsMs <= endsMs) [soonest, endsMs] = [key, entry.endsMs]
    }
    this.#cache.del(soonest)
  }

  #remember(key: string, error: unknown): void {
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    const jitter = 0.75 + this.#random() / 4
    const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (count - 1)) * jitter
    this.#failures.delete(key)
    if (this.#failures.size >= this.#tokensMax) {
      const [oldest] = this.#failures.keys()
      if (oldest !== undefined) this.#failures.delete(oldest)
    }
    const nowMs = this.#monotonicMs()
    this.#failures.set(key, {
      error,
      count,
      untilMs: nowMs + pauseMs,
      // An outage may be over at any moment, so it keeps callers away for the first pause alone.
      callersUntilMs: nowMs + (isRefusal(error) ? pauseMs : PAUSE_MS * jitter),
    })
  }

  /** A caller who rejects every token would log in without end. */
  #mayReject(key: string): boolean {
    const nowMs = this.#monotonicMs()
    const { count, lastMs } = this.#rejections.get(key) ?? { count: 0, lastMs: nowMs }
    const left = Math.max(0, count - Math.floor((nowMs - lastMs) / REJECTION_MS))
    if (left >= REJECTIONS_MAX) return false
    if (this.#rejections.size >= this.#tokensMax) this.#rejections.clear()
    this.#rejections.set(key, { count: left + 1, lastMs: nowMs })
    return true
  }
}

/** The issuer said no, and would say it again. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof CallError && (error.code === 'UNAUTHENTICATED' || error.code === 'PERMISSION_DENIED')
  )
}
