/**
 * Single calls of gRPC over our own HTTP/2. A command makes one or two of them: grpc-js would take a tenth of
 * a second to load, and Node's HTTP/2 as long as Node. Errors are those that the client makes of an error of
 * grpc-js.
 */
import { connect as connectSocket, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { PortcullisError } from '../../clients/typescript/error.ts'
import { parseAddress } from '../base/address.ts'
import {
  type Answer,
  AnswerTooLong,
  ClientConnection,
  StreamReset,
} from '../transports/http2/client-connection.ts'
import type { Tls } from './tls.ts'

/** Bytes before a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5

/** The longest answer, in bytes, as the client takes it. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Longest time that a timer of Node takes, in milliseconds. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** Longest time that gRPC writes in milliseconds: eight digits. */
const TIMEOUT_MS_MAX = 99_999_999

/** Codes of gRPC's statuses. */
const [OK, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE] = [0, 2, 4, 8, 13, 14]

export interface Line {
  /** `HOST:PORT` or `unix:PATH`. */
  readonly address: string
  readonly tls: Tls | undefined
  readonly deadlineMs: number
  /** The secrets that say who asks, as those of a client. */
  readonly callerToken?: string
  readonly iamToken?: string
}

/** A connection, which opens at the first call. */
export class UnaryCalls {
  readonly #line: Line
  #opening: Promise<ClientConnection> | undefined
  #connection: ClientConnection | undefined
  #isClosed = false

  constructor(line: Line) {
    this.#line = line
  }

  /**
   * @param path `/package.Service/Method`
   * @returns the message of the answer
   * @throws PortcullisError if there is none
   */
  async call(path: string, message: Uint8Array): Promise<Buffer> {
    const { address, deadlineMs, callerToken, iamToken } = this.#line
    const prefix = Buffer.alloc(PREFIX_BYTES)
    prefix.writeUInt32BE(message.length, 1)
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Late()), Math.min(deadlineMs, TIMER_MS_MAX))
    try {
      const asked = this.#opened().then((connection) =>
        connection.request(
          [
            [':method', 'POST'],
            [':scheme', this.#line.tls === undefined ? 'http' : 'https'],
            [':authority', address.startsWith('unix:') ? 'localhost' : address],
            [':path', path],
            ['content-type', 'application/grpc'],
            ['te', 'trailers'],
            ['grpc-timeout', `${Math.min(Math.ceil(deadlineMs), TIMEOUT_MS_MAX)}m`],
            ...(callerToken === undefined ? [] : [['authorization', `Bearer ${callerToken}`] as const]),
            ...(iamToken === undefined ? [] : [['x-auth-token', iamToken] as const]),
          ],
          Buffer.concat([prefix, message]),
        ),
      )
      return messageIn(await Promise.race([asked, late.promise]), this.#line)
    } catch (error) {
      if (error instanceof PortcullisError) throw error
      const status = statusOf(error as Error, this.#connection?.isEstablished === true)
      throw new PortcullisError({ ...status, message: status.details }, this.#line)
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#connection?.fail(new Error('the connection was closed'))
  }

  /** Calls at the same time share one connection. */
  #opened(): Promise<ClientConnection> {
    this.#opening ??= socketTo(this.#line).then((socket) => {
      this.#connection = new ClientConnection(socket, ANSWER_BYTES_MAX)
      if (this.#isClosed) this.close()
      return this.#connection
    })
    return this.#opening
  }
}

/** The status of a call without an answer. The client makes its errors of the words of grpc-js. */
function statusOf(cause: Error, isEstablished: boolean): { readonly code: number; readonly details: string } {
  if (cause instanceof Late) return { code: DEADLINE_EXCEEDED, details: '' }
  const details = causeText(cause)
  if (cause instanceof AnswerTooLong) return { code: RESOURCE_EXHAUSTED, details }
  if (cause instanceof StreamReset) return { code: cause.wasRefused ? UNAVAILABLE : INTERNAL, details }
  if (/\b(ENOTFOUND|EAI_\w+)\b/.test(details))
    return { code: UNAVAILABLE, details: `Name resolution failed: ${details}` }
  if (isEstablished) return { code: UNAVAILABLE, details }
  return { code: UNAVAILABLE, details: `No connection established. Last error: ${details}` }
}

/** The deadline has passed. */
class Late extends Error {}

/** The error of a host with several addresses has no text, only a code: each address has an error inside. */
function causeText(error: Error | undefined): string {
  const { code = '', message = '' } = (error ?? {}) as NodeJS.ErrnoException
  return message.includes(code) ? message : `${code} ${message}`
}

/** A listener on every address of this machine is reached at loopback. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

async function socketTo({ address, tls }: Line): Promise<Duplex> {
  const to = parseAddress('address', address)
  if (to.type === 'unix') return connectSocket(to.path)
  const host = LOOPBACK[to.host] ?? to.host
  if (tls === undefined) return connectSocket({ host, port: to.port })
  const { connect } = await import('node:tls')
  const { ca, certificate: cert, key, serverName } = tls
  const servername = serverName ?? (isIP(host) ? undefined : host)
  const socket = connect({
    ...{ host, port: to.port, ca, cert, key, ALPNProtocols: ['h2'], rejectUnauthorized: true },
    ...(servername !== undefined && { servername }),
  })
  socket.once('secureConnect', () => {
    if (socket.alpnProtocol !== 'h2') socket.destroy(new Error('Protocol error: the server has no HTTP/2'))
  })
  return socket
}

/** The message of an answer. @throws PortcullisError */
function messageIn({ fields, body }: Answer, line: Line): Buffer {
  const fail = (code: number, details: string) => {
    const bytes = Buffer.from(fields.get('grpc-status-details-bin') ?? '', 'base64')
    const metadata = { get: () => (bytes.length > 0 ? [bytes] : []) }
    return new PortcullisError({ code, details, message: details, metadata }, line)
  }
  const status = fields.get('grpc-status')
  if (status === undefined)
    throw fail(UNKNOWN, `expected an answer of gRPC, found one of HTTP with status ${fields.get(':status')}`)
  if (Number(status) !== OK) throw fail(Number(status), unescaped(fields.get('grpc-message') ?? ''))
  const length = body.length < PREFIX_BYTES ? -1 : body.readUInt32BE(1)
  if (body[0] !== 0 || body.length !== PREFIX_BYTES + length)
    throw fail(INTERNAL, 'expected one message in the answer, not compressed')
  return body.subarray(PREFIX_BYTES)
}

/** gRPC encodes a message in percent. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
