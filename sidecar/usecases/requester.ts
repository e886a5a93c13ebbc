/**
 * The requester of an administrative or identity call: an operator, by a caller token or a client
 * certificate, or a user, by their IAM token. Either of them may have logged in to the control panel, and
 * then has a session.
 */

import { isAllowed } from '../authority/addresses.ts'
import type { Administration } from '../authority/administration/administration.ts'
import { type Authority, isUnscoped, type VerifiedToken } from '../authority/authority.ts'
import type { CallerSession, LiveSession, UserSession } from '../authority/control-panel/panel-sessions.ts'
import { holderOf } from '../authority/iam-token.ts'
import { isOver } from '../authority/verified-token.ts'
import { callError } from '../base/call-error.ts'
import type { IpAddress, Whereabouts } from '../base/ip-address.ts'
import type { ChangeAuthor, ChangeLane } from '../directory/author.ts'
import type { UserRecord } from '../directory/directory.ts'
import type { Hold } from '../directory/hold.ts'
import type { DirectoryRecords } from '../directory/records.ts'
import { type CallerCredentials, type Callers, EVERY_CALL, type IdentifiedCaller } from './callers.ts'
import type { Admitting, Clocked, Deciding, Recognizing } from './capabilities.ts'

export type Requester = Operator | UserRequester

/** A caller with rights over the directory. */
export interface Operator {
  readonly type: 'operator'
  readonly caller: IdentifiedCaller
  /**
   * The session that they authenticated with; `undefined`: a caller token or a client certificate of the
   * call.
   */
  readonly session?: LiveSession
  readonly from: CallOrigin
  readonly requestId?: string | undefined
}

/** Where a call came from, for the audit trail and the log. */
export interface CallOrigin {
  readonly protocol: 'grpc' | 'http'
  readonly address: Whereabouts
}

type UserRequester = UserByToken | UserBySession

/** A user who authenticated with an IAM token. */
export interface UserByToken extends UserCall {
  readonly token: VerifiedToken
  readonly session?: undefined
}

/** A user who logged in to the control panel. */
export interface UserBySession extends UserCall {
  readonly session: UserSession
  readonly token?: undefined
}

interface UserCall {
  readonly type: 'user'
  /** As the directory has them now. */
  readonly user: UserRecord
  /** Where their call came from; `undefined`: no address is known. */
  readonly clientAddress: IpAddress | undefined
  readonly from: CallOrigin
  readonly requestId?: string | undefined
  /** Whether their call is one that an owner may make from any address. */
  readonly ownersFromAnywhere: boolean
}

/** How a requester says who they are. */
export interface PresentedCredentials extends CallerCredentials {
  /** SHA-256 of the secret of a session of the control panel. Then the call presents nothing else. */
  readonly session?: Buffer | undefined
  /** IP address, where the requester has one. */
  readonly clientAddress: IpAddress | undefined
  /** The same object for all calls of a connection. */
  readonly connection: object
  readonly from: CallOrigin
  /** The id of their request, where it has one. */
  readonly requestId?: string | undefined
}

/** Knows the user of an IAM token. */
export interface Authenticating extends Deciding {
  readonly authority: Authority
  readonly administration: Administration
}

/** Knows who makes a call. */
export interface Identifying extends Authenticating, Recognizing {}

/** Knows them inside the transaction of a change. */
export interface Confirming extends Deciding, Recognizing, Clocked {}

/**
 * The requester of an administrative call. A user needs a token for their account.
 *
 * @param ownersFromAnywhere whether the call is one that an owner may make from any address
 * @throws CallError: UNAUTHENTICATED without the credential of a known requester
 */
export async function identify(
  services: Identifying,
  credentials: PresentedCredentials,
  ownersFromAnywhere = false,
): Promise<Requester> {
  const { session, iamToken, clientAddress, connection, from, requestId } = credentials
  if (session !== undefined)
    return requesterOfSession(services, session, { clientAddress, from, requestId, ownersFromAnywhere })
  const caller = services.callers.find(credentials)
  if (caller !== undefined) return { type: 'operator', caller, from, requestId }
  const [value, ...more] = iamToken
  const requester =
    value !== undefined && more.length === 0
      ? await userByIamToken(services, {
          value,
          clientAddress,
          connection,
          from,
          requestId,
          ownersFromAnywhere,
        })
      : undefined
  if (requester === undefined || requester.token.scope.project !== undefined)
    throw callError('REQUESTER_NOT_AUTHENTICATED', { credential: ADMINISTRATIVE_CREDENTIAL })
  return requester
}

/** @throws CallError where the session has ended, or its caller was withdrawn */
export async function requesterOfSession(
  { controlPanel, callers }: Recognizing,
  hash: Buffer,
  call: Omit<UserCall, 'type' | 'user'>,
): Promise<Operator | UserBySession> {
  const session = await controlPanel?.sessions.use(hash, (found) => expectSessionAddress(call, found))
  if (session === undefined)
    throw callError('REQUESTER_NOT_AUTHENTICATED', { credential: SESSION_CREDENTIAL })
  const { from, requestId } = call
  if (session.holder === 'caller')
    return { type: 'operator', ...operatorOf(callers, session), from, requestId }
  return { type: 'user', user: session.user, session, ...call }
}

/**
 * Expects a session that has not ended and counts where the call comes from, whosever it is.
 *
 * @param connection name of the connection: its calls with sessions have their turn
 * @throws CallError
 */
export async function expectLiveSession(
  { controlPanel, callers, intake }: Admitting,
  hash: Buffer,
  {
    connection,
    ...call
  }: Pick<UserCall, 'clientAddress' | 'ownersFromAnywhere'> & { readonly connection: string },
): Promise<void> {
  await intake.turn(connection, { session: hash })
  const session = await controlPanel?.sessions.use(hash, (found) => expectSessionAddress(call, found))
  if (session === undefined) throw callError('CALLER_TOKEN_MISSING', EVERY_CALL)
  if (session.holder === 'caller') operatorOf(callers, session)
}

/** @throws CallError where the caller was withdrawn */
function operatorOf(
  callers: Pick<Callers, 'byDigest'>,
  session: CallerSession,
): Pick<Operator, 'caller'> & { readonly session: CallerSession } {
  return { caller: callers.byDigest(Buffer.from(session.callerDigest, 'hex')), session }
}

/** @throws CallError where the account of the session's user does not allow the address */
export function expectSessionAddress(
  call: Pick<UserCall, 'clientAddress' | 'ownersFromAnywhere'>,
  session: LiveSession,
): void {
  if (session.holder === 'user') expectAddress(call, session)
}

/** @throws CallError where the account does not allow the address */
function expectAddress(
  { clientAddress, ownersFromAnywhere }: Pick<UserCall, 'clientAddress' | 'ownersFromAnywhere'>,
  { user, addresses }: { readonly user: UserRecord; readonly addresses: readonly string[] },
): void {
  if (!isAllowed(clientAddress, addresses) && !(ownersFromAnywhere && user.owner))
    throw callError('ADDRESS_NOT_ALLOWED', {})
}

const ADMINISTRATIVE_CREDENTIAL =
  'a caller token (`authorization: Bearer …`) or an account-scoped IAM token (`x-auth-token`)'

/** For those who had a session. */
const SESSION_CREDENTIAL = 'a session of the control panel; log in'

/**
 * The requester of an administrative call as they are inside the transaction of its change.
 *
 * @throws CallError as a new call would
 */
export async function confirmRequester(
  services: Confirming,
  requester: Requester,
  records: DirectoryRecords,
): Promise<Requester> {
  const { session } = requester
  if (session !== undefined) return confirmSession(services, requester, session, records)
  if (requester.type === 'operator')
    return { ...requester, caller: services.callers.confirm(requester.caller) }
  return confirmUser(services, requester, records, ADMINISTRATIVE_CREDENTIAL)
}

/** The facts that the right of a requester rests on. A change holds them before it confirms the requester. */
export function holdOf(requester: Requester): Hold {
  const { session } = requester
  const held = session && { session: session.hash }
  if (requester.type === 'operator') return { ...held }
  const { user, token } = requester
  return {
    ...{ account: user.account, userIds: [user.id], ...held },
    ...(token && { tokens: [token.tokenId, ...(token.derivedFrom ?? [])] }),
  }
}

async function confirmSession(
  { controlPanel, callers }: Recognizing,
  requester: Requester,
  before: LiveSession,
  records: DirectoryRecords,
): Promise<Requester> {
  const session = await controlPanel?.sessions.again(records, before)
  if (session?.holder === 'caller' && requester.type === 'operator')
    return { ...requester, ...operatorOf(callers, session) }
  if (session?.holder !== 'user' || requester.type !== 'user')
    throw callError('REQUESTER_NOT_AUTHENTICATED', { credential: SESSION_CREDENTIAL })
  expectAddress(requester, session)
  return { ...requester, user: session.user, token: undefined, session }
}

/**
 * The user as they are inside the transaction of a change. Their call may have waited since they were
 * authenticated.
 *
 * @param credential what a new call would need to present, for the error
 * @throws CallError as a new call would
 */
export async function confirmUser(
  { engine, now }: Deciding & Clocked,
  requester: UserByToken,
  records: DirectoryRecords,
  credential: string,
): Promise<UserByToken> {
  const { token } = requester
  const holder = await holderOf(records, token, engine.tokenKinds.get(token.kind))
  if (holder === undefined || isOver(token, now()))
    throw callError('REQUESTER_NOT_AUTHENTICATED', { credential })
  expectAddress(requester, holder)
  return { ...requester, user: withRightsOf(token, holder.user) }
}

/** The requester as the author of a change. */
export function authorOf(requester: Requester, lane: ChangeLane): ChangeAuthor {
  if (requester.type === 'operator') return callerAuthor(requester, lane)
  const { user, token, session, from, requestId } = requester
  const by =
    token === undefined ? { sessionId: session.id } : { tokenId: token.tokenId, account: token.scope.account }
  return {
    name: `${user.type} ${user.id} (${user.name})`,
    lane,
    principal: user.id,
    origin: { ...from, requestId, ...by },
  }
}

/** A caller as the author of a change. */
export function callerAuthor(
  { caller, session, from, requestId }: Pick<Operator, 'caller' | 'session' | 'from' | 'requestId'>,
  lane: ChangeLane,
): ChangeAuthor {
  const name = `caller ${caller.name}`
  // The lane of those who may do everything cannot be filled by others.
  return {
    name,
    lane: caller.rights.everything ? 'operators' : lane,
    principal: name,
    origin: { ...from, requestId, sessionId: session?.id },
  }
}

/**
 * The user whose active IAM token it is. No other credential authenticates a user here, whatever it opens.
 *
 * @throws CallError `ADDRESS_NOT_ALLOWED`, and where the authority does not answer
 */
export async function userByIamToken(
  { engine, authority, administration }: Authenticating,
  {
    value,
    clientAddress,
    connection,
    from,
    requestId,
    ownersFromAnywhere = false,
    acceptUnscoped = false,
  }: {
    readonly value: string
    /** Where it came from, for accounts that restrict addresses (§1). */
    readonly clientAddress: IpAddress | undefined
    /** The same object for all calls of a connection. */
    readonly connection: object
    readonly from: CallOrigin
    readonly requestId?: string | undefined
    /** Whether an owner counts although they are outside the addresses of their account. */
    readonly ownersFromAnywhere?: boolean | undefined
    /** Whether an unscoped token counts. A use case that accepts it must grant nothing that needs a scope. */
    readonly acceptUnscoped?: boolean | undefined
  },
): Promise<UserByToken | undefined> {
  if (authority.recognize(value, engine.tokenKinds) !== 'issue') return undefined
  const verification = await authority.verify(value, engine.tokenKinds, { clientAddress, connection })
  const { token } = verification
  if (token === undefined) return undefined
  const issued = engine.tokenKinds.get(token.kind)?.obtained.by === 'issue'
  if (!issued && !(acceptUnscoped && isUnscoped(token))) return undefined
  const outside = !verification.ok && verification.reason === 'ADDRESS_NOT_ALLOWED'
  if (!verification.ok && !outside) return undefined
  if (outside && !ownersFromAnywhere) throw callError('ADDRESS_NOT_ALLOWED', {})
  const user = await administration.records.userById(token.subject.id)
  if (outside && !user?.owner) throw callError('ADDRESS_NOT_ALLOWED', {})
  return (
    user && {
      ...{ type: 'user', user: withRightsOf(token, user), token },
      ...{ clientAddress, from, requestId, ownersFromAnywhere },
    }
  )
}

/**
 * The user with the rights that the token gives: one of an application credential with fewer roles than its
 * user has administers and validates nothing.
 */
function withRightsOf({ applicationCredential }: VerifiedToken, user: UserRecord): UserRecord {
  return applicationCredential?.limited ? { ...user, owner: false, roles: [], validator: false } : user
}
