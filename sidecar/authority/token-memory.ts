/**
 * The findings about tokens, by the SHA-256 of each, for the ones used last. It has room for many: each
 * of its parts is small, so none takes long to grow, and none takes memory before its first token.
 *
 * A part has two generations. A used entry moves to the young one. When that is full, it becomes the old one,
 * and the entries of the old one are forgotten: they were not used while as many others were.
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

interface Part<Value> {
  young: Map<string, Value>
  old: Map<string, Value>
}

export class TokenMemory<Value extends object> {
  readonly #generationMax: number
  #parts: Part<Value>[] = []

  /** @param max most tokens that are remembered; at least half as many, the ones used last, always are */
  constructor(max: number) {
    this.#generationMax = Math.max(1, Math.floor(max / FIRST.length / 2))
  }

  get size(): number {
    let size = 0
    for (const { young, old } of Object.values(this.#parts)) size += young.size + old.size
    return size
  }

  /** @param digest SHA-256 of the token, in base64 */
  get(digest: string): Value | undefined {
    const part = this.#parts[PART_OF[digest.charCodeAt(0)] as number]
    if (part === undefined) return undefined
    const young = part.young.get(digest)
    if (young !== undefined) return young
    const old = part.old.get(digest)
    if (old !== undefined) {
      part.old.delete(digest)
      this.#add(part, digest, old)
    }
    return old
  }

  set(digest: string, value: Value): void {
    const index = PART_OF[digest.charCodeAt(0)] as number
    const part = this.#parts[index] ?? { young: new Map(), old: new Map() }
    this.#parts[index] = part
    part.old.delete(digest)
    this.#add(part, digest, value)
  }

  delete(digest: string): void {
    const { young, old } = this.#parts[PART_OF[digest.charCodeAt(0)] as number] ?? {}
    young?.delete(digest)
    old?.delete(digest)
  }

  clear(): void {
    this.#parts = []
  }

  #add(part: Part<Value>, digest: string, value: Value): void {
    if (part.young.size >= this.#generationMax && !part.young.has(digest)) {
      part.old = part.young
      part.young = new Map()
    }
    part.young.set(digest, value)
  }
}
