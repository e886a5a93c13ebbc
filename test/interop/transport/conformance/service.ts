/**
 * The service of Connect's conformance suite: it answers as each request says, and repeats what it has seen
 * of the request. It knows no transport.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'
import { Status } from '../../../../proto/gen/google/rpc/status.ts'

/** A name and a value; the value of a `-bin` field is base64. */
export type Field = readonly [name: string, value: string]

/** How a call ends. */
export interface Ending {
  readonly code: number
  readonly message: string
  /** `google.rpc.Status`, encoded. */
  readonly details: Buffer | undefined
  readonly trailers: readonly Field[]
}

/** A call, as any transport can offer it. */
export interface Call {
  readonly metadata: readonly Field[]
  /** The time that is left until the deadline. */
  readonly timeoutMs: number | undefined
  /** The requests as they come; for a method with one request, that one. */
  readonly requests: AsyncIterable<Buffer>
  sendHeaders(fields: readonly Field[]): void
  /** Resolves when more may be sent. */
  send(message: Buffer): Promise<void>
}

/** The wishes of the runner for a server. */
export interface Wishes {
  readonly tls?: { readonly certificate: Buffer; readonly key: Buffer; readonly clientCa: Buffer | undefined }
  readonly maxMessageBytes: number | undefined
}

export type Handler = (call: Call) => Promise<Ending>

export interface Method {
  readonly name: string
  readonly requestStream: boolean
  readonly responseStream: boolean
  readonly handle: Handler
}

/** The fields that all requests have in common, as proto-loader reads them. */
interface Request {
  readonly response_definition: Definition | null
  readonly full_duplex?: boolean
}

interface Definition {
  readonly response_headers: readonly Header[]
  readonly response_trailers: readonly Header[]
  readonly response_delay_ms: number
  readonly response_data: Buffer | readonly Buffer[]
  readonly error: { code: number; message?: string; details: readonly Any[] } | null
}

interface Header {
  readonly name: string
  readonly value: readonly string[]
}

interface Any {
  readonly type_url: string
  readonly value: Buffer
}

const PACKAGE = 'connectrpc.conformance.v1'

/** @param protos folder with the protos of the suite */
export function loadProtos(protos: string) {
  const options = { keepCase: true, longs: Number, defaults: true, includeDirs: [protos] }
  const files = ['service', 'server_compat'].map((name) => `connectrpc/conformance/v1/${name}.proto`)
  const loaded = loadSync(files, options)
  return (name: string) => loaded[`${PACKAGE}.${name}`] as MessageTypeDefinition<object, object>
}

/** Path of the service. */
export const SERVICE = `${PACKAGE}.ConformanceService`

/** The methods of the service, `Unimplemented` excepted. */
export function conformanceMethods(type: ReturnType<typeof loadProtos>): Method[] {
  const kind = (name: string, requestStream: boolean, responseStream: boolean): Method => ({
    name,
    requestStream,
    responseStream,
    handle: (call) => (responseStream ? answerMany : answerOnce)(new Exchange(type, name, call)),
  })
  return [
    kind('Unary', false, false),
    kind('IdempotentUnary', false, false),
    kind('ClientStream', true, false),
    kind('ServerStream', false, true),
    kind('BidiStream', true, true),
  ]
}

/** A call with the types of its messages. */
class Exchange {
  readonly call: Call
  readonly #type: ReturnType<typeof loadProtos>
  readonly #name: string
  /** Requests that no answer has repeated. */
  #seen: Any[] = []
  #answers = 0

  constructor(type: ReturnType<typeof loadProtos>, name: string, call: Call) {
    this.#type = type
    this.#name = name
    this.call = call
  }

  get answers(): number {
    return this.#answers
  }

  async *requests(): AsyncGenerator<Request> {
    for await (const value of this.call.requests) {
      this.#seen.push({ type_url: `type.googleapis.com/${PACKAGE}.${this.#name}Request`, value })
      yield this.#type(`${this.#name}Request`).deserialize(value) as unknown as Request
    }
  }

  /** The facts that were seen of the request. It is repeated once. */
  #info(): object {
    const requests = this.#seen
    this.#seen = []
    if (this.#answers > 0) return { requests }
    const headers = new Map<string, string[]>()
    for (const [name, value] of this.call.metadata) headers.set(name, [...(headers.get(name) ?? []), value])
    const { timeoutMs } = this.call
    return {
      requests,
      request_headers: Array.from(headers, ([name, value]) => ({ name, value })),
      ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
    }
  }

  async send(data: Buffer | undefined, withInfo: boolean): Promise<void> {
    const payload = { ...(data && { data }), ...(withInfo && { request_info: this.#info() }) }
    this.#answers++
    await this.call.send(this.#type(`${this.#name}Response`).serialize({ payload }))
  }

  end(definition: Definition | null): Ending {
    const trailers = fieldsOf(definition?.response_trailers)
    const error = definition?.error
    if (!error) return { code: 0, message: '', details: undefined, trailers }
    const { code, message = '' } = error
    const info = {
      type_url: `type.googleapis.com/${PACKAGE}.ConformancePayload.RequestInfo`,
      value: contentOf(this.#type('ConformancePayload').serialize({ request_info: this.#info() })),
    }
    const details = [...error.details, ...(this.#answers === 0 ? [info] : [])].map(({ type_url, value }) => ({
      typeUrl: type_url,
      value,
    }))
    return {
      code,
      message,
      details: Buffer.from(Status.encode({ code, message, details }).finish()),
      trailers,
    }
  }
}

/**
 * The only field of a message, without its tag and its length: proto-loader does not offer types that are
 * within others.
 */
function contentOf(message: Buffer): Buffer {
  let at = 1
  while ((message[at++] ?? 0) >= 0x80);
  return message.subarray(at)
}

async function answerOnce(exchange: Exchange): Promise<Ending> {
  let definition: Definition | null | undefined
  for await (const request of exchange.requests()) definition ??= request.response_definition
  if (definition) {
    exchange.call.sendHeaders(fieldsOf(definition.response_headers))
    await delay(definition.response_delay_ms)
  }
  if (!definition?.error) await exchange.send(definition?.response_data as Buffer | undefined, true)
  return exchange.end(definition ?? null)
}

async function answerMany(exchange: Exchange): Promise<Ending> {
  let definition: Definition | null | undefined
  let left: Buffer[] = []
  const answer = async (withInfo: boolean) => {
    await delay(definition?.response_delay_ms ?? 0)
    await exchange.send(left.shift(), withInfo)
  }
  let fullDuplex: boolean | undefined
  for await (const request of exchange.requests()) {
    if (definition === undefined) {
      // The first request says how all of them are answered.
      const { response_definition: wanted } = request
      fullDuplex = request.full_duplex
      definition = wanted
      left = [...((wanted?.response_data ?? []) as readonly Buffer[])]
      if (wanted) exchange.call.sendHeaders(fieldsOf(wanted.response_headers))
    }
    if (fullDuplex === true) {
      if (left.length === 0) break
      await answer(true)
    }
  }
  while (left.length > 0) await answer(exchange.answers === 0)
  return exchange.end(definition ?? null)
}

function fieldsOf(headers: readonly Header[] = []): Field[] {
  return headers.flatMap(({ name, value }) => value.map((each) => [name.toLowerCase(), each] as const))
}
