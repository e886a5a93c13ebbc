/**
 * Errors of a call: every reason why a call gets no answer, in one table. A denial is an answer and not an
 * error.
 */
import { FACTOR_ERRORS } from './factor-errors.ts'
import { filledTemplate, type PlaceholderOf } from './message-template.ts'

/** Stable codes with gRPC's names. Each protocol translates them in one place. */
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
  | 'INTERNAL'

interface CallErrorRow {
  readonly code: ErrorCode
  /** Template of the message: `{name}` is replaced by a value. Never contains a secret. */
  readonly message: string
  /** Whether the same call may succeed later without a change by the client. */
  readonly retry: boolean
  /** For an exhausted resource: `requester` if the requester alone used it up by calling too often. */
  readonly exhaustedBy?: 'requester'
  /**
   * For a failed login: `wrong_password`, or `refused` if the password was right. The identity endpoint gives
   * its clients the same answer for both. `continues`: the password was right, and the user is asked for
   * more.
   */
  readonly login?: 'wrong_password' | 'refused' | 'continues'
}

/**
 * Every reason, grouped by code. The protos and docs/use/clients.md list them too; a test compares the three.
 */
export const CALL_ERRORS = {
  INVALID_ARGUMENT: { code: 'INVALID_ARGUMENT', message: '{violations}', retry: false },

  CALLER_TOKEN_MISSING: {
    code: 'UNAUTHENTICATED',
    message: '{action} needs a caller token: metadata `authorization: Bearer …`',
    retry: false,
  },
  CALLER_TOKEN_INVALID: {
    code: 'UNAUTHENTICATED',
    message: 'the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`',
    retry: false,
  },
  REQUESTER_NOT_AUTHENTICATED: { code: 'UNAUTHENTICATED', message: 'expected {credential}', retry: false },
  LOGIN_FAILED: {
    code: 'UNAUTHENTICATED',
    message: 'the name of the user or the password is wrong',
    retry: false,
    login: 'wrong_password',
  },
  LOGIN_REFUSED: {
    code: 'UNAUTHENTICATED',
    message:
      'the login failed; expected a service user, their password, a scope that they have a permission for, and an address that the account allows',
    retry: false,
  },
  METHOD_NOT_SUPPORTED: {
    code: 'UNAUTHENTICATED',
    message: '{field}: expected a supported method: {methods}',
    retry: false,
  },

  ADDRESS_NOT_ALLOWED: {
    code: 'PERMISSION_DENIED',
    message: 'the account restricts client addresses, and this address is not allowed',
    retry: false,
    login: 'refused',
  },
  PERMISSION_MISSING: {
    code: 'PERMISSION_DENIED',
    message: '{kind}: the service user needs {permission}',
    retry: false,
    login: 'refused',
  },
  PROFILE_NOT_ALLOWED: {
    code: 'PERMISSION_DENIED',
    message: 'caller `{caller}` may not use that profile',
    retry: false,
  },
  CALLER_RIGHT_MISSING: {
    code: 'PERMISSION_DENIED',
    message: 'caller `{caller}` may not {action}: it needs the right `{right}`',
    retry: false,
  },
  NOT_ADMINISTRATOR: { code: 'PERMISSION_DENIED', message: 'only {who} may do this', retry: false },
  NOT_OWNER: {
    code: 'PERMISSION_DENIED',
    message:
      "only an owner of the account may make, change or delete an owner, revoke an owner's tokens, or set an address restriction",
    retry: false,
  },
  NOT_HOLDER_NOR_ADMINISTRATOR: {
    code: 'PERMISSION_DENIED',
    message:
      'only the holder of the token, the owner of its account and users with the role `iam.admin` may ask about it or revoke it; a validator may ask about it',
    retry: false,
  },
  ACCOUNT_SCOPE_REQUIRED: {
    code: 'PERMISSION_DENIED',
    message: "revoking another user's token needs an account-scoped token",
    retry: false,
  },

  NO_KIND_FOR_SCOPE: {
    code: 'FAILED_PRECONDITION',
    message: 'the matrix has no token kind that can be issued with {level} scope',
    retry: false,
  },
  NO_SINGLE_KIND: {
    code: 'FAILED_PRECONDITION',
    message: 'no single kind of token opens all of these APIs; {plan}',
    retry: false,
  },
  NO_STATIC_KIND: {
    code: 'FAILED_PRECONDITION',
    message: 'expected the matrix to have one token kind that is obtained by control_panel, found {count}',
    retry: false,
  },
  NO_SUCH_PROJECT: {
    code: 'FAILED_PRECONDITION',
    message: 'account `{account}` has no project `{project}`',
    retry: false,
  },
  NOT_ISSUABLE: {
    code: 'FAILED_PRECONDITION',
    message: '{kind} is not issued by an API request{steps}',
    retry: false,
  },
  NO_SIGNING_KEY: {
    code: 'FAILED_PRECONDITION',
    message: 'this host only checks tokens: it has no private key to sign them with',
    retry: false,
  },
  CREDENTIAL_EXPIRED: {
    code: 'FAILED_PRECONDITION',
    message: 'the IAM token of control panel user `{user}` has expired; reissue it',
    retry: false,
  },
  CREDENTIAL_REVOKED: {
    code: 'FAILED_PRECONDITION',
    message: 'the IAM token of control panel user `{user}` is no longer active; reissue it',
    retry: false,
  },

  NOT_FOUND: { code: 'NOT_FOUND', message: 'there is no {what}', retry: false },
  CREDENTIAL_INVALID: {
    code: 'NOT_FOUND',
    message: 'the token is unknown or not genuine, so there is nothing to revoke',
    retry: false,
  },

  ALREADY_EXISTS: { code: 'ALREADY_EXISTS', message: '{what} already exists', retry: false },
  USER_TYPE_DIFFERS: {
    code: 'ALREADY_EXISTS',
    message: 'user `{user}` of account `{account}` is a {found}, expected a {expected}',
    retry: false,
  },

  LOGIN_THROTTLED: {
    code: 'RESOURCE_EXHAUSTED',
    message: '{cause}; try again in {seconds} s',
    retry: true,
    exhaustedBy: 'requester',
  },
  PASSWORD_CHECKS_EXHAUSTED: {
    code: 'RESOURCE_EXHAUSTED',
    message: 'too many passwords are being checked; try again later',
    retry: true,
  },
  DIRECTORY_EXHAUSTED: {
    code: 'RESOURCE_EXHAUSTED',
    message: 'too many {what} are waiting for the directory; try again later',
    retry: true,
  },
  DIRECTORY_FULL: {
    code: 'RESOURCE_EXHAUSTED',
    message: 'the directory has no space left',
    retry: true,
  },

  DIRECTORY_UNAVAILABLE: { code: 'UNAVAILABLE', message: 'the directory does not answer', retry: true },
  STOPPING: { code: 'UNAVAILABLE', message: 'the sidecar is stopping', retry: true },

  INTERNAL: { code: 'INTERNAL', message: 'internal error', retry: false },

  KEYS_UNREADABLE: {
    code: 'UNAVAILABLE',
    message: 'the signing keys cannot be read, so no IAM token can be verified or issued',
    retry: true,
  },

  REQUESTER_EXCLUDED: {
    code: 'FAILED_PRECONDITION',
    message:
      'the ranges exclude the address of the requester, {address}; set `allow_excluding_requester` if that is intended',
    retry: false,
  },

  DIRECTORY_REPLACED: {
    code: 'UNAVAILABLE',
    message: 'the directory file was replaced while it was open; restart the sidecar',
    retry: true,
  },

  CLIENT_CERTIFICATE_UNKNOWN: {
    code: 'UNAUTHENTICATED',
    message:
      'the client certificate has no name of a caller in the configuration, or that caller expired or was withdrawn',
    retry: false,
  },
  CLIENT_CERTIFICATE_AMBIGUOUS: {
    code: 'UNAUTHENTICATED',
    message:
      'the client certificate has names of several callers in the configuration; expected names of one',
    retry: false,
  },
  UPSTREAM_UNAVAILABLE: {
    code: 'UNAVAILABLE',
    message: 'upstream `{upstream}` {problem}',
    retry: true,
  },
  UPSTREAM_BAD_ANSWER: {
    code: 'UNAVAILABLE',
    message: 'upstream `{upstream}` gave an unusable answer: expected {expected}',
    retry: true,
  },
  UPSTREAM_EXHAUSTED: {
    code: 'RESOURCE_EXHAUSTED',
    message: '{cause} upstream `{upstream}`; try again in {seconds} s',
    retry: true,
  },
  UPSTREAM_LOGIN_REFUSED: {
    code: 'UNAUTHENTICATED',
    message:
      'upstream `{upstream}` refuses the login of profile `{profile}`; expected its user, its password and a role in the requested scope',
    retry: false,
  },
  UPSTREAM_FORBIDDEN: {
    code: 'PERMISSION_DENIED',
    message: 'upstream `{upstream}` does not allow {action} (status {status})',
    retry: false,
  },
  PROFILE_SCOPE_NOT_ALLOWED: {
    code: 'PERMISSION_DENIED',
    message: 'profile `{profile}` does not issue tokens for {scope}; expected one of its projects',
    retry: false,
  },
  PROFILE_PASSWORD_UNAVAILABLE: {
    code: 'UNAVAILABLE',
    message: 'the password command of profile `{profile}` {problem}',
    retry: true,
  },

  SCOPE_REQUIRED: {
    code: 'PERMISSION_DENIED',
    message: 'the token is unscoped; expected one for an account or a project',
    retry: false,
  },

  CHANGES_THROTTLED: {
    code: 'RESOURCE_EXHAUSTED',
    message: 'too many changes by this user or caller; try again in {seconds} s',
    retry: true,
    exhaustedBy: 'requester',
  },
  WATCHES_EXHAUSTED: {
    code: 'RESOURCE_EXHAUSTED',
    message: 'too many watches of {whose}; try again later',
    retry: true,
  },
  VERIFICATIONS_EXHAUSTED: {
    code: 'RESOURCE_EXHAUSTED',
    message: 'too many tokens and long requests are waiting; try again later',
    retry: true,
  },
  DECISION_NOT_LOGGED: {
    code: 'UNAVAILABLE',
    message: 'the decision log cannot be written, and `decision_log.required` is set',
    retry: true,
  },
  DIRECTORY_CHANGES_LOST: {
    code: 'UNAVAILABLE',
    message:
      'the database of the directory has lost changes; an operator must end all tokens from the lost time',
    retry: true,
  },

  SECOND_FACTOR_REQUIRED: {
    code: 'UNAUTHENTICATED',
    message: 'the password is right, but this user also needs a second factor; expected {ways}',
    retry: false,
    login: 'continues',
  },
  CODE_WRONG: {
    code: 'UNAUTHENTICATED',
    message: 'the one-time code is wrong, or was used before; expected the current one',
    retry: false,
    login: 'wrong_password',
  },
  PASSKEY_REFUSED: {
    code: 'UNAUTHENTICATED',
    message: 'the passkey was not accepted; expected a passkey of a user who may log in here',
    retry: false,
    login: 'wrong_password',
  },
  LINK_INVALID: {
    code: 'UNAUTHENTICATED',
    message: 'the link is unknown, already used or expired; ask for a new one',
    retry: false,
  },
  REAUTHENTICATION_REQUIRED: {
    code: 'FAILED_PRECONDITION',
    message:
      'confirm your password, passkey or caller token: the last confirmation is more than ten minutes old',
    retry: false,
  },

  ...FACTOR_ERRORS,
} as const satisfies Readonly<Record<string, CallErrorRow>>

/** Stable and machine-readable: the `reason` of `google.rpc.ErrorInfo`. */
export type CallErrorReason = keyof typeof CALL_ERRORS

/** A field of the request that is not as expected. Never contains the value. */
export interface FieldViolation {
  /** Path in the request, for example `checks[3].target.account`. */
  readonly field: string
  readonly expected: string
}

export interface CallErrorDetails {
  readonly violations?: readonly FieldViolation[]
  /** Further machine-readable facts. Never contains a secret. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Only for the log; no client receives it. */
  readonly cause?: unknown
}

/** The call gets no answer. A client must treat that as a denial. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly reason: CallErrorReason
  readonly code: ErrorCode
  readonly violations: readonly FieldViolation[]
  readonly metadata: Readonly<Record<string, string>>

  /** @param message follows the table's template for the reason; `callError` builds it */
  constructor(reason: CallErrorReason, message: string, details: CallErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.reason = reason
    this.code = CALL_ERRORS[reason].code
    this.violations = details.violations ?? []
    this.metadata = details.metadata ?? {}
  }

  /** The row of the table for this reason. */
  get row(): CallErrorRow {
    return CALL_ERRORS[this.reason]
  }
}

type MessageValues<Reason extends CallErrorReason> = Readonly<
  Record<PlaceholderOf<(typeof CALL_ERRORS)[Reason]['message']>, string | number>
>

/** Makes the error for a reason, with the values that its message needs. */
export function callError<Reason extends CallErrorReason>(
  reason: Reason,
  values: MessageValues<Reason>,
  details?: CallErrorDetails,
): CallError {
  return new CallError(reason, filledTemplate(CALL_ERRORS[reason].message, values), details)
}

/** The request is not well formed. The error names every violation, up to a maximum. */
export function invalidArgument(...violations: readonly FieldViolation[]): CallError {
  return invalidFields(violations)
}

/** As `invalidArgument`, for a list that may be longer than a function can have arguments. */
export function invalidFields(violations: readonly FieldViolation[]): CallError {
  const named = violations.slice(0, VIOLATIONS_MAX)
  const more = violations.length - named.length
  const parts = named.map(({ field, expected }) => `${field}: expected ${expected}`)
  const message = [...parts, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
  return callError('INVALID_ARGUMENT', { violations: message }, { violations: named })
}

/** Most violations that an error names. They travel in trailers, and clients limit the size of trailers. */
const VIOLATIONS_MAX = 20
