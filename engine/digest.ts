/**
 * The digest that names a matrix: SHA-256 over canonical JSON (RFC 8785). It is computed here, where the rules are
 * compiled, so that a digest never names other rules than those that decide. SHA-256 is our own code, because the engine
 * imports nothing, and the platforms offer SHA-256 as a promise or as a module only.
 */

/** Digest of a JSON value, as `sha256:` and 64 hex digits. @throws TypeError where the value is not JSON. */
export function digestOf(value: unknown): string {
  return `sha256:${sha256Hex(utf8(canonicalJson(value)))}`
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
  const members: string[] = []
  // The default sort compares UTF-16 code units, which is what RFC 8785 §3.2.3 asks for.
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key]
    if (member !== undefined) members.push(`${canonicalString(key)}:${canonicalJson(member)}`)
  }
  return `{${members.join(',')}}`
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('a string with a lone surrogate has no canonical JSON form')
  return JSON.stringify(text)
}

function utf8(text: string): Uint8Array {
  // A UTF-16 code unit never needs more than three bytes.
  const bytes = new Uint8Array(text.length * 3)
  let length = 0
  const push = (byte: number) => {
    bytes[length++] = byte
  }
  for (let index = 0; index < text.length; index++) {
    const code = text.codePointAt(index) as number
    if (code < 0x80) push(code)
    else if (code < 0x800) {
      push(0xc0 | (code >> 6))
      push(0x80 | (code & 63))
    } else {
      if (code < 0x10000) push(0xe0 | (code >> 12))
      else {
        index++
        push(0xf0 | (code >> 18))
        push(0x80 | ((code >> 12) & 63))
      }
      push(0x80 | ((code >> 6) & 63))
      push(0x80 | (code & 63))
    }
  }
  return bytes.subarray(0, length)
}

/** The first 32 bits of the fractional parts of the `root`-th roots of the first primes (FIPS 180-4 §4.2.2, §5.3.3). */
function primeRoots(count: number, root: 2 | 3): Uint32Array {
  const words = new Uint32Array(count)
  for (let candidate = 2, found = 0; found < count; candidate++) {
    let prime = true
    for (let divisor = 2; divisor * divisor <= candidate; divisor++)
      if (candidate % divisor === 0) prime = false
    if (prime) words[found++] = fractionOf(candidate ** (1 / root))
  }
  return words
}

function fractionOf(real: number): number {
  return Math.floor((real - Math.floor(real)) * 2 ** 32)
}

const ROUND_CONSTANTS: ArrayLike<number> = primeRoots(64, 3)
const INITIAL_STATE: ArrayLike<number> = primeRoots(8, 2)

function sha256Hex(message: Uint8Array): string {
  const blocks = new Uint8Array(((message.length + 8) >> 6) * 64 + 64)
  blocks.set(message)
  blocks[message.length] = 0x80
  const view = new DataView(blocks.buffer)
  view.setUint32(blocks.length - 8, Math.floor(message.length / 2 ** 29))
  view.setUint32(blocks.length - 4, message.length << 3)

  const state = Uint32Array.from(INITIAL_STATE)
  const schedule = new Uint32Array(64)
  for (let offset = 0; offset < blocks.length; offset += 64) compress(state, schedule, view, offset)
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

/** One block of FIPS 180-4 §6.2.2. Indexes are in range by construction, hence the casts. */
function compress(state: Uint32Array, schedule: Uint32Array, view: DataView, offset: number): void {
  const w = schedule as unknown as number[]
  for (let t = 0; t < 16; t++) w[t] = view.getUint32(offset + t * 4)
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
  for (let i = 0; i < 8; i++) state[i] = (state[i] as number) + (worked[i] as number)
}
