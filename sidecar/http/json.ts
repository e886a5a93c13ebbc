/** JSON over HTTP: reads request bodies strictly, and sends responses in Keystone's way. */

import { type ReadingOptions, readJson } from '../../matrix/document/index.ts'
import { type CallError, callError } from '../base/call-error.ts'
import type { HttpReply, HttpRequest } from '../base/http/exchange.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { carrierOf, connectionOf } from '../base/net/http-request.ts'
import { SHORT_BYTES, type Turns } from '../base/turns.ts'

/** The message for an unexpected content type. */
const CONTENT_TYPE_MESSAGE = 'Content-Type: expected application/json'

/** Sends a value as `application/json`. */
export function sendJson(reply: HttpReply, status: number, value: object): HttpReply {
  return reply
    .code(status)
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify(value)))
}

/** Like Keystone, it accepts a request without a content type. */
const KEYSTONE_TYPES = /^(|application\/(json|[\w.-]+\+json))$/

export interface BodyOptions extends Pick<ReadingOptions, 'anyKey'> {
  /** The content types that count as JSON. */
  readonly types?: RegExp
}

/** Most bytes of bodies that wait for their turn. */
const WAITING_BYTES_MAX = 16_777_216

/** Reads JSON bodies. A long one takes milliseconds to read, so connections take turns with them. */
export class JsonBodies {
  readonly #turns: Turns
  #waitingBytes = 0

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /**
   * @param understand makes something of the value, or throws
   * @throws CallError
   */
  read<T>(
    request: HttpRequest,
    understand: (value: unknown) => T,
    { types = KEYSTONE_TYPES, anyKey = false }: BodyOptions = {},
  ): MaybePromise<T> {
    const { 'content-encoding': coding = 'identity' } = request.headers
    if (coding.toLowerCase() !== 'identity') throw new CodedBody()
    const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
    if (!types.test(type)) throw badBody(CONTENT_TYPE_MESSAGE)
    const body = request.body ?? NO_BYTES
    const read = () => understand(parsed(body, { anyKey, firstProblem: true }))
    return body.length > SHORT_BYTES ? this.#readInTurn(request, body.length, read) : read()
  }

  async #readInTurn<T>(request: HttpRequest, bytes: number, read: () => T): Promise<T> {
    if (this.#waitingBytes + bytes > WAITING_BYTES_MAX) throw callError('VERIFICATIONS_EXHAUSTED', {})
    const connection = connectionOf(request)
    const carrier: { readonly destroyed?: boolean } = carrierOf(request.raw)
    this.#waitingBytes += bytes
    try {
      return await this.#turns.run(connection, () => {
        if (carrier.destroyed) throw badBody('the client is gone')
        return read()
      })
    } catch (error) {
      // A client whose long bodies are refused waits for the others.
      this.#turns.suspect(connection)
      throw error
    } finally {
      this.#waitingBytes -= bytes
    }
  }
}

/** A body that must be decoded first. */
export class CodedBody extends Error {
  override readonly name = 'CodedBody'
  override readonly message = 'Content-Encoding: expected none, because no body is decoded here'
}

const NO_BYTES = Buffer.alloc(0)

/** @throws CallError */
function parsed(body: Buffer, options: ReadingOptions): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(body)
  } catch {
    throw badBody('the body: expected UTF-8')
  }
  const reading = readJson(text, options)
  if (reading.ok) return reading.value
  // The path is left out: its keys come from the request, and could be secrets that were put in the wrong
  // place.
  throw badBody(`the body: ${reading.problems[0]?.expected}`)
}

function badBody(message: string): CallError {
  return callError('INVALID_ARGUMENT', { violations: message })
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
