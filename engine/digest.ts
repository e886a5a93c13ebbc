/**
 * The digest that names a matrix: SHA-256 over canonical JSON (RFC 8785). It is computed here, where the
 * rules are compiled, so that a digest never names other rules than those that decide. SHA-256 is our own
 * code, because the engine imports nothing, and the platforms offer SHA-256 as a promise or as a module only.
 */
import type { Steps } from './large.ts'

/** Digest of a JSON value, as `sha256:` and 64 hex digits. @throws TypeError where the value is not JSON. */
export function digestOf(value: unknown): string {
  const digest = new Sha256()
  digest.add(canonicalJson(value))
  return `sha256:${digest.hex()}`
}

/**
 * The same of an object, with a step for each item of its lists.
 *
 * @param shown the part of an object in a list that the digest is over
 * @throws TypeError where the value is not JSON.
 */
export function* digestInSteps(
  value: object,
  shown: (item: object) => object = (item) => item,
): Steps<string> {
  const digest = new Sha256()
  let before = '{'
  for (const [key, member] of membersOf(value)) {
    digest.add(`${before}${canonicalString(key)}:`)
    before = ','
    if (Array.isArray(member)) {
      for (const [index, item] of member.entries()) {
        digest.add(
          `${index === 0 ? '[' : ','}${canonicalJson(typeof item === 'object' && item !== null ? shown(item) : item)}`,
        )
        yield
      }
      digest.add(member.length === 0 ? '[]' : ']')
    } else digest.add(canonicalJson(member))
  }
  digest.add(before === '{' ? '{}' : '}')
  return `sha256:${digest.hex()}`
}

/** Canonical JSON (RFC 8785): keys sorted by UTF-16 code units, no white space. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return canonicalString(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('a number that is not finite has no JSON form')
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object') throw new TypeError(`a value of type ${typeof value} has no JSON form`)
  const members = membersOf(value).map(([key, member]) => `${canonicalString(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}

/** The members that an object has in JSON, in their canonical order. */
function membersOf(value: object): [key: string, member: unknown][] {
  // The default sort compares UTF-16 code units, as RFC 8785 §3.2.3 requires.
  return Object.keys(value)
    .sort()
    .map((key): [string, unknown] => [key, (value as Record<string, unknown>)[key]])
    .filter(([, member]) => member !== undefined)
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('a string with a lone surrogate has no canonical JSON form')
  return JSON.stringify(text)
}

/**
 * The first 32 bits of the fractional parts of the `root`-th roots of the first primes (FIPS 180-4 §4.2.2,
 * §5.3.3).
 */
function primeRoots(count: number, root: 2 | 3): Uint32Array {
  const words = new Uint32Array(count)
  // Survives: `found < count` → `found <= count`. A typed array ignores what is written behind its end.
  for (let candidate = 2, found = 0; found < count; candidate++) {
    let prime = true
    for (let divisor = 2; divisor * divisor <= candidate; divisor++)
      if (candidate % divisor === 0) prime = false
    if (prime) words[found++] = fractionOf(candidate ** (1 / root))
  }
  return words
}

function fractionOf(real: number): number {
  // Survives: `real - Math.floor(real)` → `real + Math.floor(real)`. A word of the array has 32 bits: whole
  // numbers beside the fraction fall away.
  return Math.floor((real - Math.floor(real)) * 2 ** 32)
}

const ROUND_CONSTANTS: ArrayLike<number> = primeRoots(64, 3)
const INITIAL_STATE: ArrayLike<number> = primeRoots(8, 2)

/** SHA-256 over the UTF-8 of texts that come one after the other. */
class Sha256 {
  readonly #state = Uint32Array.from(INITIAL_STATE)
  readonly #schedule = new Uint32Array(64)
  readonly #block = new Uint8Array(64)
  readonly #view = new DataView(this.#block.buffer)
  #length = 0

  /** @param text well-formed, as canonical JSON is */
  add(text: string): void {
    for (let index = 0; index < text.length; index++) {
      const code = text.codePointAt(index) as number
      if (code < 0x80) this.#push(code)
      else if (code < 0x800) {
        this.#push(0xc0 | (code >> 6))
        this.#push(0x80 | (code & 63))
      } else {
        if (code < 0x10000) this.#push(0xe0 | (code >> 12))
        else {
          index++
          this.#push(0xf0 | (code >> 18))
          this.#push(0x80 | ((code >> 12) & 63))
        }
        this.#push(0x80 | ((code >> 6) & 63))
        this.#push(0x80 | (code & 63))
      }
    }
  }

  /** Ends the message. */
  hex(): string {
    const length = this.#length
    this.#push(0x80)
    while (this.#length % 64 !== 56) this.#push(0)
    this.#view.setUint32(56, Math.floor(length / 2 ** 29))
    this.#view.setUint32(60, length << 3)
    compress(this.#state, this.#schedule, this.#view)
    return Array.from(this.#state, (word) => word.toString(16).padStart(8, '0')).join('')
  }

  #push(byte: number): void {
    this.#block[this.#length++ & 63] = byte
    if ((this.#length & 63) === 0) compress(this.#state, this.#schedule, this.#view)
  }
}

const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

/** One block of FIPS 180-4 §6.2.2. Indexes are in range by construction, hence the casts. */
function compress(state: Uint32Array, schedule: Uint32Array, view: DataView): void {
  const w = schedule as unknown as number[]
  for (let t = 0; t < 16; t++) w[t] = view.getUint32(t * 4)
  // Survives: `t < 64` → `t <= 64`. A typed array ignores what is written behind its end.
  for (let t = 16; t < 64; t++) {
    const w15 = w[t - 15] as number
    const w2 = w[t - 2] as number
    const sigma0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3)
    const sigma1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10)
    w[t] = (w[t - 16] as number) + sigma0 + (w[t - 7] as number) + sigma1
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  for (let t = 0; t < 64; t++) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + sum1 + ((e & f) ^ (~e & g)) + (ROUND_CONSTANTS[t] as number) + (w[t] as number)) | 0
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  const worked = [a, b, c, d, e, f, g, h]
  // Survives: `i < 8` → `i <= 8`. A typed array ignores what is written behind its end.
  for (let i = 0; i < 8; i++) state[i] = (state[i] as number) + (worked[i] as number)
}
