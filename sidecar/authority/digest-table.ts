/**
 * A number for each SHA-256 digest, outside the heap: 20 bytes for both. Of a digest 127 bits count. The
 * table has room for about as many as it says. When it is full, a digest takes the place of another. Each
 * digest may stand in two buckets, so that a part is almost full before it grows. It grows in place: between
 * the arrays that it had left, malloc would keep more memory than the table has.
 */
import { getHeapStatistics } from 'node:v8'

/** Each part grows alone, so none takes long. */
const PARTS = 64
/** Four of the digest, and the number. */
const WORDS = 5
const NUMBER_AT = 4
/** Digests that share a bucket. One may stand in any place of its bucket. */
const BUCKET = 8
const BUCKETS_LEAST = 16
const BYTES = 4 * WORDS
/** The byte of a digest that says its part. The table has those before it. */
const BYTE_OF_PART = 16

/** Room for two million digests, and for less on a small machine. */
const DIGESTS_MAX = 2 ** 21
const MEMORY_SHARE = 1 / 32

/** V8's limit for the heap is made for the machine or the container. */
function digestsByMemory(): number {
  return Math.min(DIGESTS_MAX, (getHeapStatistics().heap_size_limit * MEMORY_SHARE) / BYTES)
}

interface Part {
  readonly buffer: ArrayBuffer
  /** The digests, bucket after bucket. A place whose first word is 0 is free. It is as long as the buffer. */
  readonly words: Uint32Array
  buckets: number
}

export class DigestTable {
  readonly #bucketsMax: number
  #parts: Part[] = []

  /** @param max the number of digests that have room, roughly */
  constructor(max: number = digestsByMemory()) {
    this.#bucketsMax = 2 ** Math.max(0, Math.floor(Math.log2(max / PARTS / BUCKET)))
  }

  /** `undefined`: the table does not have the digest. */
  get(digest: Buffer): number | undefined {
    const part = this.#parts[partOf(digest)]
    if (part === undefined) return undefined
    const place = placeOf(part, wordsOf(digest))
    return place < 0 ? undefined : part.words[place + NUMBER_AT]
  }

  /** @param number from 0 to 2³² − 1 */
  set(digest: Buffer, number: number): void {
    const index = partOf(digest)
    const part = this.#parts[index] ?? emptyPart(this.#bucketsMax)
    this.#parts[index] = part
    const words = wordsOf(digest)
    const known = placeOf(part, words)
    if (known >= 0) {
      part.words[known + NUMBER_AT] = number
      return
    }
    let place = freePlaceOf(part, words)
    while (place < 0 && part.buckets < this.#bucketsMax) {
      grow(part)
      place = freePlaceOf(part, words)
    }
    // In full buckets it is as good as random which one goes.
    if (place < 0) place = startOf(part, words[1]) + (words[3] % BUCKET) * WORDS
    part.words.set(words, place)
    part.words[place + NUMBER_AT] = number
  }

  clear(): void {
    this.#parts = []
  }
}

/** Of a digest: the first is never 0. */
type Words = readonly [first: number, second: number, third: number, fourth: number]

function partOf(digest: Buffer): number {
  return (digest[BYTE_OF_PART] as number) % PARTS
}

function wordsOf(digest: Buffer): Words {
  return [
    (digest.readUInt32LE(0) | 1) >>> 0,
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12),
  ]
}

function emptyPart(bucketsMax: number): Part {
  const buckets = Math.min(BUCKETS_LEAST, bucketsMax)
  const buffer = new ArrayBuffer(buckets * BUCKET * BYTES, { maxByteLength: bucketsMax * BUCKET * BYTES })
  return { buffer, words: new Uint32Array(buffer), buckets }
}

/** Where a bucket of the digest begins: its second word says one, and its third word the other. */
function startOf({ buckets }: Part, word: number): number {
  return (word % buckets) * BUCKET * WORDS
}

/** Where the digest stands; negative: it does not. */
function placeOf(part: Part, words: Words): number {
  const place = placeFrom(part, startOf(part, words[1]), words)
  return place < 0 ? placeFrom(part, startOf(part, words[2]), words) : place
}

function placeFrom({ words: all }: Part, start: number, words: Words): number {
  for (let at = start; at < start + BUCKET * WORDS; at += WORDS)
    if (
      all[at] === words[0] &&
      all[at + 1] === words[1] &&
      all[at + 2] === words[2] &&
      all[at + 3] === words[3]
    )
      return at
  return -1
}

/** A free place in the emptier bucket of a digest; negative: both are full. */
function freePlaceOf(part: Part, words: Words): number {
  const [one, other] = [
    freePlaceFrom(part, startOf(part, words[1])),
    freePlaceFrom(part, startOf(part, words[2])),
  ]
  if (one < 0 || other < 0) return Math.max(one, other)
  return one % (BUCKET * WORDS) <= other % (BUCKET * WORDS) ? one : other
}

/** The places of a bucket are taken one after another. */
function freePlaceFrom(part: Part, start: number): number {
  for (let at = start; at < start + BUCKET * WORDS; at += WORDS) if (part.words[at] === 0) return at
  return -1
}

/** Each bucket becomes two, which have room for its digests: each stays with the same word. */
function grow(part: Part): void {
  const { buffer, words, buckets } = part
  const end = words.length
  const before = { ...part }
  buffer.resize(2 * buffer.byteLength)
  part.buckets = 2 * buckets
  for (let at = 0; at < end; at += WORDS) {
    if (words[at] === 0) continue
    const entry = words.subarray(at, at + WORDS)
    const [, second, third] = entry as unknown as Words
    const bucket = at - (at % (BUCKET * WORDS))
    const start = startOf(part, startOf(before, second) === bucket ? second : third)
    if (start === bucket) continue
    words.set(entry, freePlaceFrom(part, start))
    entry.fill(0)
  }
}
