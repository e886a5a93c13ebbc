/** The Huffman code of RFC 7541, §5.2: strings of header fields in fewer bits. */

/**
 * How many bits the code of each octet has (RFC 7541, appendix B); the last one is the end of the string
 * (EOS). The code is canonical: among codes of the same length, and from shorter to longer ones, codes
 * increase with their octet. So the lengths say everything.
 */
const CODE_BITS = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28],
  ...[28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6],
  ...[
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
  ],
  ...[8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7],
  ...[15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24],
  ...[23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23],
  ...[23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26],
  ...[26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20],
  ...[21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27],
  ...[27, 27, 26, 30],
]

const EOS = 256

/** The decoder reads four bits at a time. */
const STEP_BITS = 4
const STEPS = 1 << STEP_BITS

/**
 * A step of the decoder: the next state, and what it found. The octet, if any, is in the lowest eight bits.
 */
const OCTET_FOUND = 1 << 8
const FAILED = 1 << 9
const STATE_SHIFT = 10

/** Longest padding, in bits (§5.2). */
const PADDING_BITS_MAX = 7

interface Tables {
  readonly codes: Float64Array
  /** By state and four bits. */
  readonly steps: Uint32Array
  /** By state: whether a string may end there, because the bits since the last octet are padding. */
  readonly mayEnd: Uint8Array
}

let tables: Tables | undefined

/** Made at the first use: few servers ever see a string in this code before they have answered many calls. */
function loaded(): Tables {
  tables ??= makeTables()
  return tables
}

function makeTables(): Tables {
  const codes = new Float64Array(CODE_BITS.length)
  const bitsOf = (symbol: number) => CODE_BITS[symbol] as number
  const symbols = [...CODE_BITS.keys()].sort((a, b) => bitsOf(a) - bitsOf(b) || a - b)
  let code = -1
  let length = 0
  for (const symbol of symbols) {
    code = (code + 1) * 2 ** (length === 0 ? 0 : bitsOf(symbol) - length)
    length = bitsOf(symbol)
    codes[symbol] = code
  }
  return { codes, ...decoderOf(codes) }
}

/**
 * The tree of the code: an inner node has two children; the children that are octets are stored as ~octet.
 */
function treeOf(codes: Float64Array): number[][] {
  const nodes: number[][] = [[]]
  for (const [symbol, bits] of CODE_BITS.entries()) {
    let node = nodes[0] as number[]
    for (let bit = bits - 1; bit >= 0; bit--) {
      const side = Math.floor((codes[symbol] as number) / 2 ** bit) % 2
      if (bit === 0) node[side] = ~symbol
      else {
        if (node[side] === undefined) node[side] = nodes.push([]) - 1
        node = nodes[node[side] as number] as number[]
      }
    }
  }
  return nodes
}

function decoderOf(codes: Float64Array): Pick<Tables, 'steps' | 'mayEnd'> {
  const nodes = treeOf(codes)
  const steps = new Uint32Array(nodes.length * STEPS)
  for (let state = 0; state < nodes.length; state++)
    for (let bits = 0; bits < STEPS; bits++) steps[state * STEPS + bits] = stepOf(nodes, state, bits)
  const mayEnd = new Uint8Array(nodes.length)
  // Padding is the beginning of the code of EOS, which has ones alone.
  let state = 0
  for (let bits = 0; bits <= PADDING_BITS_MAX; bits++) {
    mayEnd[state] = 1
    state = (nodes[state] as number[])[1] as number
  }
  return { steps, mayEnd }
}

/** Four bits contain at most one octet, because the shortest code has five. */
function stepOf(nodes: readonly number[][], state: number, bits: number): number {
  let node = state
  let found = 0
  for (let bit = STEP_BITS - 1; bit >= 0; bit--) {
    const next = (nodes[node] as number[])[(bits >> bit) & 1] as number
    if (next >= 0) node = next
    else if (~next === EOS) return FAILED
    else {
      found = OCTET_FOUND | ~next
      node = 0
    }
  }
  return (node << STATE_SHIFT) | found
}

let scratch = Buffer.alloc(0)

/**
 * Decodes a string. Its octets become characters one to one.
 *
 * @returns undefined if the bytes contain EOS, or padding that is too long or no beginning of EOS
 */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string | undefined {
  const { steps, mayEnd } = loaded()
  // No code is shorter than five bits.
  const lengthMax = Math.floor(((end - start) * 8) / 5)
  if (scratch.length < lengthMax) scratch = Buffer.allocUnsafeSlow(Math.max(lengthMax, 1024))
  let length = 0
  let state = 0
  for (let at = start; at < end; at++) {
    const octet = bytes[at] as number
    const high = steps[state * STEPS + (octet >> STEP_BITS)] as number
    if (high & OCTET_FOUND) scratch[length++] = high
    const low = steps[(high >> STATE_SHIFT) * STEPS + (octet & (STEPS - 1))] as number
    if ((high | low) & FAILED) return undefined
    if (low & OCTET_FOUND) scratch[length++] = low
    state = low >> STATE_SHIFT
  }
  return mayEnd[state] === 1 ? scratch.toString('latin1', 0, length) : undefined
}

/** How many bytes the encoded string has. */
export function huffmanLength(text: string): number {
  let bits = 0
  for (let at = 0; at < text.length; at++) bits += CODE_BITS[text.charCodeAt(at)] as number
  return Math.ceil(bits / 8)
}

/** Encodes a string whose characters are octets. @returns the position after the last byte written */
export function encodeHuffman(text: string, into: Uint8Array, start: number): number {
  const { codes } = loaded()
  let at = start
  // At most seven bits are left over, and a code has at most thirty: more than the integer operators have
  // room for.
  let held = 0
  let heldBits = 0
  for (let index = 0; index < text.length; index++) {
    const octet = text.charCodeAt(index)
    const bits = CODE_BITS[octet] as number
    held = held * 2 ** bits + (codes[octet] as number)
    heldBits += bits
    while (heldBits >= 8) {
      heldBits -= 8
      const high = Math.floor(held / 2 ** heldBits)
      into[at++] = high
      held -= high * 2 ** heldBits
    }
  }
  if (heldBits > 0) into[at++] = (held << (8 - heldBits)) | (0xff >> heldBits)
  return at
}
