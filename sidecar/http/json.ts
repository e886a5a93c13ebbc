/** JSON over HTTP: request bodies read strictly, answers sent as Keystone sends them. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readJson } from '../../matrix/document/index.ts'
import { type CallError, callError } from '../base/call-error.ts'

/** What is said where the content type is another. */
export const CONTENT_TYPE_MESSAGE = 'Content-Type: expected application/json'

/** Sends a value as `application/json`; to text, Fastify would add a charset, which JSON does not have. */
export function sendJson(reply: FastifyReply, status: number, value: object): FastifyReply {
  return reply
    .code(status)
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify(value)))
}

/** The value of a JSON body. A missing content type is taken for JSON, as Keystone does. @throws CallError */
export function jsonBodyOf(request: FastifyRequest): unknown {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!/^(|application\/(json|[\w.-]+\+json))$/.test(type)) throw badBody(CONTENT_TYPE_MESSAGE)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(request.body as Buffer | undefined)
  } catch {
    throw badBody('the body: expected UTF-8')
  }
  const reading = readJson(text)
  if (reading.ok) return reading.value
  // Without the path: its keys are the request's, and a secret may have slipped among them.
  throw badBody(`the body: ${reading.problems[0]?.expected}`)
}

function badBody(message: string): CallError {
  return callError('INVALID_ARGUMENT', { violations: message })
}
