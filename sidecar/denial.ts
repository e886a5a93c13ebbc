/**
 * What the sender of a denied request is told: the status, the challenge and the body. Whoever answers in the place of a service uses
 * this file, so that a client sees no difference between a proxy and a middleware.
 */
import type { AcceptedKind, Reason } from '../engine/index.ts'

/** A decision, as far as its words go. */
export interface Denied {
  readonly reason: Reason
  readonly message: string
  readonly accepted: readonly AcceptedKind[]
}

/** The status for each reason. 401: another credential may help. 403: the credential is known, or no credential helps. */
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

/** The body, as JSON. It says which kinds of token would have been accepted. */
export function denialBody({ reason, message, accepted }: Denied): string {
  return JSON.stringify({ error: { reason, message, accepted } })
}

/** The value of `WWW-Authenticate`: a challenge for each header that a token could be sent in (RFC 9110 §11.6.1 demands one with 401). */
export function challengesOf({ reason, accepted }: Pick<Denied, 'reason' | 'accepted'>): string {
  const headers = [...new Set(accepted.map(({ header }) => header))]
  const parameters = headers.length > 0 ? headers.map((header) => ` header="${header}",`) : ['']
  return parameters.map((parameter) => `Portcullis${parameter} reason="${reason}"`).join(', ')
}
