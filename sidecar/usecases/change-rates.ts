/** How many changes each user and each caller may make: a token bucket for each of them. */

import { callError } from '../base/call-error.ts'
import type { ChangeAuthor, ChangeLane } from '../directory/author.ts'

export interface ChangeRateLimits {
  /** How many changes may be made at once, by a principal who made none for some time. */
  readonly burst: number
  /** How many changes a minute an administrator may make after that. */
  readonly administratorPerMinute: number
  /** How many changes a minute a user may make for themselves after that. */
  readonly userPerMinute: number
}

/**
 * Most principals whose changes are counted. The one that changed something least recently is forgotten
 * first.
 */
const PRINCIPALS_MAX = 10_000

interface Bucket {
  /** Changes that are left. */
  left: number
  /** When that was, in milliseconds. */
  atMs: number
}

export class ChangeRates {
  readonly #limits: ChangeRateLimits
  readonly #now: () => number
  /** Least recently used first. */
  readonly #buckets = new Map<string, Bucket>()

  /** @param now monotonic clock, in milliseconds */
  constructor(limits: ChangeRateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#now = now
  }

  /**
   * Counts a change. A revocation must never be too late, and operators have no rate.
   *
   * @throws CallError `CHANGES_THROTTLED`
   */
  spend({ lane, principal }: Pick<ChangeAuthor, 'lane' | 'principal'>): void {
    const perMinute = this.#perMinute(lane)
    if (perMinute === undefined) return
    const key = `${lane} ${principal}`
    const nowMs = this.#now()
    const { burst } = this.#limits
    const bucket = this.#buckets.get(key) ?? { left: burst, atMs: nowMs }
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > PRINCIPALS_MAX)
      for (const oldest of this.#buckets.keys()) {
        this.#buckets.delete(oldest)
        break
      }
    bucket.left = Math.min(burst, bucket.left + ((nowMs - bucket.atMs) * perMinute) / 60_000)
    bucket.atMs = nowMs
    if (bucket.left < 1) throw throttled(((1 - bucket.left) * 60_000) / perMinute)
    bucket.left--
  }

  #perMinute(lane: ChangeLane): number | undefined {
    if (lane === 'users') return this.#limits.userPerMinute
    return lane === 'administrators' ? this.#limits.administratorPerMinute : undefined
  }
}

function throttled(retryMs: number): Error {
  const seconds = Math.max(1, Math.ceil(retryMs / 1000))
  return callError('CHANGES_THROTTLED', { seconds }, { metadata: { retry_after_seconds: String(seconds) } })
}
