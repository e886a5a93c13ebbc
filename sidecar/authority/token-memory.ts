/**
 * The findings about tokens, by the SHA-256 of each. It has as many as stated, in any order of their use. A
 * token that was used since the last look stays, and another one gives its place to the next (the clock
 * algorithm). No part takes long to grow, and none takes memory before its first token.
 */
import { getHeapStatistics } from 'node:v8'

/** The most memory that a remembered token takes, and the part of the memory that all of a kind may take. */
const REMEMBERED_BYTES = 1_024
const MEMORY_SHARE = 1 / 16
const REMEMBERED_MAX_LEAST = 50_000

/** V8's limit for the heap is made for the machine or the container. */
export function rememberedByMemory(): number {
  const bytes = getHeapStatistics().heap_size_limit * MEMORY_SHARE
  return Math.max(REMEMBERED_MAX_LEAST, Math.floor(bytes / REMEMBERED_BYTES))
}

/** A digest in base64 begins with one of 64 characters, each as often as the others. */
const FIRST = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const PART_OF = new Uint8Array(128)
for (const [part, character] of [...FIRST].entries()) PART_OF[character.charCodeAt(0)] = part

/** Most places that are looked at for one that was not used. After that, one that was used is given away. */
const LOOKS_MAX = 64

interface Place<Value> {
  readonly digest: string
  /** `undefined`: it was deleted. */
  value: Value | undefined
  used: boolean
}

export class TokenMemory<Value extends object> {
  readonly #max: number
  readonly #onForgotten: (digest: string, value: Value) => void
  /** The places by digest. A large map would take long to grow. */
  #parts: Map<string, Place<Value>>[] = []
  readonly #places: Place<Value>[] = []
  /** The place that is looked at next. */
  #hand = 0

  /**
   * @param max most tokens that are remembered
   * @param onForgotten called for each that makes room for another
   */
  constructor(max: number, onForgotten: (digest: string, value: Value) => void = () => {}) {
    this.#max = Math.max(1, max)
    this.#onForgotten = onForgotten
  }

  get size(): number {
    let size = 0
    for (const part of Object.values(this.#parts)) size += part.size
    return size
  }

  /** @param digest SHA-256 of the token, in base64 */
  get(digest: string): Value | undefined {
    const place = this.#parts[PART_OF[digest.charCodeAt(0)] as number]?.get(digest)
    if (place === undefined) return undefined
    place.used = true
    return place.value
  }

  set(digest: string, value: Value): void {
    const index = PART_OF[digest.charCodeAt(0)] as number
    const part = this.#parts[index] ?? new Map<string, Place<Value>>()
    this.#parts[index] = part
    const known = part.get(digest)
    if (known !== undefined) {
      known.value = value
      known.used = true
      return
    }
    const place = { digest, value, used: false }
    part.set(digest, place)
    if (this.#places.length < this.#max) this.#places.push(place)
    else this.#places[this.#freed()] = place
  }

  delete(digest: string): void {
    const part = this.#parts[PART_OF[digest.charCodeAt(0)] as number]
    const place = part?.get(digest)
    if (place === undefined) return
    part?.delete(digest)
    place.value = undefined
    place.used = false
  }

  clear(): void {
    this.#parts = []
    this.#places.length = 0
    this.#hand = 0
  }

  /** The index of a place whose token is forgotten. */
  #freed(): number {
    const places = this.#places
    let index = this.#hand
    for (let look = 0; look < LOOKS_MAX; look++) {
      const place = places[index] as Place<Value>
      if (!place.used) break
      place.used = false
      index = index + 1 < places.length ? index + 1 : 0
    }
    this.#hand = index + 1 < places.length ? index + 1 : 0
    const { digest, value } = places[index] as Place<Value>
    if (value !== undefined) {
      this.#parts[PART_OF[digest.charCodeAt(0)] as number]?.delete(digest)
      this.#onForgotten(digest, value)
    }
    return index
  }
}
