/** What was used most recently, up to a bound; nothing is taken for it before there is something to remember. */
import { LRUCache } from 'lru-cache'

/**
 * An `LRUCache` made at its first entry: it makes room for all entries at once, several megabytes of them, and many a
 * sidecar sees no token of one form, or no failed login.
 */
export class LazyLruCache<Value extends object> {
  readonly #max: number
  #cache: LRUCache<string, Value> | undefined

  /** @param max how many values are remembered; the least recently used is forgotten first */
  constructor(max: number) {
    this.#max = max
  }

  get(key: string): Value | undefined {
    return this.#cache?.get(key)
  }

  set(key: string, value: Value): void {
    this.#cache ??= new LRUCache({ max: this.#max })
    this.#cache.set(key, value)
  }

  clear(): void {
    this.#cache = undefined
  }

  delete(key: string): void {
    this.#cache?.delete(key)
  }
}
