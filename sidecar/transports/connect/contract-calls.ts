/**
 * The contract over HTTP: Connect and gRPC-Web, of the same methods that gRPC has. The receiver of the
 * requests is not known here: it passes each one with its path.
 */
import pLimit from 'p-limit'
import { Budget } from '../../base/net/buffer-budget.ts'
import type { Turns } from '../../base/turns.ts'
import { type Method, type Methods, STATUS, StatusError, type StatusOf } from '../../contract/call.ts'
import type { ConnectionBounds } from '../transport.ts'
import { EnvelopedCall } from './enveloped.ts'
import type { Exchange, Settings } from './exchange.ts'
import { CONTENT_TYPES, type Form, formOf } from './form.ts'
import { Descriptors, type JsonCodec } from './json-codec.ts'
import { answerUnary, refuse, sendError } from './unary.ts'

export interface ContractOptions {
  readonly maxMessageBytes: number
  readonly bounds: Pick<ConnectionBounds, 'bufferBytes' | 'requestMs' | 'readerMs'>
  /** Of the messages in JSON; default: those of the contract. */
  readonly descriptors?: Descriptors
  /** Shared with the other protocols. */
  readonly turns: Turns
  /** Says how a call ends whose handler has thrown. */
  readonly statusOf: StatusOf
}

/** A method with its JSON. */
class Served {
  readonly method: Method
  readonly #path: string
  readonly #descriptors: Descriptors
  #json: JsonCodec | undefined

  constructor(path: string, method: Method, descriptors: Descriptors) {
    this.method = method
    this.#path = path
    this.#descriptors = descriptors
  }

  /** `undefined`: it has none. */
  get json(): JsonCodec | undefined {
    this.#json ??= this.#descriptors.codecOf(this.#path)
    return this.#json
  }
}

/** So many long requests in JSON are worked on at a time. The others wait as they came. */
const LONG_BODIES = 2

/** Between two looks whether the calls have ended, in milliseconds. */
const CLOSING_POLL_MS = 20

export class ContractCalls {
  /** `/package.Service/Method` of every method. */
  readonly paths: readonly string[]
  readonly #served: ReadonlyMap<string, Served>
  readonly #settings: Settings
  /** Calls that can last. */
  readonly #open = new Set<EnvelopedCall>()
  #stopping = false

  constructor(
    methods: Methods,
    { maxMessageBytes, bounds, descriptors = new Descriptors(), turns, statusOf }: ContractOptions,
  ) {
    const { bufferBytes, requestMs, readerMs } = bounds
    const budget = new Budget(bufferBytes)
    const longBodies = pLimit(LONG_BODIES)
    const times = { requestMs, readerMs }
    this.#settings = { maxMessageBytes, budget, ...times, descriptors, turns, longBodies, statusOf }
    this.#served = new Map(
      Array.from(methods, ([path, method]) => [path, new Served(path, method, descriptors)]),
    )
    this.paths = [...methods.keys()]
  }

  /** Answers a POST. @param path of a method, or of none in one of the services */
  answer(path: string, exchange: Exchange): void {
    const form = formOf(exchange.request.headers)
    const served = this.#served.get(path)
    if (form === undefined || (served !== undefined && !fits(served, form)))
      refuse(exchange, 415, `Content-Type: expected one of ${typesFor(served)}`, this.#settings, [
        'accept-post',
        typesFor(served),
      ])
    else if (form.enveloped && !isUncoded(exchange.request))
      refuse(exchange, 415, 'Content-Encoding: expected none around a stream of messages', this.#settings)
    else if (served === undefined) this.#refuseUnknown(exchange, form)
    else if (served.method.type === 'bidi' && exchange.request.httpVersionMajor === 1)
      refuse(exchange, 505, 'expected HTTP/2, which has streams in both directions', this.#settings)
    else this.#answer(served, exchange, form)
  }

  /** Lets calls end for up to `drainMs`, then ends them. */
  async close(drainMs: number): Promise<void> {
    this.#stopping = true
    const untilMs = performance.now() + drainMs
    while (this.#open.size > 0 && performance.now() < untilMs)
      await new Promise((resolve) => setTimeout(resolve, CLOSING_POLL_MS))
    for (const call of this.#open) call.stop()
  }

  #answer(served: Served, exchange: Exchange, form: Form): void {
    const { method } = served
    const codec = form.codec === 'json' ? served.json : undefined
    if (!form.enveloped && method.type === 'unary') {
      answerUnary(exchange, method, form, codec, this.#settings)
      return
    }
    const call = new EnvelopedCall(exchange, method, form, codec, this.#settings)
    this.#open.add(call)
    call.onEnd(() => this.#open.delete(call))
    if (this.#stopping) call.stop()
    else call.open()
  }

  #refuseUnknown(exchange: Exchange, form: Form): void {
    if (!form.enveloped) sendError(exchange, UNKNOWN.status, this.#settings, 404)
    else new EnvelopedCall(exchange, UNKNOWN_METHOD, form, undefined, this.#settings).open()
  }
}

const UNKNOWN = new StatusError({ code: STATUS.UNIMPLEMENTED, message: 'there is no such method' })

const UNKNOWN_METHOD: Method = {
  type: 'unary',
  handle: () => {
    throw UNKNOWN
  },
}

/** Connect has other content types for streams than for calls with one message. */
function fits(served: Served, { protocol, enveloped, codec }: Form): boolean {
  if (codec === 'json' && served.json === undefined) return false
  return protocol === 'grpc-web' || enveloped === (served.method.type !== 'unary')
}

/** The protocols of streams have a separate field for the coding of messages. */
function isUncoded({ headers: { 'content-encoding': coding = 'identity' } }: Exchange['request']): boolean {
  return coding.toLowerCase() === 'identity'
}

function typesFor(served: Served | undefined): string {
  if (served === undefined) return CONTENT_TYPES
  const kind = served.method.type === 'unary' ? '' : 'connect+'
  const codecs = served.json === undefined ? ['proto'] : ['json', 'proto']
  return [...codecs.map((codec) => `application/${kind}${codec}`), 'application/grpc-web+proto'].join(', ')
}
