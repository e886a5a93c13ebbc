/** Connections to servers of others: the common part of their pools. */
import { buildConnector, Pool } from 'undici'

export interface PoolOptions
  extends Pick<Pool.Options, 'headersTimeout' | 'bodyTimeout' | 'maxHeaderSize' | 'maxResponseSize'> {
  /** Most connections, with one request at a time each: a slow answer delays no other one. */
  readonly connections: number
  /** Certificates in PEM; `undefined`: those that Node trusts. */
  readonly ca: string | undefined
  /** How long it may take to connect, in milliseconds. */
  readonly connectMs: number
}

/** Of a request whose answer is read here: nothing here decodes one. */
export const UNCODED = { 'accept-encoding': 'identity' } as const

const CODINGS: ReadonlySet<string> = new Set(['gzip', 'br', 'deflate', 'zstd', 'compress', 'x-gzip'])

/** How the body of an answer is coded, in a word that does not quote it; `undefined`: it is not. */
export function codingOf(contentEncoding: string | readonly string[] | undefined): string | undefined {
  const coding = String(contentEncoding ?? '').toLowerCase()
  if (coding === '' || coding === 'identity') return undefined
  return CODINGS.has(coding) ? coding : 'an unknown coding'
}

export function poolTo(origin: string, { ca, connectMs, ...options }: PoolOptions): Pool {
  const connect = buildConnector({
    timeout: connectMs,
    allowH2: false,
    // Said here, so that no variable of the environment switches the verification off.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca }),
  })
  return new Pool(origin, {
    ...options,
    pipelining: 1,
    allowH2: false,
    connect: (to, done) =>
      connect(to, (...connected) => {
        done(...connected)
        if (connected[1]) readAsSpecified(connected[1])
      }),
  })
}

/** The part of undici that reads answers. */
interface Parser {
  /** Names and values in turn. */
  headers: Buffer[]
  contentLength: number
  onHeadersComplete(status: number, ...rest: unknown[]): number
}

/** An interim answer that undici passes over. */
const EARLY_HINTS = 103

/**
 * The one place that overwrites a private part of undici. It takes a 100 that it did not ask for as the end
 * of the connection, where clients must read over it (RFC 9110, section 15.2), and the blanks after a value
 * as a part of it (RFC 9112, section 5). Without that part, such answers remain errors.
 *
 * @param socket has its parser
 */
function readAsSpecified(socket: object): void {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser')
  const parser = key && (socket as { readonly [key: symbol]: Parser | undefined })[key]
  if (parser?.onHeadersComplete === undefined) return
  const complete = parser.onHeadersComplete
  parser.onHeadersComplete = function (this: Parser, status, ...rest) {
    const { headers } = this
    for (let index = 1; index < headers.length; index += 2) {
      const value = headers[index] as Buffer
      if (!isBlank(value.at(-1))) continue
      const trimmed = withoutBlanks(value)
      headers[index] = trimmed
      if (/^content-length$/i.test(String(headers[index - 1]))) this.contentLength = Number(String(trimmed))
    }
    return complete.call(this, status === 100 ? EARLY_HINTS : status, ...rest)
  }
}

function withoutBlanks(value: Buffer): Buffer {
  let end = value.length
  while (isBlank(value[end - 1])) end--
  return value.subarray(0, end)
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09
}
