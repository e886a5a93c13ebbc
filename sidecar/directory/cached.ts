/**
 * A directory that is asked over the network, remembered for a bounded time: a check of a token that was seen lately
 * waits for nobody, and what is asked about regularly is read again before it lapses. Only standing is remembered; who
 * logs in, and what a user may be issued, is asked every time.
 */
import { LRUCache } from 'lru-cache'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Directory, Grant, IamTokenQuery, ServiceUser, StaticToken, TokenStatus } from './directory.ts'

export interface CacheLimits {
  /**
   * No answer rests on what was read longer ago than this before the question, in milliseconds; 0: nothing
   * is remembered.
   */
  readonly stalenessMs: number
  /** Monotonic clock, in milliseconds: a wall clock that is set back would keep answers alive. */
  readonly now?: () => number
}

export class CachedDirectory implements Directory {
  readonly #directory: Directory
  readonly #iamTokens: Remembered<TokenStatus>
  readonly #staticTokens: Remembered<StaticToken | undefined>

  constructor(directory: Directory, limits: CacheLimits) {
    this.#directory = directory
    this.#iamTokens = new Remembered(limits)
    this.#staticTokens = new Remembered(limits)
  }

  /** What is remembered here has a bound of its own. */
  version(): undefined {}

  /** Forgets everything, and what is being asked right now is not remembered: it may have been read before the change. */
  clear(): void {
    this.#iamTokens.clear()
    this.#staticTokens.clear()
  }

  iamTokenStatus(ground: IamTokenQuery): MaybePromise<TokenStatus> {
    const { tokenId, subjectId, generation, account, projectId, permissionScopes } = ground
    const key = JSON.stringify([tokenId, subjectId, generation, account, projectId ?? null, permissionScopes])
    return this.#iamTokens.answer(key, () => this.#directory.iamTokenStatus(ground))
  }

  staticToken(hash: Buffer): MaybePromise<StaticToken | undefined> {
    return this.#staticTokens.answer(hash.toString('hex'), () => this.#directory.staticToken(hash))
  }

  serviceUser(account: string, name: string): MaybePromise<ServiceUser | undefined> {
    return this.#directory.serviceUser(account, name)
  }

  permits(
    userId: string,
    account: string,
    project: string | undefined,
    scopes: readonly string[],
  ): MaybePromise<Grant | undefined> {
    return this.#directory.permits(userId, account, project, scopes)
  }
}

/** Tokens that stand, and those that do not: guesses must not push out what is genuine. */
const ACTIVE_MAX = 50_000
const INACTIVE_MAX = 10_000
/** Of each of the two: answers and the address ranges in them, which can be a thousand each. */
const PARTS_MAX = 500_000

/** Shares of the staleness bound. While nobody answers, an answer is asked for ahead twice, and then lapses. */
const REFRESH_AFTER = 1 / 2
const REFRESH_AGAIN_AFTER = 1 / 4

interface Entry<T> {
  readonly value: T
  readonly askedAtMs: number
  /** Whoever finds it from then on has the question asked again. */
  refreshAtMs: number
}

interface Question<T> {
  readonly answer: Promise<T>
  readonly askedAtMs: number
}

/** Answers to one kind of question. Whoever asks what is being asked already shares the answer. */
class Remembered<T extends TokenStatus | undefined> {
  readonly #stalenessMs: number
  readonly #now: () => number
  readonly #active = lru<T>(ACTIVE_MAX)
  readonly #inactive = lru<T>(INACTIVE_MAX)
  readonly #asked = new Map<string, Question<T>>()
  #clearedAtMs = Number.NEGATIVE_INFINITY

  constructor({ stalenessMs, now = () => performance.now() }: CacheLimits) {
    this.#stalenessMs = stalenessMs
    this.#now = now
  }

  clear(): void {
    this.#clearedAtMs = this.#now()
  }

  /** At once where it is known. */
  answer(key: string, ask: () => MaybePromise<T>): MaybePromise<T> {
    const nowMs = this.#now()
    const known = this.#active.get(key) ?? this.#inactive.get(key)
    if (known === undefined || !this.#holds(known.askedAtMs, nowMs)) return this.#share(key, ask, nowMs)
    if (nowMs >= known.refreshAtMs) {
      known.refreshAtMs = nowMs + this.#stalenessMs * REFRESH_AGAIN_AFTER
      // Nobody waits for it here. Where it fails, what is known lapses as it would have, and who asks then is told.
      this.#share(key, ask, nowMs).catch(() => {})
    }
    return known.value
  }

  #share(key: string, ask: () => MaybePromise<T>, nowMs: number): Promise<T> {
    const asked = this.#asked.get(key)
    if (asked !== undefined && this.#holds(asked.askedAtMs, nowMs)) return asked.answer
    return this.#ask(key, ask, nowMs)
  }

  /** An answer is as old as its question: it may have been read right then. */
  #holds(askedAtMs: number, nowMs: number): boolean {
    return askedAtMs > this.#clearedAtMs && askedAtMs > nowMs - this.#stalenessMs
  }

  async #ask(key: string, ask: () => MaybePromise<T>, askedAtMs: number): Promise<T> {
    const question = { answer: Promise.resolve(ask()), askedAtMs }
    this.#asked.set(key, question)
    try {
      const value = await question.answer
      const refreshAtMs = askedAtMs + this.#stalenessMs * REFRESH_AFTER
      if (this.#holds(askedAtMs, this.#now())) this.#remember(key, { value, askedAtMs, refreshAtMs })
      return value
    } finally {
      // A later question may have taken its place.
      if (this.#asked.get(key) === question) this.#asked.delete(key)
    }
  }

  #remember(key: string, entry: Entry<T>): void {
    const [here, there] =
      entry.value?.active === true ? [this.#active, this.#inactive] : [this.#inactive, this.#active]
    there.delete(key)
    here.set(key, entry)
  }
}

function lru<T extends TokenStatus | undefined>(max: number): LRUCache<string, Entry<T>> {
  return new LRUCache({
    max,
    maxSize: PARTS_MAX,
    sizeCalculation: ({ value }) => 1 + (value?.addresses.length ?? 0),
  })
}
