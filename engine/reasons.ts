/** Why a decision came out as it did, in descending precedence: of several faults the first is reported. */
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

/** The reasons that a credential itself can give, before the matrix is asked; in descending precedence. */
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

/** Those of them that a credential gives although it is known which token it is. */
export const KNOWN_TOKEN_REASONS = [
  'WRONG_HEADER',
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'ADDRESS_NOT_ALLOWED',
] as const satisfies readonly CredentialReason[]
