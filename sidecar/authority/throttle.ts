/**
 * Failed logins, counted by user and address together: who guesses is slowed down, and nobody else is. A login in flight
 * takes one of the failures that are left, so that a burst makes no more guesses than one after the other would.
 */
import { type CallError, callError } from '../base/call-error.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'

export interface ThrottleLimits {
  /** Failures after which a user's logins from an address wait. */
  readonly failures: number
  /** How long they wait after the last failure, in milliseconds. */
  readonly pauseMs: number
}

/** Who logs in, and from where. Whether there is such a user makes no difference. */
export interface LoginAttempt {
  readonly account: string
  readonly userName: string
  readonly address: string
}

/** What became of a login; `abandoned`: nobody knows whether the password was right, and it counts as nothing. */
export type LoginOutcome = 'succeeded' | 'failed' | 'abandoned'

/** Gives the place of an admitted login back. To be called once, whatever became of it: until then others may wait for it. */
export type Settle = (outcome: LoginOutcome) => void

/** Slows down whoever guesses. */
export interface LoginThrottle {
  /**
   * Resolves when the password may be checked, which is after those that came first.
   *
   * @throws CallError `LOGIN_THROTTLED` where the pair of user and address has failed too often, now or while this waited,
   *   or where too many of its logins wait
   */
  admit(attempt: LoginAttempt): Promise<Settle>
}

/** Pairs whose failures are remembered; the least recently seen is forgotten first. */
const PAIRS_MAX = 100_000

/** Logins of one pair that wait for their turn; further ones are refused. */
const WAITING_MAX = 100

interface Failures {
  readonly count: number
  /** When the last one was. */
  readonly lastMs: number
}

/** The logins of a pair that have not come to an end. */
interface Traffic {
  inFlight: number
  readonly waiting: PromiseWithResolvers<void>[]
}

/** Counts in this process. */
export class FailedLogins implements LoginThrottle {
  readonly #limits: ThrottleLimits
  readonly #now: () => number
  readonly #failures = new LazyLruCache<Failures>(PAIRS_MAX)
  /** Apart from the failures: nothing may forget who holds a place. */
  readonly #traffic = new Map<string, Traffic>()

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(limits: ThrottleLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  async admit({ account, userName, address }: LoginAttempt): Promise<Settle> {
    const pair = JSON.stringify([account, userName, address])
    const traffic = this.#traffic.get(pair) ?? { inFlight: 0, waiting: [] }
    if (traffic.waiting.length >= WAITING_MAX)
      throw throttled('too many logins of this user from this address wait', 1_000)
    const turn = Promise.withResolvers<void>()
    traffic.waiting.push(turn)
    this.#traffic.set(pair, traffic)
    this.#advance(pair, traffic)
    await turn.promise
    return (outcome) => {
      this.#count(pair, outcome)
      traffic.inFlight--
      this.#advance(pair, traffic)
    }
  }

  #count(pair: string, outcome: LoginOutcome): void {
    if (outcome === 'succeeded') this.#failures.delete(pair)
    else if (outcome === 'failed')
      this.#failures.set(pair, { count: this.#failuresOf(pair) + 1, lastMs: this.#now() })
  }

  /** Refuses those that wait while the pair has to pause; otherwise lets the first of them go on, as many as have a place. */
  #advance(pair: string, traffic: Traffic): void {
    const pauseMs = this.#pauseLeftMs(pair)
    if (pauseMs > 0)
      for (const { reject } of traffic.waiting.splice(0))
        reject(throttled('too many failed logins of this user from this address', pauseMs))
    // After the pause one at a time: if it fails, the next pause begins.
    const places = Math.max(1, this.#limits.failures - this.#failuresOf(pair)) - traffic.inFlight
    const admitted = traffic.waiting.splice(0, Math.max(0, places))
    traffic.inFlight += admitted.length
    for (const { resolve } of admitted) resolve()
    if (traffic.inFlight === 0) this.#traffic.delete(pair)
  }

  #failuresOf(pair: string): number {
    return this.#failures.get(pair)?.count ?? 0
  }

  /** How long the pair has to wait from now on, in milliseconds; 0: not at all. */
  #pauseLeftMs(pair: string): number {
    const failures = this.#failures.get(pair)
    if (failures === undefined || failures.count < this.#limits.failures) return 0
    const leftMs = failures.lastMs + this.#limits.pauseMs - this.#now()
    // A clock that was set back must not lengthen the wait.
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
