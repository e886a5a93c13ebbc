/**
 * The answer to the sender of a denied request: the status, the headers and the body. A program that answers
 * for a service uses this file, so that a client sees no difference between a proxy and a middleware.
 */
import type { Decision } from './decision.ts'
import type { Reason } from './reasons.ts'

/** A decision, as far as its words go. */
export interface Denied extends Pick<Decision, 'message' | 'accepted' | 'rulesDigest'> {
  /** `UNSPECIFIED`: the sidecar that decided is newer, and has reasons that are not known here. */
  readonly reason: Reason | 'UNSPECIFIED'
}

/** Names in lower case, with their values. */
export type Headers = readonly (readonly [name: string, value: string])[]

export interface Denial {
  readonly status: 401 | 403
  readonly headers: Headers
  /** JSON. It says which kinds of token would have been accepted. */
  readonly body: string
}

/**
 * The status for each reason. 401: another credential may help. 403: the credential is known, or no
 * credential helps.
 */
export const DENIAL_STATUSES: Readonly<Record<Reason, 200 | 401 | 403>> = {
  UNKNOWN_API: 403,
  CREDENTIAL_MISSING: 401,
  CREDENTIAL_AMBIGUOUS: 401,
  CREDENTIAL_MALFORMED: 401,
  WRONG_HEADER: 401,
  CREDENTIAL_INVALID: 401,
  CREDENTIAL_EXPIRED: 401,
  CREDENTIAL_REVOKED: 401,
  ADDRESS_NOT_ALLOWED: 403,
  UNKNOWN_TOKEN_KIND: 403,
  INVALID_SCOPE: 403,
  TOKEN_KIND_NOT_ACCEPTED: 403,
  CONTESTED: 403,
  ACCOUNT_MISMATCH: 403,
  PROJECT_MISMATCH: 403,
  ALLOWED: 200,
}

/** Names the exact rules that decided. */
export const RULES_HEADER = 'x-portcullis-rules-digest'

/**
 * Why the request does not pass. The body says it too, but some proxies replace the body for their clients.
 */
export const REASON_HEADER = 'x-portcullis-reason'

/** The headers of every answer with a body of ours. It is for one client and one moment. */
export function headersOfDenial(reason: string): Headers {
  return [
    ['content-type', 'application/json'],
    ['cache-control', 'no-store'],
    [REASON_HEADER, reason],
  ]
}

/** The answer to a request that a decision denies. It never lets the request pass, whatever the reason. */
export function denialOf(denied: Denied): Denial {
  const { reason, message, accepted, rulesDigest } = denied
  // A reason that is not known here has no status, so it is a 403.
  const status = DENIAL_STATUSES[reason as Reason] === 401 ? 401 : 403
  const headers: Headers = [...headersOfDenial(reason), [RULES_HEADER, rulesDigest]]
  return {
    status,
    headers: status === 401 ? [...headers, ['www-authenticate', challengesOf(denied)]] : headers,
    body: JSON.stringify({ error: { reason, message, accepted } }),
  }
}

/** The answer to a request that no route has an API for. A denial, and no credential would help. */
export function refusalOf(refused: string, detail: string): Denial {
  const error = { reason: refused, message: detail, accepted: [] }
  return { status: 403, headers: headersOfDenial(refused), body: JSON.stringify({ error }) }
}

/** The answer where there is no decision. */
export interface Failure extends Omit<Denial, 'status'> {
  readonly status: 500 | 503
}

/**
 * The client cannot fix what is wrong with a configuration or an upstream, so it learns the reason alone; the
 * log has the rest.
 *
 * @param retryAfterSeconds `undefined`: to try again does not help
 * @param requestId by which an operator finds the line of the log
 */
export function failureOf(
  reason: string,
  retryAfterSeconds: string | undefined,
  requestId?: string,
): Failure {
  const isTemporary = retryAfterSeconds !== undefined
  const message = isTemporary
    ? 'the request could not be authorized; try again later'
    : 'the request could not be authorized; the operator finds the cause in the log'
  const headers = headersOfDenial(reason)
  return {
    status: isTemporary ? 503 : 500,
    headers: isTemporary ? [...headers, ['retry-after', retryAfterSeconds]] : headers,
    body: JSON.stringify({ error: { reason, message, request_id: requestId } }),
  }
}

/** A challenge for each place that a token could be sent in (RFC 9110 §11.6.1 demands one with 401). */
function challengesOf({ reason, accepted }: Denied): string {
  const places = accepted.map(
    ({ header, scheme }) => ` header="${header}",${scheme === undefined ? '' : ` scheme="${scheme}",`}`,
  )
  const parameters = places.length > 0 ? [...new Set(places)] : ['']
  return parameters.map((parameter) => `Portcullis${parameter} reason="${reason}"`).join(', ')
}
