/**
 * In place of `lru-cache`, which takes the space for all its entries at the first one: of 100,000 logins, in
 * a fleet that has some dozens. A cache that gets full throws, because no simulated one may.
 */
import { LRUCache as Real } from 'lru-cache'

const ENTRIES_MAX = 2_000

export class LRUCache<Key extends {}, Value extends {}> extends Real<Key, Value> {
  constructor({ max }: { readonly max: number }) {
    super({
      max: Math.min(max, ENTRIES_MAX),
      dispose: (_value, _key, reason) => {
        if (reason === 'evict' && max > ENTRIES_MAX) throw new Error('a simulated cache is full')
      },
    })
  }
}
