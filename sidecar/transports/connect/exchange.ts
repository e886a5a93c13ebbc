/** A request of HTTP with its answer: the common part of calls over HTTP in all protocols. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LimitFunction } from 'p-limit'
import type { IpAddress } from '../../base/ip-address.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Budget } from '../../base/net/buffer-budget.ts'
import { carrierOf, valuesOf } from '../../base/net/http-request.ts'
import { SHORT_BYTES, type Turns } from '../../base/turns.ts'
import {
  type CallContext,
  type ClientConnection,
  STATUS,
  StatusError,
  type StatusOf,
} from '../../contract/call.ts'
import { DEADLINE_EXCEEDED, TIMER_MS_MAX } from '../faults.ts'
import type { Descriptors, JsonCodec } from './json-codec.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Header fields of every answer: names in small letters and values, in turn. */
  readonly fields: readonly string[]
  /** Of the client; `undefined`: none is known. */
  readonly address: IpAddress | undefined
  readonly requestId: string
  /** SHA-256 of the secret of its session; `undefined`: it has none. */
  readonly session?: Buffer | undefined
  /** The requests of the call may arrive for as long as it lasts, and its client may be silent meanwhile. */
  readonly mayLast: () => void
}

export interface Settings {
  readonly maxMessageBytes: number
  /** Bytes of requests in flight of all calls. */
  readonly budget: Budget
  /** How long a message of a stream may take to arrive, in milliseconds. */
  readonly requestMs: number
  /** How long a client may leave answers unread, in milliseconds. */
  readonly readerMs: number
  readonly descriptors: Descriptors
  /** For long requests in JSON: to read one takes milliseconds. */
  readonly turns: Turns
  /**
   * Long requests in JSON are worked on a few at a time: each takes several times its bytes until it is
   * answered.
   */
  readonly longBodies: LimitFunction
  /** Says how a call ends whose handler has thrown. */
  readonly statusOf: StatusOf
}

/** The object of each connection, which all of its calls have in common. */
const CONNECTIONS = new WeakMap<object, ClientConnection>()

/** The facts that a handler may know of the call. */
export class HttpContext implements CallContext {
  readonly connection: ClientConnection
  readonly requestId: string
  readonly session: Buffer | undefined
  readonly #request: IncomingMessage

  constructor({ request, address, requestId, session }: Exchange) {
    this.connection = connectionOf(request, address)
    this.requestId = requestId
    this.session = session
    this.#request = request
  }

  metadata(name: string): readonly string[] {
    return valuesOf(this.#request, name)
  }
}

function connectionOf(request: IncomingMessage, address: IpAddress | undefined): ClientConnection {
  const carrier = carrierOf(request)
  const known = CONNECTIONS.get(carrier)
  // Behind a proxy, the clients of one connection differ.
  if (known !== undefined && known.address === address) return known
  const connection: ClientConnection = { protocol: 'http', address, certificateNames: [] }
  CONNECTIONS.set(carrier, connection)
  return connection
}

/** Where the request of a call comes from, and how much of one turn of the event loop it may take. */
interface Sender {
  readonly connection: ClientConnection
  readonly turns: Turns
  /** Whether the client no longer waits for the call. */
  readonly isOver: () => boolean
}

/**
 * A request as the bytes that handlers read: in turns, if it is long JSON.
 *
 * @param json `undefined`: it has these bytes already
 */
export function requestOf(read: Buffer, json: JsonCodec | undefined, sender: Sender): MaybePromise<Buffer> {
  if (json === undefined) return read
  const bytes = withoutMark(read)
  if (bytes.length <= SHORT_BYTES) return json.read(bytes)
  if (json.readInSteps !== undefined) return inTurns(json.readInSteps(bytes), sender)
  return sender.turns.run(sender.connection, () => json.read(bytes))
}

/** Some programs begin every text in UTF-8 with this mark (RFC 8259, section 8.1). */
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

function withoutMark(json: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK
  return json.subarray(0, length).equals(BYTE_ORDER_MARK) ? json.subarray(length) : json
}

/** How long a part of a request is read before others have their turn, in milliseconds. */
const SLICE_MS = 0.25

async function inTurns(
  steps: Generator<undefined, Buffer, undefined>,
  { connection, turns, isOver }: Sender,
): Promise<Buffer> {
  for (let goesOn = false; !isOver(); goesOn = true) {
    const read = await turns.run(connection, () => slice(steps), goesOn)
    if (read !== undefined) return read
  }
  throw CANCELLED
}

function slice(steps: Generator<undefined, Buffer, undefined>): Buffer | undefined {
  const endsMs = performance.now() + SLICE_MS
  do {
    const step = steps.next()
    if (step.done === true) return step.value
  } while (performance.now() < endsMs)
  return undefined
}

const CANCELLED = new StatusError({ code: STATUS.CANCELLED, message: 'the call has ended' })

/** Most bytes of a request of the call. */
export function bytesMaxOf({ maxMessageBytes }: Settings, json: JsonCodec | undefined): number {
  return Math.min(maxMessageBytes, json?.bytesMax ?? maxMessageBytes)
}

/** Ends a call at its deadline. @returns a function that stops the timer */
export function atDeadline(timeoutMs: number, fail: (error: StatusError) => void): () => void {
  if (timeoutMs > TIMER_MS_MAX) return () => {}
  const timer = setTimeout(() => fail(DEADLINE_EXCEEDED), Math.ceil(timeoutMs))
  return () => clearTimeout(timer)
}

/** Code of HTTP/2 for a request that is given up. */
const CANCEL = 8

/** Gives up a client that does not read its answer for this time. @returns a function that ends the wait */
export function awaitReader(response: ServerResponse, readerMs: number): () => void {
  const leave = () => {
    const { stream } = response as { stream?: { close(code: number): void } }
    // Of a request of HTTP/2 that ends without a code, the client would take the part that it has for the
    // whole answer.
    if (stream === undefined) response.destroy()
    else stream.close(CANCEL)
  }
  // Node's own timer begins anew with each part that leaves, also where the answer is a single one.
  response.setTimeout(readerMs, leave)
  return () => response.off('timeout', leave).setTimeout(0)
}

/** Too many bytes of requests wait for their rest or for their answers. */
export const OVERLOADED = new StatusError({
  code: STATUS.RESOURCE_EXHAUSTED,
  message: 'the requests in flight hold too much memory; try again later',
})

/** Milliseconds; no header: no deadline. @throws StatusError */
export function connectTimeoutOf(request: IncomingMessage): number {
  const value = request.headers['connect-timeout-ms']
  if (value === undefined) return Number.POSITIVE_INFINITY
  if (typeof value === 'string' && /^\d{1,10}$/.test(value)) return Number(value)
  throw new StatusError({
    code: STATUS.INVALID_ARGUMENT,
    message: 'connect-timeout-ms: expected up to ten digits',
  })
}

/** The only version of Connect's protocol. @throws StatusError for another one */
export function expectVersion(request: IncomingMessage): void {
  const version = request.headers['connect-protocol-version']
  if (version === undefined || version === '1') return
  throw new StatusError({ code: STATUS.INVALID_ARGUMENT, message: 'connect-protocol-version: expected 1' })
}

/**
 * Whether messages may be compressed.
 *
 * @param header names the encoding
 * @throws StatusError for an unknown one
 */
export function isGzip(request: IncomingMessage, header: string): boolean {
  const encoding = request.headers[header]
  if (encoding === undefined || encoding === 'identity') return false
  if (encoding === 'gzip') return true
  throw new StatusError({ code: STATUS.UNIMPLEMENTED, message: `${header}: expected identity or gzip` })
}
