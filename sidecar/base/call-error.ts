/**
 * Errors of a call: every reason why a call gets no answer, in one table. A denial is an answer and not an
 * error.
 */

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

/** The names between braces in a template. */
type PlaceholderOf<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholderOf<Rest>
  : never

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
  /** The requester knows of changes that the directory does not have. */
  readonly lacksChanges?: true
}

/** Codes after which the same call may succeed later without a change by the client. */
const RETRIED: readonly ErrorCode[] = ['RESOURCE_EXHAUSTED', 'UNAVAILABLE']

/** The rows of the reasons that have this code. */
const reasonsOf = <
  Code extends ErrorCode,
  const Rows extends Readonly<Record<string, Omit<CallErrorRow, 'code' | 'retry'>>>,
>(
  code: Code,
  rows: Rows,
) => {
  const retry = RETRIED.includes(code)
  return Object.fromEntries(
    Object.entries(rows).map(([reason, row]) => [reason, { code, retry, ...row }]),
  ) as { readonly [Reason in keyof Rows]: CallErrorRow & { readonly code: Code } & Rows[Reason] }
}

/**
 * Every reason, grouped by code. The protos and docs/use/contract.md list them too; a test compares the
 * three.
 */
export const CALL_ERRORS = {
  ...reasonsOf('INVALID_ARGUMENT', {
    INVALID_ARGUMENT: { message: '{violations}' },
  }),
  ...reasonsOf('UNAUTHENTICATED', {
    CALLER_TOKEN_MISSING: { message: '{action} needs a caller token: `authorization: Bearer …`' },
    CALLER_TOKEN_INVALID: {
      message: 'the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`',
    },
    REQUESTER_NOT_AUTHENTICATED: { message: 'expected {credential}' },
    LOGIN_FAILED: { message: 'the name of the user or the password is wrong', login: 'wrong_password' },
    LOGIN_REFUSED: {
      message:
        'the login failed; expected a service user, their password, a scope that they have a permission for, and an address that the account allows',
    },
    METHOD_NOT_SUPPORTED: { message: '{field}: expected a supported method: {methods}' },
    CLIENT_CERTIFICATE_UNKNOWN: {
      message:
        'the client certificate has no name of a caller in the configuration, or that caller expired or was withdrawn',
    },
    CLIENT_CERTIFICATE_AMBIGUOUS: {
      message:
        'the client certificate has names of several callers in the configuration; expected names of one',
    },
    UPSTREAM_LOGIN_REFUSED: {
      message:
        'upstream `{upstream}` refuses the login of profile `{profile}`; expected its user, its password and a role in the requested scope',
    },
    SECOND_FACTOR_REQUIRED: {
      message: 'the password is right, but this user also needs a second factor; expected {ways}',
      login: 'continues',
    },
    CODE_WRONG: {
      message: 'the one-time code is wrong, or was used before; expected the current one',
      login: 'wrong_password',
    },
    PASSKEY_REFUSED: {
      message: 'the passkey was not accepted; expected a passkey of a user who may log in here',
      login: 'wrong_password',
    },
    LINK_INVALID: { message: 'the link is unknown, already used or expired; ask for a new one' },
  }),
  ...reasonsOf('PERMISSION_DENIED', {
    ADDRESS_NOT_ALLOWED: {
      message: 'the account restricts client addresses, and this address is not allowed',
      login: 'refused',
    },
    PERMISSION_MISSING: { message: '{kind}: the service user needs {permission}', login: 'refused' },
    PROFILE_NOT_ALLOWED: { message: 'caller `{caller}` may not use that profile' },
    CALLER_RIGHT_MISSING: { message: 'caller `{caller}` may not {action}: it needs the right `{right}`' },
    NOT_ADMINISTRATOR: { message: 'only {who} may do this' },
    NOT_OWNER: { message: 'only an owner of the account may do this' },
    NOT_HOLDER_NOR_ADMINISTRATOR: {
      message:
        'only the holder of the token, the owner of its account and users with the role `iam.admin` may ask about it or revoke it; a validator may ask about it',
    },
    ACCOUNT_SCOPE_REQUIRED: { message: "revoking another user's token needs an account-scoped token" },
    UPSTREAM_FORBIDDEN: { message: 'upstream `{upstream}` does not allow {action} (status {status})' },
    PROFILE_SCOPE_NOT_ALLOWED: {
      message: 'profile `{profile}` does not issue tokens for {scope}; expected one of its projects',
    },
    SCOPE_REQUIRED: { message: 'the token is unscoped; expected one for an account or a project' },
  }),
  ...reasonsOf('FAILED_PRECONDITION', {
    NO_KIND_FOR_SCOPE: { message: 'the matrix has no token kind that can be issued with {level} scope' },
    NO_SINGLE_KIND: { message: 'no single kind of token opens all of these APIs; {plan}' },
    NO_STATIC_KIND: {
      message: 'expected the matrix to have a token kind that is obtained by control_panel, found none',
    },
    NO_SUCH_PROJECT: { message: 'account `{account}` has no project `{project}`' },
    NOT_ISSUABLE: { message: '{kind} is not issued by an API request{steps}' },
    DIRECTORY_ELSEWHERE: {
      message: 'this sidecar has no directory and follows another one; ask a sidecar that has the directory',
    },
    NO_SIGNING_KEY: { message: 'this host only checks tokens: it has no private key to sign them with' },
    CREDENTIAL_EXPIRED: { message: 'the IAM token of control panel user `{user}` has expired; reissue it' },
    CREDENTIAL_REVOKED: {
      message: 'the IAM token of control panel user `{user}` is no longer active; reissue it',
    },
    REQUESTER_EXCLUDED: {
      message:
        'the ranges exclude the address of the requester, {address}; set `allow_excluding_requester` if that is intended',
    },
    REAUTHENTICATION_REQUIRED: {
      message:
        'confirm your password, passkey or caller token: the last confirmation is more than ten minutes old',
    },
    MATRIX_TOO_LARGE: {
      message:
        'the whole matrix has {bytes} bytes, and a message at most {most}; ask `GetMatrix` for pages, with `page_size`',
    },
    MATRIX_REPLACED: {
      message: '{what} is {found} and no longer {seen}; look at what it changes, and ask again',
    },
    CODE_UNREADABLE: {
      message:
        'the one-time code was set up with another pepper than this host has; an invitation removes the code',
    },
    PASSKEYS_NOT_POSSIBLE: {
      message: 'browsers do not allow passkeys at `{origin}`; expected https with a host name, or `{local}`',
    },
    APPLICATION_CREDENTIALS_FULL: {
      message: 'a user has at most {max} application credentials; delete one first',
    },
    PASSKEYS_FULL: { message: 'a user has at most {max} passkeys; delete one first' },
  }),
  ...reasonsOf('NOT_FOUND', {
    NOT_FOUND: { message: 'there is no {what}' },
    CREDENTIAL_INVALID: { message: 'the token is unknown or not genuine, so there is nothing to revoke' },
  }),
  ...reasonsOf('ALREADY_EXISTS', {
    ALREADY_EXISTS: { message: '{what} already exists' },
    USER_TYPE_DIFFERS: {
      message: 'user `{user}` of account `{account}` is a {found}, expected a {expected}',
    },
  }),
  ...reasonsOf('RESOURCE_EXHAUSTED', {
    LOGIN_THROTTLED: { message: '{cause}; try again in {seconds} s', exhaustedBy: 'requester' },
    PASSWORD_CHECKS_EXHAUSTED: { message: 'too many passwords are being checked; try again later' },
    DIRECTORY_EXHAUSTED: { message: 'too many {what} are waiting for the directory; try again later' },
    DIRECTORY_FULL: { message: 'the directory has no space left' },
    UPSTREAM_EXHAUSTED: { message: '{cause} upstream `{upstream}`; try again in {seconds} s' },
    CHANGES_THROTTLED: {
      message: 'too many changes by this user or caller; try again in {seconds} s',
      exhaustedBy: 'requester',
    },
    WATCHES_EXHAUSTED: { message: 'too many watches of {whose}; try again later' },
    VERIFICATIONS_EXHAUSTED: { message: 'too many tokens and long requests are waiting; try again later' },
  }),
  ...reasonsOf('UNAVAILABLE', {
    DIRECTORY_UNAVAILABLE: { message: 'the directory does not answer' },
    STOPPING: { message: 'the sidecar is stopping' },
    KEYS_UNREADABLE: {
      message: 'the signing keys cannot be read, so no IAM token can be verified or issued',
    },
    DIRECTORY_REPLACED: {
      message: 'the directory file was replaced while it was open; restart the sidecar',
    },
    UPSTREAM_UNAVAILABLE: { message: 'upstream `{upstream}` {problem}' },
    UPSTREAM_BAD_ANSWER: {
      message: 'upstream `{upstream}` gave an unusable answer at {url}: expected {expected}',
    },
    PROFILE_PASSWORD_UNAVAILABLE: { message: 'the password command of profile `{profile}` {problem}' },
    DECISION_NOT_LOGGED: {
      message: 'the decision log cannot be written, and `decision_log.required` is set',
    },
    DIRECTORY_CHANGES_LOST: {
      message:
        'the directory has lost changes that were known before; do not restart: an operator must end all tokens from the lost time',
      lacksChanges: true,
    },
  }),
  ...reasonsOf('INTERNAL', {
    INTERNAL: { message: 'internal error' },
  }),
} satisfies Readonly<Record<string, CallErrorRow>>

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

function filledTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => shortened(name, String(values[name])))
}

/** Longest value in a message, in characters. The longest name of a record fits twice. */
const VALUE_LENGTH_MAX = 600

/** A message travels in a trailer, but the name of a request can be as long as the request. */
function shortened(name: string, value: string): string {
  // These two are lists, which are bounded by their number.
  if (name === 'violations' || name === 'plan' || value.length <= VALUE_LENGTH_MAX) return value
  return `${value.slice(0, VALUE_LENGTH_MAX)}…`
}
