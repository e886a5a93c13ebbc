/**
 * Why a decision is as it is, in descending precedence. A question with several faults gets the first of
 * these.
 */
export const REASONS = [
  'UNKNOWN_API',
  'CREDENTIAL_MISSING',
  'CREDENTIAL_AMBIGUOUS',
  'CREDENTIAL_MALFORMED',
  'WRONG_HEADER',
  'CREDENTIAL_INVALID',
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'ADDRESS_NOT_ALLOWED',
  'UNKNOWN_TOKEN_KIND',
  'INVALID_SCOPE',
  'TOKEN_KIND_NOT_ACCEPTED',
  'CONTESTED',
  'ACCOUNT_MISMATCH',
  'PROJECT_MISMATCH',
  'ALLOWED',
] as const

export type Reason = (typeof REASONS)[number]

/** The faults of a credential itself. They are found before the matrix is asked; in descending precedence. */
export const CREDENTIAL_REASONS = [
  'CREDENTIAL_MISSING',
  'CREDENTIAL_AMBIGUOUS',
  'CREDENTIAL_MALFORMED',
  'WRONG_HEADER',
  'CREDENTIAL_INVALID',
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'ADDRESS_NOT_ALLOWED',
] as const satisfies readonly Reason[]

export type CredentialReason = (typeof CREDENTIAL_REASONS)[number]

/**
 * The reasons that are found before it is known which token the credential is, and what there is to say about
 * it.
 */
export const UNKNOWN_TOKEN_REASONS = [
  'UNKNOWN_API',
  'CREDENTIAL_MISSING',
  'CREDENTIAL_AMBIGUOUS',
  'CREDENTIAL_MALFORMED',
  'CREDENTIAL_INVALID',
  'UNKNOWN_TOKEN_KIND',
] as const satisfies readonly Reason[]
