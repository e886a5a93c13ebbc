/** The log's lines about logins: about each that failed, and about each token that was issued. */
import type { Administration } from '../authority/administration/administration.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import { CallError } from '../base/call-error.ts'
import type { UserRecord, UserType } from '../directory/directory.ts'
import type { CallOrigin } from './requester.ts'
import type { Trace } from './trace.ts'

export interface LoginTracing {
  readonly trace: Trace
  readonly administration: Administration
}

/** A login as the log has it. */
export interface TracedLogin {
  readonly from: CallOrigin
  /** Name of the source, which shares the password checks with others. */
  readonly source: string
  readonly caller?: string | undefined
  readonly profile?: string | undefined
  /** As the client got it, if it did. */
  readonly requestId?: string | undefined
  /** The user whom the login names, if any. */
  readonly user?: { readonly account: string; readonly userName: string } | undefined
  /** Default: `service_user`. */
  readonly userType?: UserType
}

/** How many tokens that are issued to or revoked by one source have a separate line each minute. */
const TOKEN_LINES = 10

/**
 * A login that failed, or was refused. The log names a user only where there is such a user: others may be
 * passwords.
 */
export function traceFailure(services: LoginTracing, login: TracedLogin, error: unknown): void {
  const { from, source, caller, profile, requestId, user, userType = 'service_user' } = login
  const right = error instanceof CallError && causeOf(error).row.login === 'refused'
  services.trace.refused(
    right ? REFUSED[userType] : 'a login failed',
    error,
    { ...from, source, caller, profile },
    async () => ({ request_id: requestId, ...(await factsOf(services, user, userType)) }),
  )
}

/** The facts of a line about a user. Where the directory does not answer, it has none. */
async function factsOf(
  { administration }: Pick<LoginTracing, 'administration'>,
  user: TracedLogin['user'],
  userType: UserType,
): Promise<object | undefined> {
  if (user === undefined) return undefined
  const { account, userName } = user
  let found: UserRecord | undefined
  try {
    found = await administration.records.user(account, userName, userType)
  } catch {
    return undefined
  }
  return found === undefined ? { user: 'unknown' } : { user: found.id, user_name: found.name, account }
}

/** Of logins that have proved who the user is. */
const REFUSED: Readonly<Record<UserType, string>> = {
  service_user:
    'a login with the right password was refused; the identity endpoint shows the client only that it failed',
  control_panel_user: 'a login to the control panel proved who the user is, and was refused',
}

/** The error that the client does not get. */
function causeOf(error: CallError): CallError {
  return error.cause instanceof CallError ? error.cause : error
}

/** A token that was revoked. Its record is in the audit trail; the line joins it with the request. */
export function traceRevoked(
  { trace }: Pick<LoginTracing, 'trace'>,
  from: CallOrigin,
  requestId?: string,
): void {
  const details = () => ({ request_id: requestId })
  trace.record({
    level: 'info',
    message: 'a token was revoked',
    by: { ...from },
    details,
    lines: TOKEN_LINES,
  })
}

/** A token that was issued. */
export function traceIssued(
  { trace }: Pick<LoginTracing, 'trace'>,
  { from, source, caller, profile, requestId, user }: TracedLogin,
  { tokenId, kind, scope }: Pick<VerifiedToken, 'tokenId' | 'kind' | 'scope'>,
): void {
  trace.record({
    level: 'info',
    message: 'a token was issued',
    by: { ...from, source, caller, profile, account: scope.account, user_name: user?.userName },
    details: () => ({ token_id: tokenId, kind, project: scope.project, request_id: requestId }),
    lines: TOKEN_LINES,
  })
}
