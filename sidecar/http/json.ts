/** JSON over HTTP: reads request bodies strictly, and sends responses in Keystone's way. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readJson } from '../../matrix/document/index.ts'
import { type CallError, callError } from '../base/call-error.ts'

/** The message for an unexpected content type. */
export const CONTENT_TYPE_MESSAGE = 'Content-Type: expected application/json'

/** Sends a value as `application/json`. It sends bytes, because Fastify would add a charset to a text, which JSON has not. */
export function sendJson(reply: FastifyReply, status: number, value: object): FastifyReply {
  return reply
    .code(status)
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify(value)))
}

/** Like Keystone, it accepts a request without a content type. */
const KEYSTONE_TYPES = /^(|application\/(json|[\w.-]+\+json))$/

/**
 * Reads a JSON body.
 *
 * @param types the content types that count as JSON
 * @throws CallError
 */
export function jsonBodyOf(request: FastifyRequest, types = KEYSTONE_TYPES): unknown {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!types.test(type)) throw badBody(CONTENT_TYPE_MESSAGE)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(request.body as Buffer | undefined)
  } catch {
    throw badBody('the body: expected UTF-8')
  }
  const reading = readJson(text)
  if (reading.ok) return reading.value
  // The path is left out: its keys come from the request, and could be secrets that were put in the wrong place.
  throw badBody(`the body: ${reading.problems[0]?.expected}`)
}

function badBody(message: string): CallError {
  return callError('INVALID_ARGUMENT', { violations: message })
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
