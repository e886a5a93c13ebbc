/** The one error that use cases throw: there is no answer, and this is why. A denial is not an error. */

/** Stable codes, named as gRPC names them; each protocol translates them in one place. */
export type ErrorCode =
  | 'INVALID_ARGUMENT'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'FAILED_PRECONDITION'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAVAILABLE'
  | 'CANCELLED'

/** A field of the request that is not as expected. Never holds the value. */
export interface FieldViolation {
  /** Path in the request, for example `checks[3].target.account`. */
  readonly field: string
  readonly expected: string
}

export interface NoAnswerDetails {
  /** Machine-readable reason in upper snake case, stable. */
  readonly reason: string
  readonly violations?: readonly FieldViolation[]
  /** Further facts for a machine; never a secret. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** There is no answer. A client treats it as a denial. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  readonly code: ErrorCode
  readonly reason: string
  readonly violations: readonly FieldViolation[]
  readonly metadata: Readonly<Record<string, string>>

  constructor(code: ErrorCode, message: string, details: NoAnswerDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.reason = details.reason
    this.violations = details.violations ?? []
    this.metadata = details.metadata ?? {}
  }
}

/** The request is not well formed; every violation is named, or the first of very many. */
export function invalidArgument(...violations: readonly FieldViolation[]): NoAnswer {
  const named = violations.slice(0, VIOLATIONS_MAX)
  const more = violations.length - named.length
  const parts = named.map(({ field, expected }) => `${field}: expected ${expected}`)
  const message = [...parts, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
  return new NoAnswer('INVALID_ARGUMENT', message, { reason: 'INVALID_ARGUMENT', violations: named })
}

/** How many violations are named: they travel in trailers, for which clients have little room. */
const VIOLATIONS_MAX = 20

/** Something that was named is not there. */
export function notFound(message: string): NoAnswer {
  return new NoAnswer('NOT_FOUND', message, { reason: 'NOT_FOUND' })
}

/** The account restricts client addresses (§1), and whoever asks is elsewhere. */
export function addressNotAllowed(): NoAnswer {
  return new NoAnswer(
    'PERMISSION_DENIED',
    'the account restricts client addresses, and this one is not among those allowed (§1)',
    {
      reason: 'ADDRESS_NOT_ALLOWED',
    },
  )
}
