/** A bounded cache of the most recently used values that takes no memory before its first entry. */
import { LRUCache } from 'lru-cache'

/**
 * An `LRUCache` that is created at its first entry. `LRUCache` allocates the space for all entries at once,
 * which is several megabytes, and many sidecars never see a static token or a failed login.
 */
export class LazyLruCache<Value extends object> {
  readonly #max: number
  #cache: LRUCache<string, Value> | undefined

  /** @param max most values in the cache; the least recently used one is dropped first */
  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#cache?.size ?? 0
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
