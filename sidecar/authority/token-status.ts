/** The meaning of a genuine token's status for a request. */
import type { IpAddress } from '../base/ip-address.ts'
import { hasCome } from '../base/time-limit.ts'
import type { TokenStatus } from '../directory/directory.ts'
import { isAllowed } from './addresses.ts'
import type { CredentialOrigin, Verification, VerifiedToken } from './authority.ts'
import { EXPIRED_TOKEN_MS_MAX } from './iam-claims.ts'
import { isWrittenAs, type Kinds } from './own-form.ts'

export const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

/** The fault of a token at a time; `undefined`: nothing. */
export function faultOfTime(
  token: VerifiedToken,
  nowMs: number,
  acceptExpired: boolean,
): Verification | undefined {
  // A token that is issued further in the future is not genuine.
  if (!hasCome(token.issuedAtMs, nowMs)) return INVALID
  const graceMs = acceptExpired ? EXPIRED_TOKEN_MS_MAX : 0
  if (token.expiresAtMs === undefined || nowMs < token.expiresAtMs + graceMs) return undefined
  return { ok: false, reason: 'CREDENTIAL_EXPIRED', token }
}

export function verificationOf(
  token: VerifiedToken,
  status: TokenStatus,
  clientAddress: IpAddress | undefined,
): Verification {
  if (!status.active) return { ok: false, reason: 'CREDENTIAL_REVOKED', token }
  if (!isAllowed(clientAddress, status.addresses)) return { ok: false, reason: 'ADDRESS_NOT_ALLOWED', token }
  return { ok: true, token }
}

/**
 * The prefix is not part of what was signed. So a token that is used must be written as its kind is, and one
 * that is only looked up is found however it is written.
 */
export function asWritten(
  verification: Verification,
  sent: string,
  own: string,
  kinds: Kinds,
  { lookedUp = false }: CredentialOrigin,
): Verification {
  const { token } = verification
  if (token === undefined || lookedUp || isWrittenAs(kinds.get(token.kind), sent, own)) return verification
  if (verification.ok) return { ok: false, reason: 'WRONG_HEADER', token }
  // Some calls let an owner in from any address.
  return verification.reason === 'ADDRESS_NOT_ALLOWED' ? INVALID : verification
}
