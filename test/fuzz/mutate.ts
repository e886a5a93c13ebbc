/** Changes inputs, as AFL and libFuzzer do. The same random numbers make the same changes. */
export type Random = () => number

/** The material of a mutation besides the input. */
export interface Material {
  /** Texts that the reader knows. */
  readonly words: readonly Buffer[]
  /** Texts that were compared and differed: the wanted text takes the place of the other. */
  readonly pairs: readonly (readonly [Buffer, Buffer])[]
  /** Another input. */
  readonly other: Buffer
  readonly bytesMax: number
}

/** Numbers at which readers change their minds. */
const EDGES = [
  ...[0, 1, 0x7f, 0x80, 0xff, 0x100, 0x3fff, 0x4000, 0x7fff, 0x8000, 0xffff, 0x10000],
  ...[0xffffff, 0x7fffffff, 0x80000000, 0xffffffff],
]
const WRITTEN = [
  ...['0', '-1', '-0', '1e999', '0x10', '007', '255', '256', '65536', '2147483648', '4294967296'],
  ...['9007199254740993', '1.5', 'NaN', '\u0000', '\ud83d', 'é', 'ﬀ', '\u200b', '\ufeff', '%00', '%2e%2e'],
]
const WORDS = WRITTEN.map((word) => Buffer.from(word))

/** One to eight changes, small ones more often. */
export function mutated(input: Buffer, random: Random, material: Material): Buffer {
  let bytes: Buffer = Buffer.from(input)
  for (let changes = 1 << Math.floor(random() * random() * 4); changes > 0; changes--)
    bytes = changedOnce(bytes, random, material)
  return bytes.length > material.bytesMax ? bytes.subarray(0, material.bytesMax) : bytes
}

function changedOnce(bytes: Buffer, random: Random, { words, pairs, other }: Material): Buffer {
  const below = (count: number) => Math.floor(random() * count)
  const oneOf = <T>(values: readonly T[]): T => values[below(values.length)] as T
  const { length } = bytes
  const at = below(length + 1)
  const span = () => below(Math.min(length - at, oneOf([1, 2, 4, 16, 64, length])) + 1)
  const spliced = (from: number, until: number, ...between: Buffer[]) =>
    Buffer.concat([bytes.subarray(0, from), ...between, bytes.subarray(until)])

  switch (below(14)) {
    case 0:
      if (at < length) bytes[at] = (bytes[at] as number) ^ (1 << below(8))
      return bytes
    case 1:
      if (at < length) bytes[at] = below(256)
      return bytes
    case 2:
      if (at < length) bytes[at] = (bytes[at] as number) + below(33) - 16
      return bytes
    case 3: {
      const width = oneOf([1, 2, 3, 4])
      if (at + width <= length) bytes.writeUIntBE(oneOf(EDGES) % 2 ** (8 * width), at, width)
      return bytes
    }
    case 4:
      return spliced(at, at + span())
    case 5:
      return spliced(at, at, Buffer.from(Array.from({ length: 1 + below(8) }, () => below(256))))
    case 6:
      return spliced(at, at, bytes.subarray(at, at + span()))
    case 7: {
      const part = bytes.subarray(at, at + span())
      return spliced(at, at, ...Array.from({ length: oneOf([2, 3, 8, 64]) }, () => part))
    }
    case 8:
      return spliced(at, at + (below(2) === 0 ? span() : 0), oneOf(WORDS))
    case 9: {
      const from = below(other.length)
      const part = other.subarray(from, from + 1 + below(other.length - from))
      return spliced(at, at + (below(2) === 0 ? span() : 0), part)
    }
    case 10:
    case 11: {
      if (words.length === 0) return bytes
      const word = oneOf(words)
      return spliced(at, at + (below(2) === 0 ? word.length : 0), word)
    }
    default: {
      if (pairs.length === 0) return bytes
      const [found, wanted] = oneOf(pairs)
      const place = found.length === 0 ? at : bytes.indexOf(found, found.length < length ? below(length) : 0)
      return place < 0 ? bytes : spliced(place, place + found.length, wanted)
    }
  }
}

/**
 * The smallest input that `fails` in the same way: parts are cut out as long as it does, and the rest is
 * written as plainly as possible.
 */
export async function minimised(input: Buffer, fails: (bytes: Buffer) => Promise<boolean>): Promise<Buffer> {
  const end = performance.now() + MINIMISING_MS_MAX
  let tries = 3_000
  let smallest = input
  const kept = async (candidate: Buffer) => {
    if (performance.now() > end) tries = 0
    if (tries-- <= 0 || !(await fails(candidate))) return false
    smallest = candidate
    return true
  }
  for (let size = 2 ** Math.ceil(Math.log2(input.length + 1)); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < smallest.length && tries > 0; ) {
      const cut = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)])
      if (!(await kept(cut))) at += size
    }
  }
  for (let at = 0; at < smallest.length && tries > 0; at++) {
    if (smallest[at] === PLAIN) continue
    const plain = Buffer.from(smallest)
    plain[at] = PLAIN
    await kept(plain)
  }
  return smallest
}

/** A slow or endless input is slow to minimise, too. */
const MINIMISING_MS_MAX = 10_000

/** The letter a. */
const PLAIN = 0x61
