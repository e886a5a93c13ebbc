/** What the status of a genuine token means for a request. */
import type { TokenStatus } from '../directory/directory.ts'
import { isAllowed } from './addresses.ts'
import type { Verification, VerifiedToken } from './authority.ts'

export const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

export function verificationOf(
  token: VerifiedToken,
  status: TokenStatus,
  clientAddress: string | undefined,
): Verification {
  if (!status.active) return { ok: false, reason: 'CREDENTIAL_REVOKED', token }
  if (!isAllowed(clientAddress, status.addresses)) return { ok: false, reason: 'ADDRESS_NOT_ALLOWED', token }
  return { ok: true, token }
}
