/** Translates errors to HTTP statuses and to bodies in Keystone's format. No other file does. */
import type { FastifyReply } from 'fastify'
import { CallError, type CallErrorReason } from '../base/call-error.ts'
import { CONTENT_TYPE_MESSAGE, CodedBody, sendJson } from './json.ts'

// Not imported, because an import makes Node create every export of the module. One of them is a WebSocket
// client that nothing here uses; it takes longer to load than all of Fastify, and more than 10 MB.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

/** Size of the largest request body, in bytes: Keystone's limit. */
export const BODY_BYTES_MAX = 114_688

/** An error response. */
export interface HttpError {
  readonly status: number
  /** Never contains a value of the request. */
  readonly message: string
  readonly retryAfterSeconds?: number
  /** For protocols that have a place for it. */
  readonly reason?: CallErrorReason
  /** Further machine-readable facts. Never contains a secret. */
  readonly metadata?: Readonly<Record<string, string>>
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
  // The messages of Fastify's errors quote the request, so only their statuses are used.
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  if (status === 413) return { status, message: `expected a body of at most ${BODY_BYTES_MAX} bytes` }
  if (status === 415) return { status: 400, message: CONTENT_TYPE_MESSAGE }
  if (typeof status === 'number' && status >= 400 && status < 500)
    return { status: 400, message: 'expected a valid HTTP request' }
  return { status: 500, message: 'internal error' }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How the route words its errors; default: as Keystone does. */
    readonly sendError?: (reply: FastifyReply, error: HttpError) => FastifyReply
    /** Whether the route itself leaves a trace of refusals; default: one for POST does. */
    readonly ownTrace?: boolean
    /** Whether its requests have spans; default: they have, where there are traces. */
    readonly tracing?: 'none'
  }
}

/** @param identityUrl `{auth_url}/identity`, for the header `WWW-Authenticate` */
export function sendError(reply: FastifyReply, error: HttpError, identityUrl: string): FastifyReply {
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
