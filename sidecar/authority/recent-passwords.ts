/**
 * Remembers for a short time which passwords were right and which were wrong, by a keyed digest. Jobs that
 * log in with the same password at once, and a job that repeats a password that was replaced, cost one hash
 * and not one each.
 *
 * Only passwords of the form that Portcullis makes are remembered. They have 144 random bits, so a digest of
 * one reveals nothing about it, even to a reader of this process's memory.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { elapsedMs } from '../base/clock.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'

/** Most passwords of each kind. Wrong ones cannot push out right ones. */
const REMEMBERED_MAX = 10_000

interface Remembered {
  /** By `elapsedMs`. */
  readonly untilMs: number
}

export class RecentPasswords {
  readonly #rememberMs: number
  readonly #now: () => number
  readonly #newKey: () => KeyObject
  #key: KeyObject | undefined
  readonly #right = new LazyLruCache<Remembered>(REMEMBERED_MAX)
  readonly #wrong = new LazyLruCache<Remembered>(REMEMBERED_MAX)
  readonly #pending = new Map<string, Promise<boolean>>()

  /**
   * @param rememberMs how long a result is used, in milliseconds; 0: nothing is remembered
   * @param newKey makes the key of the digests
   * @param now the clock of what is remembered, in milliseconds
   */
  constructor(rememberMs: number, newKey: () => KeyObject, now: () => number = elapsedMs) {
    this.#rememberMs = rememberMs
    this.#newKey = newKey
    this.#now = now
  }

  /**
   * Whether the password is right: as it is remembered, or by `check`. Calls with the same values share one
   * check.
   *
   * @param what all that decides about the result, the stored hash and the password among it
   * @param sharedBy calls of another one never share a check, so that none of them waits in the queue of
   *   another
   */
  async check(what: readonly string[], sharedBy: string, check: () => Promise<boolean>): Promise<boolean> {
    if (this.#rememberMs === 0) return check()
    this.#key ??= this.#newKey()
    const digest = createHmac('sha256', this.#key).update(JSON.stringify(what)).digest('base64')
    const nowMs = this.#now()
    for (const [remembered, result] of [
      [this.#right, true],
      [this.#wrong, false],
    ] as const) {
      const found = remembered.get(digest)
      if (found !== undefined && nowMs < found.untilMs) return result
    }
    const key = JSON.stringify([digest, sharedBy])
    const pending = this.#pending.get(key)
    if (pending !== undefined) return pending
    const checking = check()
    this.#pending.set(key, checking)
    try {
      const right = await checking
      const remembered = right ? this.#right : this.#wrong
      remembered.set(digest, { untilMs: this.#now() + this.#rememberMs })
      return right
    } finally {
      this.#pending.delete(key)
    }
  }
}
