/**
 * The answers that are this server's own, and not a target's: statuses, reasons, bodies. No other file
 * chooses a status.
 */
import type { ServerResponse } from 'node:http'
import type { Decision } from '../../engine/index.ts'
import { CallError } from '../base/call-error.ts'
import { answerText } from '../base/net/written-response.ts'
import { REASON_HEADER } from './headers.ts'

interface RefusalRow {
  readonly status: number
  /** Never contains a value of the request or of the configuration. */
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the connection ends with the answer. */
  readonly close?: true
}

const RETRY = { 'retry-after': '1' }

/** Every reason of this server. Errors of issuing and denials of the matrix bring their own. */
const REFUSALS = {
  REQUEST_INVALID: { status: 400, message: 'expected {expected}', close: true },
  PROXY_AUTHENTICATION_REQUIRED: {
    status: 407,
    message:
      'this route is for known callers; expected one header `Proxy-Authorization: Bearer CALLER_TOKEN`',
    headers: { 'proxy-authenticate': 'Bearer realm="portcullis"' },
  },
  CALLER_NOT_ALLOWED: { status: 403, message: 'the caller may not use this route' },
  HOST_NOT_ALLOWED: {
    status: 403,
    message: 'expected a Host header with a name of this server, and no header that only a browser sends',
  },
  NO_ROUTE: { status: 404, message: 'no route of this server has that path' },
  METHOD_NOT_SUPPORTED: {
    status: 405,
    message: 'this server does not forward CONNECT, TRACE and TRACK',
    headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
    close: true,
  },
  UPGRADE_NOT_SUPPORTED: {
    status: 501,
    message: 'this server forwards no upgraded connections, WebSocket included',
  },
  BODY_INCOMPLETE: { status: 400, message: 'the body ended before its length', close: true },
  BODY_LATE: { status: 408, message: 'the body did not arrive in time', close: true },
  TOO_MANY_CONNECTIONS: {
    status: 503,
    message: 'too many connections are in use; try again later',
    headers: RETRY,
    close: true,
  },
  TOO_MANY_REQUESTS: {
    status: 503,
    message: 'too many requests of this route are in progress; try again later',
    headers: RETRY,
  },
  TARGET_UNREACHABLE: { status: 502, message: 'no connection to the target ({cause})', headers: RETRY },
  TARGET_TLS_FAILED: { status: 502, message: 'the TLS connection to the target failed ({cause})' },
  TARGET_FAILED: { status: 502, message: 'the target gave no valid HTTP answer ({cause})', headers: RETRY },
  TARGET_TIMEOUT: { status: 504, message: 'the target did not answer in time' },
  INTERNAL: { status: 500, message: 'internal error' },
} as const satisfies Readonly<Record<string, RefusalRow>>

export type RefusalReason = keyof typeof REFUSALS

/** An answer that says why the request was not forwarded, or why the target's answer cannot be given. */
export interface Refusal {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly close?: boolean | undefined
  /** Of the matrix, where it denied. */
  readonly decision?: Decision
  /** By which an operator finds the line of the log. */
  readonly requestId?: string
}

/** @param value for the one place in the message */
export function refusalFor(reason: RefusalReason, value = ''): Refusal {
  const row: RefusalRow = REFUSALS[reason]
  return { ...row, reason, message: row.message.replace(/\{\w+\}/, () => value) }
}

/** The matrix denies every token that the route could send. */
export function refusalByMatrix(decision: Decision): Refusal {
  return { status: 403, reason: decision.reason, message: decision.message, decision }
}

/** No token was issued. An unknown error becomes status 500 without its cause, which the caller must log. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof CallError)) return refusalFor('INTERNAL')
  const { reason, message, metadata } = error
  const status = statusOf(error)
  const retryAfter = metadata.retry_after_seconds ?? '1'
  return { status, reason, message, ...(status === 503 && { headers: { 'retry-after': retryAfter } }) }
}

/** The application cannot fix a fault of the profile, so it is neither a 401 nor a 429. */
function statusOf({ code }: CallError): number {
  switch (code) {
    case 'INVALID_ARGUMENT':
    case 'FAILED_PRECONDITION':
    case 'PERMISSION_DENIED':
    case 'NOT_FOUND':
    case 'ALREADY_EXISTS':
      return 403
    case 'UNAUTHENTICATED':
      return 502
    case 'RESOURCE_EXHAUSTED':
    case 'UNAVAILABLE':
    case 'CANCELLED':
      return 503
    case 'INTERNAL':
      return 500
  }
}

/** The refusal for a failure between this server and a target. */
export function refusalOfTarget(error: NodeJS.ErrnoException): Refusal {
  const code = codeOf(error)
  if (/^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$|^ETIMEDOUT$/.test(code)) return refusalFor('TARGET_TIMEOUT')
  if (code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH') return refusalFor('BODY_INCOMPLETE')
  if (UNREACHABLE.has(code)) return refusalFor('TARGET_UNREACHABLE', code)
  if (/CERT|SSL|TLS|SIGNATURE|ISSUER/.test(code)) return refusalFor('TARGET_TLS_FAILED', code)
  return refusalFor('TARGET_FAILED', code)
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'ENOENT'],
  ...['EMFILE', 'ENFILE', 'EACCES', 'EPERM'],
])

/**
 * The code of an error, which never quotes a request; several attempts to connect fail with an error of
 * several.
 */
export function codeOf(error: NodeJS.ErrnoException): string {
  const { code, errors } = error as NodeJS.ErrnoException & { errors?: readonly NodeJS.ErrnoException[] }
  return code ?? errors?.[0]?.code ?? error.name
}

/** Writes the refusal. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const body = bodyOf(refusal)
  response.writeHead(refusal.status, {
    ...headersOf(refusal),
    'content-length': Buffer.byteLength(body),
    ...(refusal.close && { connection: 'close' }),
  })
  response.end(body)
}

/** The whole answer as text, for a connection that has no response yet. */
export function refusalText(refusal: Refusal, title: string): string {
  const body = bodyOf(refusal)
  const headers = { ...headersOf(refusal), 'content-length': Buffer.byteLength(body) }
  return answerText(refusal.status, title, headers, body)
}

function headersOf({ reason, headers }: Refusal): Record<string, string> {
  return {
    ...headers,
    [REASON_HEADER]: reason,
    'content-type': 'application/json',
    'cache-control': 'no-store',
  }
}

function bodyOf({ reason, message, decision, requestId }: Refusal): string {
  return JSON.stringify({
    error: {
      reason,
      message,
      request_id: requestId,
      ...(decision && {
        decision: {
          allowed: decision.allowed,
          reason: decision.reason,
          message: decision.message,
          accepted: decision.accepted,
          conflicts: decision.conflicts.map(({ id }) => id),
          digest: decision.digest,
          strict: decision.strict,
          rules_digest: decision.rulesDigest,
        },
      }),
    },
  })
}
