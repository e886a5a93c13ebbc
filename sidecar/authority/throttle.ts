/**
 * Slows down the guessing of passwords. Failed logins are counted for each pair of user and source, and for each source, so
 * that rotating names gains nothing. A login in progress counts against the failures that are left: a burst of parallel logins
 * makes no more guesses than the same logins one after another.
 *
 * Logins with a password that Portcullis can have made do not come here (`canBeMade`), so nobody is locked out by the failures
 * of others.
 */
import { type CallError, callError } from '../base/call-error.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'

export interface ThrottleLimits {
  /** How many failures a user has from one source before further logins are refused. */
  readonly failures: number
  /** How many failures a source has, with whatever names, before further logins are refused; default: any number. */
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
}

/** The result of a login. `abandoned`: the password was not checked to the end, so the login is not counted. */
export type LoginOutcome = 'succeeded' | 'failed' | 'abandoned'

/** Reports the result of an admitted login. It must be called exactly once: until then other logins may wait. */
export type Settle = (outcome: LoginOutcome) => void

/** Limits how many passwords may be tried. */
export interface LoginThrottle {
  /**
   * Resolves when the password may be checked. Logins of the same pair are admitted in the order of their calls.
   *
   * @throws CallError `LOGIN_THROTTLED` if the source or the pair of user and source has failed too often, before or during the
   *   wait, or if too many of its logins are waiting
   */
  admit(attempt: LoginAttempt): Promise<Settle>
}

/** Most pairs and most sources whose failures are remembered. The one that was used least recently is forgotten first. */
const PAIRS_MAX = 100_000
const SOURCES_MAX = 10_000

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

/** Counts failed logins in the memory of this process. */
export class FailedLogins implements LoginThrottle {
  readonly #limits: Required<ThrottleLimits>
  readonly #now: () => number
  readonly #failures = new LazyLruCache<Failures>(PAIRS_MAX)
  readonly #sources = new LazyLruCache<Failures>(SOURCES_MAX)
  /** Not in the cache of failures: a pair with a login in progress must never be forgotten. */
  readonly #pending = new Map<string, PendingLogins>()

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(limits: ThrottleLimits, now: () => number) {
    this.#limits = { sourceFailures: Number.POSITIVE_INFINITY, waiting: 100, ...limits }
    this.#now = now
  }

  async admit({ account, userName, source }: LoginAttempt): Promise<Settle> {
    this.#expectNoPause(source)
    const pair = JSON.stringify([account, userName, source])
    const pending = this.#pending.get(pair) ?? { inFlight: 0, waiting: [] }
    if (pending.waiting.length >= this.#limits.waiting)
      throw throttled('too many logins of this user from this source wait', 1_000)
    const turn = Promise.withResolvers<void>()
    pending.waiting.push(turn)
    this.#pending.set(pair, pending)
    this.#admitNext(pair, pending)
    await turn.promise
    return (outcome) => {
      if (outcome === 'failed') this.#sources.set(source, this.#oneMore(this.#sources.get(source)))
      this.#count(pair, outcome)
      pending.inFlight--
      this.#admitNext(pair, pending)
    }
  }

  #expectNoPause(source: string): void {
    const pauseMs = this.#pauseLeftMs(this.#sources.get(source), this.#limits.sourceFailures)
    if (pauseMs > 0) throw throttled('too many failed logins from this source', pauseMs)
  }

  #count(pair: string, outcome: LoginOutcome): void {
    if (outcome === 'succeeded') this.#failures.delete(pair)
    else if (outcome === 'failed') this.#failures.set(pair, this.#oneMore(this.#failures.get(pair)))
  }

  #oneMore(before: Failures | undefined): Failures {
    return { count: (before?.count ?? 0) + 1, lastMs: this.#now() }
  }

  /** Refuses all waiting logins during a pause. Otherwise admits as many of them as there are failures left. */
  #admitNext(pair: string, pending: PendingLogins): void {
    const failures = this.#failures.get(pair)
    const pauseMs = this.#pauseLeftMs(failures, this.#limits.failures)
    if (pauseMs > 0)
      for (const { reject } of pending.waiting.splice(0))
        reject(throttled('too many failed logins of this user from this source', pauseMs))
    // After a pause, logins are admitted one at a time: if one fails, the next pause begins.
    const free = Math.max(1, this.#limits.failures - (failures?.count ?? 0)) - pending.inFlight
    const admitted = pending.waiting.splice(0, Math.max(0, free))
    pending.inFlight += admitted.length
    for (const { resolve } of admitted) resolve()
    if (pending.inFlight === 0) this.#pending.delete(pair)
  }

  /** The rest of a pause, in milliseconds; 0: there is no pause. */
  #pauseLeftMs(failures: Failures | undefined, failuresMax: number): number {
    if (failures === undefined || failures.count < failuresMax) return 0
    const leftMs = failures.lastMs + this.#limits.pauseMs - this.#now()
    // A clock that was set back must not lengthen the pause.
    return leftMs > this.#limits.pauseMs ? 0 : Math.max(0, leftMs)
  }
}

function throttled(cause: string, retryMs: number): CallError {
  const seconds = Math.ceil(retryMs / 1000)
  return callError(
    'LOGIN_THROTTLED',
    { cause, seconds },
    { metadata: { retry_after_seconds: String(seconds) } },
  )
}
