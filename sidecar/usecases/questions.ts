/** The questions of a check, and its outcome. */

import type { CredentialHeaders, Decision, Scope } from '../../engine/index.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import type { IpAddress } from '../base/ip-address.ts'

/** Claims that the caller already trusts: only the matrix is asked. */
export interface ClaimsQuestion {
  readonly api: string
  readonly kind: string
  readonly scope: Scope | undefined
  readonly target: Scope | undefined
}

/** Headers as they arrived: the credential among them is verified. */
export interface CredentialsQuestion {
  readonly api: string
  readonly headers: CredentialHeaders
  readonly target: Scope | undefined
  /** Where the request came from, for accounts that restrict addresses (§1). */
  readonly clientAddress: IpAddress | undefined
}

/** The outcome of a check of credentials. */
export interface CheckOutcome {
  readonly decision: Decision
  /** The credential as the authority knows it, on denials too. */
  readonly token: VerifiedToken | undefined
  /** Whether an authority verifies it now. */
  readonly verified: boolean
}
