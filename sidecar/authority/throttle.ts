/**
 * Slows down the guessing of passwords. Failed logins are counted for each pair of user and source, and for
 * each source, so that rotating names gains nothing. A login in progress counts against the failures that are
 * left: a burst of parallel logins makes only as many guesses as the same logins one after another.
 *
 * A patient guesser, or one on many networks, is slowed down too: chosen passwords for the control panel, and
 * one-time codes, are also counted for the user alone, and the pause doubles with each failure.
 *
 * Logins with a password that Portcullis can have made do not come here (`canBeMade`), so users are not
 * locked out by the failures of others.
 */
import { type CallError, callError } from '../base/call-error.ts'
import { TimeLimit } from '../base/time-limit.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'

export interface ThrottleLimits {
  /** How many failures a user has from one source before further logins are refused. */
  readonly failures: number
  /**
   * How many failures a source has, with whatever names, before further logins are refused; default: any
   * number.
   */
  readonly sourceFailures?: number
  /** How many logins of one user from one source may wait for their turn; default: 100. */
  readonly waiting?: number
  /** How long logins are refused after the last failure, in milliseconds. */
  readonly pauseMs: number
}

/** The user and the source of a login. Unknown users are counted in the same way. */
export interface LoginAttempt {
  readonly account: string
  readonly userName: string
  /** Name of the source. */
  readonly source: string
  /**
   * The guessed secret. `chosen password`: people chose it, so the failures of the user from all sources
   * count together, too. `code`: its source is the same wherever it comes from. Default: a password that is
   * counted for its pair of user and source.
   */
  readonly guesses?: 'chosen password' | 'code'
}

/**
 * The result of a login. `abandoned`: the password was not checked to the end, so the login is not counted.
 */
export type LoginOutcome = 'succeeded' | 'failed' | 'abandoned'

/**
 * Reports the result of an admitted login. It must be called exactly once: until then other logins may wait.
 */
export type Settle = (outcome: LoginOutcome) => void

/** Limits how many passwords may be tried. */
export interface LoginThrottle {
  /**
   * Resolves when the password may be checked. Logins of the same pair are admitted in the order of their
   * calls.
   *
   * @throws CallError `LOGIN_THROTTLED` if the source, the user, or the pair of both has failed too often,
   *   before or during the wait, or if too many of its logins are waiting
   */
  admit(attempt: LoginAttempt): Promise<Settle>
}

/**
 * Most counts of pairs and users, and most of sources, that are remembered. The one that was used least
 * recently is forgotten first.
 */
const PAIRS_MAX = 100_000
const SOURCES_MAX = 10_000

/**
 * How many failures a user of the control panel has from all sources together before new sources must wait.
 */
const USER_FAILURES = 100

/** The longest pause that doubling leads to, in milliseconds: about a hundred guesses a day. */
const PAUSE_MAX_MS = 15 * 60_000

/** How many logins may fail before there are pauses, and how long those are. */
interface Bound {
  readonly failures: number
  /** Whether the pause doubles with each further failure. */
  readonly doubles: boolean
  /** The owner of the logins, for messages. */
  readonly whose: string
}

interface Failures {
  readonly count: number
  /** Time of the last failure, in milliseconds since the epoch. */
  readonly lastMs: number
}

/** The unfinished logins of a pair. */
interface PendingLogins {
  inFlight: number
  readonly waiting: PromiseWithResolvers<void>[]
}

const PROVEN = {}

/** Counts failed logins in the memory of this process. */
export class FailedLogins implements LoginThrottle {
  readonly #limits: Required<ThrottleLimits>
  readonly #now: () => number
  readonly #bounds: { readonly pair: Bound; readonly code: Bound; readonly user: Bound }
  /** Of pairs of user and source, and of users. */
  readonly #failures = new LazyLruCache<Failures>(PAIRS_MAX)
  readonly #sources = new LazyLruCache<Failures>(SOURCES_MAX)
  /** Pairs whose user has logged in from that source with a chosen password. */
  readonly #proven = new LazyLruCache<object>(PAIRS_MAX)
  /** Not in the cache of failures: a pair with a login in progress must never be forgotten. */
  readonly #pending = new Map<string, PendingLogins>()

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(limits: ThrottleLimits, now: () => number) {
    this.#limits = { sourceFailures: Number.POSITIVE_INFINITY, waiting: 100, ...limits }
    this.#now = now
    const { failures } = limits
    const whose = 'of this user from this source'
    this.#bounds = {
      pair: { failures, doubles: false, whose },
      code: { failures, doubles: true, whose },
      user: { failures: Math.max(USER_FAILURES, failures), doubles: true, whose: 'of this user' },
    }
  }

  async admit({ account, userName, source, guesses }: LoginAttempt): Promise<Settle> {
    const pair = JSON.stringify([account, userName, source])
    if (guesses === 'code') return this.#turnOf(pair, this.#bounds.code)
    this.#expectNoPause(source)
    const settlePair = await this.#turnOf(pair, this.#bounds.pair)
    let settleUser: Settle | undefined
    // Otherwise guesses from elsewhere would lock users out where they always log in.
    if (guesses === 'chosen password' && this.#proven.get(pair) === undefined)
      try {
        settleUser = await this.#turnOf(JSON.stringify([account, userName]), this.#bounds.user)
      } catch (error) {
        settlePair('abandoned')
        throw error
      }
    return (outcome) => {
      if (outcome === 'failed') this.#sources.set(source, this.#oneMore(this.#ofSource(source)))
      if (outcome === 'succeeded' && guesses === 'chosen password') this.#proven.set(pair, PROVEN)
      settleUser?.(outcome)
      settlePair(outcome)
    }
  }

  #expectNoPause(source: string): void {
    const { sourceFailures: failures } = this.#limits
    const bound = { failures, doubles: false, whose: 'from this source' }
    const pauseMs = this.#pauseLeftMs(this.#ofSource(source), bound)
    if (pauseMs > 0) throw tooMany(bound, pauseMs)
  }

  /**
   * The failures of a source. They lapse when there was none for as long as the pauses for that number take,
   * so that waiting for it gains no guess: otherwise each single failure would make all users of a source
   * wait that once had many.
   */
  #ofSource(source: string): Failures | undefined {
    const failures = this.#sources.get(source)
    const lapseMs = this.#limits.sourceFailures * this.#limits.pauseMs
    // Where a clock was set back they count on: the next one that fails begins a pause.
    return failures !== undefined && this.#now() - failures.lastMs < lapseMs ? failures : undefined
  }

  /** Waits until one more of these logins may go on. */
  async #turnOf(key: string, bound: Bound): Promise<Settle> {
    const pending = this.#pending.get(key) ?? { inFlight: 0, waiting: [] }
    if (pending.waiting.length >= this.#limits.waiting)
      throw throttled(`too many logins ${bound.whose} are waiting`, 1_000)
    const turn = Promise.withResolvers<void>()
    pending.waiting.push(turn)
    this.#pending.set(key, pending)
    this.#admitNext(key, pending, bound)
    await turn.promise
    return (outcome) => {
      this.#count(key, outcome)
      pending.inFlight--
      this.#admitNext(key, pending, bound)
    }
  }

  #count(key: string, outcome: LoginOutcome): void {
    if (outcome === 'succeeded') this.#failures.delete(key)
    else if (outcome === 'failed') this.#failures.set(key, this.#oneMore(this.#failures.get(key)))
  }

  #oneMore(before: Failures | undefined): Failures {
    return { count: (before?.count ?? 0) + 1, lastMs: this.#now() }
  }

  /**
   * Refuses all waiting logins during a pause. Otherwise admits as many of them as there are failures left.
   */
  #admitNext(key: string, pending: PendingLogins, bound: Bound): void {
    const failures = this.#failures.get(key)
    const pauseMs = this.#pauseLeftMs(failures, bound)
    if (pauseMs > 0) for (const { reject } of pending.waiting.splice(0)) reject(tooMany(bound, pauseMs))
    // After a pause, logins are admitted one at a time: if one fails, the next pause begins.
    const free = Math.max(1, bound.failures - (failures?.count ?? 0)) - pending.inFlight
    const admitted = pending.waiting.splice(0, Math.max(0, free))
    pending.inFlight += admitted.length
    for (const { resolve } of admitted) resolve()
    if (pending.inFlight === 0) this.#pending.delete(key)
  }

  /** The rest of a pause, in milliseconds; 0: there is no pause. */
  #pauseLeftMs(failures: Failures | undefined, bound: Bound): number {
    if (failures === undefined || failures.count < bound.failures) return 0
    const { pauseMs: firstMs } = this.#limits
    const pauseMs = bound.doubles
      ? Math.min(firstMs * 2 ** (failures.count - bound.failures), Math.max(firstMs, PAUSE_MAX_MS))
      : firstMs
    return new TimeLimit(pauseMs).leftSince(failures.lastMs, this.#now())
  }
}

function tooMany({ whose }: Bound, pauseMs: number): CallError {
  return throttled(`too many failed logins ${whose}`, pauseMs)
}

function throttled(cause: string, retryMs: number): CallError {
  const seconds = Math.ceil(retryMs / 1000)
  return callError(
    'LOGIN_THROTTLED',
    { cause, seconds },
    { metadata: { retry_after_seconds: String(seconds) } },
  )
}
