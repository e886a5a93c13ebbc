/** Failed logins, counted by user and address together: who guesses is slowed down, and nobody else is. */
import type { Answer } from '../directory/database.ts'
import { NoAnswer } from '../errors.ts'
import { Recent } from './recent.ts'

export interface ThrottleLimits {
  /** Failures after which a user's logins from an address wait. */
  readonly failures: number
  /** How long they wait after the last failure, in milliseconds. */
  readonly pauseMs: number
}

/** Pairs of user and address that are remembered; the least recently seen is forgotten first. */
const PAIRS_MAX = 100_000

/** Slows down whoever guesses. */
export interface LoginThrottle {
  /** Whether there is such a user makes no difference. @throws NoAnswer while the pair has to wait */
  admit(account: string, userName: string, address: string): Answer<void>
  failed(account: string, userName: string, address: string): Answer<void>
  succeeded(account: string, userName: string, address: string): Answer<void>
}

/** Counts in this process. */
export class FailedLogins implements LoginThrottle {
  readonly #limits: ThrottleLimits
  readonly #now: () => number
  readonly #pairs = new Recent<{ failures: number; lastMs: number }>(PAIRS_MAX)

  constructor(limits: ThrottleLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  admit(account: string, userName: string, address: string): void {
    const pair = this.#pairs.get(key(account, userName, address))
    if (pair === undefined || pair.failures < this.#limits.failures) return
    const leftMs = pair.lastMs + this.#limits.pauseMs - this.#now()
    // A clock that was set back must not lengthen the wait.
    if (leftMs <= 0 || leftMs > this.#limits.pauseMs) return
    const seconds = Math.ceil(leftMs / 1000)
    throw new NoAnswer(
      'RESOURCE_EXHAUSTED',
      `too many failed logins of this user from this address; try again in ${seconds} s`,
      {
        reason: 'LOGIN_THROTTLED',
        metadata: { retry_after_seconds: String(seconds) },
      },
    )
  }

  failed(account: string, userName: string, address: string): void {
    const pair = key(account, userName, address)
    const failures = (this.#pairs.get(pair)?.failures ?? 0) + 1
    this.#pairs.set(pair, { failures, lastMs: this.#now() })
  }

  succeeded(account: string, userName: string, address: string): void {
    this.#pairs.delete(key(account, userName, address))
  }
}

function key(account: string, userName: string, address: string): string {
  return JSON.stringify([account, userName, address])
}
