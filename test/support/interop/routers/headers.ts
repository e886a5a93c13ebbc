/** Spellings of the headers that carry a credential: as programs write them, and as attackers do. */

/** A request whose headers are written byte for byte: each character is one byte. */
export interface RawHeaders {
  /** Header lines without their ends. */
  readonly lines: readonly string[]
  /** Lines behind the last chunk of the body. `undefined`: no body is sent in chunks. */
  readonly trailers?: readonly string[]
}

type Random = (below: number) => number

/**
 * @param tokens some that open an API and some that do not
 * @param random whole numbers below a bound
 */
export function randomHeaders(tokens: readonly string[], random: Random): RawHeaders {
  const one = <T>(from: readonly T[]) => from[random(from.length)] as T
  const around = () => (random(4) === 0 ? one(BLANKS) : '')
  const value = () => {
    const token = random(8) === 0 ? one(VALUES) : one(tokens)
    return random(12) === 0 ? token.toUpperCase() : `${around()}${token}${around()}`
  }
  const credential = () => `${random(3) > 0 ? 'X-Token' : one(NAMES)}:${random(8) > 0 ? ' ' : ''}${value()}`
  const some = (most: number, make: () => string) => Array.from({ length: random(most + 1) }, make)
  const lines = [...some(2, () => one(OTHERS)), ...some(2, credential), ...some(2, () => one(OTHERS))]
  if (random(3) > 0) return { lines: ['Host: a.example', ...lines, 'Content-Length: 0'] }
  lines.splice(random(lines.length + 1), 0, 'Transfer-Encoding: chunked')
  return { lines: ['Host: a.example', ...lines], trailers: some(2, credential) }
}

/** Bytes that some language takes for white space, the ends of lines, and marks. */
const BLANKS = [
  ...[' ', '\t', '  \t', '\v', '\f', '\x1c', '\x1d', '\x1e', '\x1f', '\x85', '\xa0', '\0', '\x7f'],
  ...['\r\n ', '\r\n\t', '\r', ',', ', ', ';', '"'],
]

const NAMES = [
  ...['x-token', 'X-TOKEN', 'X_Token', 'x_token', 'X-Auth-Token', 'X_Auth_Token', 'X-Token\v', 'X.Token'],
  ...['X-Token ', 'X-Token\xa0', 'XToken', 'HTTP_X_TOKEN', 'HTTP-X-Token', 'X--Token'],
]

const VALUES = ['', ' ', 'a b', 'nobody', ',', '\xe9', 'a\r\n b']

const OTHERS = ['Accept: */*', 'X-Other: \xa0', 'X-Empty:', 'Connection: X-Token', 'Trailer: X-Token']

/** The request, as it is sent. */
export function bytesWith({ lines, trailers }: RawHeaders, target: string): Buffer {
  const head = [`${target} HTTP/1.1`, ...lines].join('\r\n')
  const body =
    trailers === undefined ? '' : `2\r\n{}\r\n0\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`
  return Buffer.from(`${head}\r\n\r\n${body}`, 'latin1')
}

/**
 * The headers of a request as RFC 9112 reads them (§5): a folded line goes on behind a space.
 *
 * @returns `undefined` where a line is not a header, which servers refuse
 */
export function headersIn({ lines }: RawHeaders): [name: string, value: string][] | undefined {
  const read: [string, string][] = []
  for (const line of lines) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):([^\0\r]*)$/.exec(line.replace(/\r\n[ \t]+/g, ' ')) ?? []
    if (name === undefined || value === undefined) return undefined
    read.push([name, value])
  }
  return read
}
