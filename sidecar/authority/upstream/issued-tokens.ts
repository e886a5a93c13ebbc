/**
 * The tokens that were issued for profiles. A token is used for most of its life and replaced ahead of its
 * last share, beside the calls. However many callers wait for a token, one login obtains it.
 *
 * No timer runs for a token: the next request finds that it is due. So a jump of a clock can neither set off
 * a storm of logins nor leave a timer behind. A request that finds a token in its last share waits for the
 * new one, and gets the old one where none comes in time. Every time of a token is read from both clocks: it
 * is served only while neither says that it has expired.
 */
import NodeCache from 'node-cache'
import { CallError } from '../../base/call-error.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Secret } from '../../base/secret.ts'
import { beginMs, scheduleOf } from '../../base/token-schedule.ts'
import type { IssuedToken } from '../authority.ts'
import { tokenDigest } from '../verifiers.ts'

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
  /** How long a caller waits for the new token while there is an old one, in milliseconds; default: 3,000. */
  readonly waitMs?: number | undefined
}

/** A token to obtain, and how. */
export interface Wish {
  /**
   * The parts on which the token depends: the login, its place, the version of the secret, and the scope.
   * Texts are joined as JSON, so that no two wishes have one key.
   */
  readonly parts: readonly string[]
  readonly obtain: () => Promise<IssuedToken>
  /** Whether the issuer still verifies a token of the cache. */
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

const WAIT_MS = 3_000

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
  readonly digest: string
  readonly parts: readonly string[]
  readonly issued: IssuedToken
  /** When a new token is obtained beside the calls. */
  readonly begins: Moment
  /** When calls wait for the new token. */
  readonly due: Moment
  /** When it is no longer given. */
  readonly ends: Moment
}

/** A moment by both clocks. It has come when either says so. */
interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** A login that runs. */
interface Login {
  readonly token: Promise<IssuedToken>
  /**
   * The token for which callers wait that could have the old one: the new one, or `undefined` where there is
   * none in time. The first of them sets the time.
   */
  inTime?: Promise<IssuedToken | undefined>
}

/** The memory of a wish that failed. */
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
  readonly #waitMs: number
  /** By the key of the wish. It has no timers, clones nothing, and never holds more than it may. */
  readonly #cache: NodeCache
  /** The keys in the cache, by the digest of their token: an unknown token is sought without a search. */
  readonly #keysOf = new Map<string, Set<string>>()
  readonly #running = new Map<string, Login>()
  readonly #failures = new Map<string, Failure>()
  readonly #rejections = new Map<string, { readonly count: number; readonly lastMs: number }>()

  constructor({ now, monotonicMs, random, onRenewalFailed, tokensMax, waitMs }: IssuedTokensOptions) {
    this.#onRenewalFailed = onRenewalFailed ?? (() => {})
    this.#now = now
    this.#monotonicMs = monotonicMs ?? (() => performance.now())
    this.#random = random ?? Math.random
    this.#tokensMax = tokensMax ?? TOKENS_MAX
    this.#waitMs = waitMs ?? WAIT_MS
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
      this.#forget(key)
      return this.#obtain(key, wish)
    }
    return andThen(wish.isActive(entry.issued), (active) => {
      if (!active) {
        // Another call may have replaced it during the question.
        if (this.#cache.get(key) === entry) this.#forget(key)
        return this.#obtain(key, wish)
      }
      if (!this.#hasCome(entry.begins)) return entry.issued
      if (this.#hasCome(entry.due)) return this.#replacementOf(entry, key, wish)
      this.#renew(key, wish)
      return entry.issued
    })
  }

  /** Forgets the tokens that no longer belong. @param belongs judges by the parts of the wish */
  retain(belongs: (parts: readonly string[]) => boolean): void {
    for (const key of this.#cache.keys()) {
      const entry = this.#cache.get<Entry>(key)
      if (entry !== undefined && !belongs(entry.parts)) this.#forget(key)
    }
    for (const key of this.#failures.keys())
      if (!belongs(JSON.parse(key) as string[])) this.#failures.delete(key)
  }

  /**
   * Forgets a token that was revoked, for every wish that it was the answer to.
   *
   * @param digest as `tokenDigest` makes it
   * @param authority only a token that this one issued; another one does not know it anyway
   * @returns the token, if it was there
   */
  drop(digest: string, authority?: string): IssuedToken | undefined {
    let found: IssuedToken | undefined
    for (const key of [...(this.#keysOf.get(digest) ?? [])]) {
      const issued = this.#cache.get<Entry>(key)?.issued
      if (authority !== undefined && issued?.token.authority !== authority) continue
      found = issued
      this.#forget(key)
    }
    return found
  }

  #usable(key: string): Entry | undefined {
    const entry = this.#cache.get<Entry>(key)
    if (entry === undefined) return undefined
    if (!this.#hasCome(entry.ends)) return entry
    this.#forget(key)
    return undefined
  }

  /**
   * Joins the login that is running, or starts one. A caller who gives up does not end it, because others may
   * wait.
   */
  #obtain(key: string, wish: Wish): Promise<IssuedToken> {
    const running = this.#running.get(key)
    if (running !== undefined) return running.token
    const failure = this.#failures.get(key)
    if (failure !== undefined && this.#monotonicMs() < failure.callersUntilMs)
      return Promise.reject(failure.error)
    return this.#start(key, wish).token
  }

  /**
   * The login that replaces a token that is still served. `undefined`: the last one failed, and the next one
   * must wait.
   */
  #renew(key: string, wish: Wish): Login | undefined {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const failure = this.#failures.get(key)
    if (failure !== undefined && this.#monotonicMs() < failure.untilMs) return undefined
    const login = this.#start(key, wish)
    login.token.catch((error: unknown) => this.#onRenewalFailed(wish.parts, error))
    return login
  }

  /** The token that replaces one in its last share, or the old one where no login succeeds in time. */
  #replacementOf(entry: Entry, key: string, wish: Wish): MaybePromise<IssuedToken> {
    const login = this.#renew(key, wish)
    if (login === undefined) return entry.issued
    login.inTime ??= inTime(login.token, this.#waitMs)
    return login.inTime.then((issued) => {
      if (issued !== undefined) return issued
      // It may have ended meanwhile, or have been revoked.
      return this.#usable(key) === entry ? entry.issued : this.get(wish)
    })
  }

  #start(key: string, wish: Wish): Login {
    const token = wish.obtain().then(
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
    const login: Login = { token }
    this.#running.set(key, login)
    return login
  }

  #store(key: string, parts: readonly string[], issued: IssuedToken): void {
    const schedule = scheduleOf(issued.token, this.#now())
    const { leftMs, dueMs, leastMs } = schedule
    // Its issuer and this host do not agree on the time, so it is unknown how long it may be kept.
    if (leftMs <= 0) return
    const digest = tokenDigest(issued.value.reveal())
    const entry: Entry = {
      ...{ digest, parts, issued },
      begins: this.#in(beginMs(schedule, this.#random())),
      due: this.#in(dueMs),
      ends: this.#in(leftMs - leastMs),
    }
    this.#forget(key)
    this.#makeRoom()
    this.#cache.set(key, entry)
    const keys = this.#keysOf.get(digest) ?? new Set<string>()
    this.#keysOf.set(digest, keys.add(key))
  }

  #forget(key: string): void {
    const digest = this.#cache.get<Entry>(key)?.digest
    if (digest === undefined) return
    this.#cache.del(key)
    const keys = this.#keysOf.get(digest)
    keys?.delete(key)
    if (keys?.size === 0) this.#keysOf.delete(digest)
  }

  #in(ms: number): Moment {
    return { monotonicMs: this.#monotonicMs() + ms, wallMs: this.#now() + ms }
  }

  #hasCome({ monotonicMs, wallMs }: Moment): boolean {
    return this.#monotonicMs() >= monotonicMs || this.#now() >= wallMs
  }

  /** `NodeCache` refuses a key too many. The token that ends soonest is worth least. */
  #makeRoom(): void {
    if (this.size < this.#tokensMax) return
    let [soonest, endsMs] = ['', Number.POSITIVE_INFINITY]
    for (const key of this.#cache.keys()) {
      const ends = this.#cache.get<Entry>(key)?.ends.monotonicMs
      if (ends !== undefined && ends <= endsMs) [soonest, endsMs] = [key, ends]
    }
    this.#forget(soonest)
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

/** The token, or `undefined` where the login fails or takes longer. */
function inTime(token: Promise<IssuedToken>, waitMs: number): Promise<IssuedToken | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, waitMs, undefined)
    const done = (issued?: IssuedToken) => {
      clearTimeout(timer)
      resolve(issued)
    }
    token.then(done, () => done())
  })
}

/** The issuer said no, and would say it again. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof CallError && (error.code === 'UNAUTHENTICATED' || error.code === 'PERMISSION_DENIED')
  )
}
