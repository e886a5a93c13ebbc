/** Translates errors to HTTP statuses and to bodies in Keystone's format. No other file does. */

import { CallError } from '../base/call-error.ts'
import type { HttpError, HttpReply } from '../base/http/exchange.ts'
import { CodedBody, sendJson } from './json.ts'

// Not imported, because an import makes Node create every export of the module. One of them is a WebSocket
// client that nothing here uses; it takes longer to load than this server, and more than 10 MB.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

/** Size of the largest request body, in bytes: Keystone's limit. */
export const BODY_BYTES_MAX = 114_688

/** The answer to a request that is not as HTTP has it. */
export const BAD_REQUEST: HttpError = { status: 400, message: 'expected a valid HTTP request' }

const TOO_LONG: HttpError = { status: 413, message: `expected a body of at most ${BODY_BYTES_MAX} bytes` }

/** A body that does not arrive as it should. */
export class BadBody extends Error {
  override readonly name = 'BadBody'
  readonly answer: HttpError

  constructor(status: 400 | 413) {
    const answer = status === 413 ? TOO_LONG : BAD_REQUEST
    super(answer.message)
    this.answer = answer
  }
}

/**
 * Makes the error response. An unknown error becomes status 500 without its cause, which the caller must log.
 */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof CallError) {
    const status = statusOf(error.row)
    const { message, reason, metadata } = error
    const answer = { status, message, reason, metadata }
    if (status !== 429 && status !== 503) return answer
    return { ...answer, retryAfterSeconds: Number(metadata.retry_after_seconds ?? 1) }
  }
  if (error instanceof CodedBody) return { status: 415, message: error.message }
  if (error instanceof BadBody) return error.answer
  return { status: 500, message: 'internal error' }
}

/** @param identityUrl `{auth_url}/identity`, for the header `WWW-Authenticate` */
export function sendError(reply: HttpReply, error: HttpError, identityUrl: string): HttpReply {
  const { status, retryAfterSeconds } = error
  if (status === 401) reply.header('www-authenticate', `Keystone uri="${identityUrl}/v3"`)
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  return sendJson(reply, status, errorBody(error))
}

export function errorBody({ status, message }: HttpError): object {
  return { error: { code: status, message, title: titleOf(status) } }
}

/** The standard text of a status, for example `Not Found`. */
export function titleOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error'
}

function statusOf({ code, exhaustedBy }: CallError['row']): number {
  switch (code) {
    case 'INVALID_ARGUMENT':
    case 'FAILED_PRECONDITION':
      return 400
    case 'UNAUTHENTICATED':
      return 401
    case 'PERMISSION_DENIED':
      return 403
    case 'NOT_FOUND':
      return 404
    case 'ALREADY_EXISTS':
      return 409
    case 'RESOURCE_EXHAUSTED':
      return exhaustedBy === 'requester' ? 429 : 503
    case 'UNAVAILABLE':
    case 'CANCELLED':
      return 503
    case 'INTERNAL':
      return 500
  }
}
