/**
 * A cache in front of a directory on the network. The check of a token that was checked recently does not wait for the
 * network. The status of a token that is checked regularly is refreshed before it becomes too old. Only the status of
 * tokens is cached; logins and issuance always query the directory.
 */
import { LRUCache } from 'lru-cache'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Directory, Grant, IamTokenQuery, ServiceUser, StaticToken, TokenStatus } from './directory.ts'

export interface CacheLimits {
  /**
   * The staleness bound: no status that was queried longer ago than this is returned, in milliseconds; 0: nothing is cached.
   */
  readonly stalenessMs: number
  /** Monotonic clock, in milliseconds. With a wall clock, setting it back would keep old values alive. */
  readonly now?: () => number
}

export class CachedDirectory implements Directory {
  readonly #directory: Directory
  readonly #iamTokens: StatusCache<TokenStatus>
  readonly #staticTokens: StatusCache<StaticToken | undefined>

  constructor(directory: Directory, limits: CacheLimits) {
    this.#directory = directory
    this.#iamTokens = new StatusCache(limits)
    this.#staticTokens = new StatusCache(limits)
  }

  /** There is no version to compare: this cache has the staleness bound instead. */
  version(): undefined {}

  /** Drops everything. Results of queries in progress are not cached either: they may be from before the change. */
  clear(): void {
    this.#iamTokens.clear()
    this.#staticTokens.clear()
  }

  iamTokenStatus(query: IamTokenQuery): MaybePromise<TokenStatus> {
    const { tokenId, ancestors, subjectId, generation, changeNumber, account, projectId, permissionScopes } =
      query
    const holder = [subjectId, generation, changeNumber, account]
    const key = JSON.stringify([tokenId, ancestors, ...holder, projectId ?? null, permissionScopes])
    return this.#iamTokens.get(key, () => this.#directory.iamTokenStatus(query))
  }

  staticToken(hash: Buffer): MaybePromise<StaticToken | undefined> {
    return this.#staticTokens.get(hash.toString('hex'), () => this.#directory.staticToken(hash))
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

/** Active and inactive tokens have separate limits, so that guessed tokens cannot push genuine ones out of the cache. */
const ACTIVE_MAX = 50_000
const INACTIVE_MAX = 10_000
/** Largest size of each of the two caches. An entry counts as 1 plus its address ranges, of which it can have a thousand. */
const CACHE_SIZE_MAX = 500_000

/**
 * When an entry is refreshed, as fractions of the staleness bound. If the directory does not answer, the refresh is tried
 * twice, and then the entry expires.
 */
const REFRESH_AFTER = 1 / 2
const REFRESH_AGAIN_AFTER = 1 / 4

interface Entry<T> {
  readonly value: T
  readonly queriedAtMs: number
  /** The first call after this time starts another query. */
  refreshAtMs: number
}

interface PendingQuery<T> {
  readonly result: Promise<T>
  readonly queriedAtMs: number
}

/** Caches the results of one kind of query. Calls for the same key share a query that is in progress. */
class StatusCache<T extends TokenStatus | undefined> {
  readonly #stalenessMs: number
  readonly #now: () => number
  readonly #active = lru<T>(ACTIVE_MAX)
  readonly #inactive = lru<T>(INACTIVE_MAX)
  readonly #pending = new Map<string, PendingQuery<T>>()
  #clearedAtMs = Number.NEGATIVE_INFINITY

  constructor({ stalenessMs, now = () => performance.now() }: CacheLimits) {
    this.#stalenessMs = stalenessMs
    this.#now = now
  }

  clear(): void {
    this.#clearedAtMs = this.#now()
  }

  /** Returns a cached value synchronously. Otherwise queries the directory. */
  get(key: string, query: () => MaybePromise<T>): MaybePromise<T> {
    const nowMs = this.#now()
    const cached = this.#active.get(key) ?? this.#inactive.get(key)
    if (cached === undefined || !this.#isFresh(cached.queriedAtMs, nowMs))
      return this.#queryShared(key, query, nowMs)
    if (nowMs >= cached.refreshAtMs) {
      cached.refreshAtMs = nowMs + this.#stalenessMs * REFRESH_AGAIN_AFTER
      // This call does not wait for the refresh. If it fails, the entry expires in time, and a later call gets the error.
      this.#queryShared(key, query, nowMs).catch(() => {})
    }
    return cached.value
  }

  #queryShared(key: string, query: () => MaybePromise<T>, nowMs: number): Promise<T> {
    const pending = this.#pending.get(key)
    if (pending !== undefined && this.#isFresh(pending.queriedAtMs, nowMs)) return pending.result
    return this.#query(key, query, nowMs)
  }

  /** The age of a result counts from the start of its query, because the database may have read it right then. */
  #isFresh(queriedAtMs: number, nowMs: number): boolean {
    return queriedAtMs > this.#clearedAtMs && queriedAtMs > nowMs - this.#stalenessMs
  }

  async #query(key: string, query: () => MaybePromise<T>, queriedAtMs: number): Promise<T> {
    const pending = { result: Promise.resolve(query()), queriedAtMs }
    this.#pending.set(key, pending)
    try {
      const value = await pending.result
      const refreshAtMs = queriedAtMs + this.#stalenessMs * REFRESH_AFTER
      if (this.#isFresh(queriedAtMs, this.#now())) this.#store(key, { value, queriedAtMs, refreshAtMs })
      return value
    } finally {
      // A later query may have replaced this one.
      if (this.#pending.get(key) === pending) this.#pending.delete(key)
    }
  }

  #store(key: string, entry: Entry<T>): void {
    const [cache, otherCache] =
      entry.value?.active === true ? [this.#active, this.#inactive] : [this.#inactive, this.#active]
    otherCache.delete(key)
    cache.set(key, entry)
  }
}

function lru<T extends TokenStatus | undefined>(max: number): LRUCache<string, Entry<T>> {
  return new LRUCache({
    max,
    maxSize: CACHE_SIZE_MAX,
    sizeCalculation: ({ value }) => 1 + (value?.addresses.length ?? 0),
  })
}
