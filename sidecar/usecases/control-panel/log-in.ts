/**
 * Logging in to the control panel: a session begins for a user or a caller who proves who they are. Each
 * proof is checked, or checked again, inside the transaction that begins the session. The log has a trace of
 * each login.
 */
import { hash } from 'node:crypto'
import { controlPanelUser } from '../../authority/actor.ts'
import { newPanelSecret } from '../../authority/control-panel/panel-secret.ts'
import { expectAddress, type LiveSession } from '../../authority/control-panel/panel-sessions.ts'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '../../authority/control-panel/passkeys.ts'
import { checkPanelPassword, expectSame } from '../../authority/control-panel/passwords.ts'
import { CallError, callError } from '../../base/call-error.ts'
import { whereabouts } from '../../base/ip-address.ts'
import type { Secret } from '../../base/secret.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { FactorRecords } from '../../directory/factor-records.ts'
import type { Hold } from '../../directory/hold.ts'
import { type NewSession, PanelChange } from '../../directory/panel-change.ts'
import { PanelRecords } from '../../directory/panel-records.ts'
import type { IdentifiedCaller } from '../callers.ts'
import { traceFailure } from '../login-trace.ts'
import { callerAuthor } from '../requester.ts'
import { originOf, type PanelCall, type PanelServices, placeOf, sourceOf } from './panel-call.ts'
import { expectSecondFactor, provePasskey, whileGuessed } from './second-factors.ts'
import { sessionOf } from './session.ts'

/** A session that has begun. The secret is for the cookie alone. */
export interface Begun {
  readonly secret: Secret
  readonly session: LiveSession
}

/** A user who logs in with a password. */
export interface PasswordLogin {
  readonly account: string
  readonly userName: string
  readonly password: Secret
  /** A one-time code; `undefined`: the user gave none. */
  readonly code: string | undefined
}

/** @throws CallError, as every function here, where no session begins */
export function logInByPassword(
  services: PanelServices,
  call: PanelCall,
  { code, ...claim }: PasswordLogin,
): Promise<Begun> {
  return traced(services, call, claim, () =>
    services.controlPanel.passwords.prove(claim, placeOf(call), async (login) => {
      // A guess of a code counts only where its address is allowed.
      expectAddress(login, originOf(call))
      return whileGuessed(services, login.user, code, () =>
        begin(services, call, userOf(call, login.user), 'password', async (change) => {
          await expectSame(change, login)
          await expectSecondFactor(services, change, login.user, code)
          return login.user
        }),
      )
    }),
  )
}

/** By a link that logs in, which is used up. */
export function logInByLink(services: PanelServices, call: PanelCall, secret: string): Promise<Begun> {
  const { links } = services.controlPanel
  return traced(services, call, undefined, async () => {
    const link = await links.find(secret, 'login')
    return begin(services, call, userOf(call, link.user), 'link', async (change) => {
      const { user, hash } = await links.find(secret, 'login', change.records)
      await new PanelChange(change).removeLink(hash)
      return user
    })
  })
}

/** The user of an invitation, and its end. It is not used up. */
export interface Invitation {
  readonly account: string
  readonly user: string
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number
}

export async function lookAtInvitation(
  services: PanelServices,
  call: PanelCall,
  secret: string,
): Promise<Invitation> {
  const { links } = services.controlPanel
  const { user, endsAtMs } = await refusalsTraced(services, call, undefined, () =>
    links.find(secret, 'invitation'),
  )
  return { account: user.account, user: user.name, endsAtMs }
}

/**
 * Sets the password of an invitation, which is used up, and logs in. Earlier factors of the user are deleted.
 */
export function acceptInvitation(
  services: PanelServices,
  call: PanelCall,
  secret: string,
  password: Secret,
): Promise<Begun> {
  const { links, passwords } = services.controlPanel
  return traced(services, call, undefined, async () => {
    const invitation = await links.find(secret, 'invitation')
    // Before the work of hashing a password.
    expectAddress(invitation, originOf(call))
    checkPanelPassword('password', password, invitation.user)
    const passwordHash = await passwords.hash(password, invitation.user.id)
    return begin(services, call, userOf(call, invitation.user), 'invitation', async (change) => {
      const { user } = await links.find(secret, 'invitation', change.records)
      await new PanelChange(change).acceptInvitation(user, passwordHash)
      // With the generation that it has now.
      return (await change.records.userById(user.id)) ?? user
    })
  })
}

/**
 * Options with which a browser asks a passkey: to confirm the session of the call, or to log in if there is
 * none. Nothing is stored.
 */
export async function passkeyChallenge(
  services: PanelServices,
  call: PanelCall,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const known = await sessionOf(services, call)
  const { passkeys, records } = services.controlPanel
  const asked = { origin: call.page, nowMs: services.now() }
  // It is not known yet who logs in.
  if (known?.session.holder !== 'user') return passkeys.options({ purpose: 'login' }, [], asked)
  const { id, user } = known.session
  const existing = await new FactorRecords(records).passkeys(user.id)
  return passkeys.options({ purpose: 'confirm', session: id }, existing, asked)
}

/** By a passkey, in place of the password and the code. */
export function logInByPasskey(
  services: PanelServices,
  call: PanelCall,
  response: AuthenticationResponseJSON,
): Promise<Begun> {
  return traced(services, call, undefined, async () => {
    const { userId, use } = await provePasskey(services, call, { purpose: 'login' }, response)
    const user = await services.controlPanel.records.userById(userId)
    if (user === undefined) throw callError('PASSKEY_REFUSED', {})
    return begin(services, call, userOf(call, user), 'passkey', async (change) => {
      await use(change)
      const login = await new PanelRecords(change.records).login(user.account, user.name)
      if (login?.user.id !== userId) throw callError('PASSKEY_REFUSED', {})
      return login.user
    })
  })
}

/** A caller logs in with the caller token. */
export function logInAsOperator(services: PanelServices, call: PanelCall, token: Secret): Promise<Begun> {
  return traced(services, call, undefined, async () => {
    const { callers } = services
    const digest = digestOf(token)
    const caller = callers.byDigestOrNobody(digest)
    if (caller === undefined) throw await callerTokenRefused(services, call)
    const hold = { alone: [`sessions of caller ${caller.name}`] }
    return begin(services, call, { author: authorOfCaller(call, caller), hold }, 'caller token', async () => {
      callers.confirm(caller)
      return { caller: caller.name, digest: digest.toString('hex') }
    })
  })
}

/**
 * Counts a wrong caller token. Right ones never come here, so callers cannot be locked out.
 *
 * @throws CallError `LOGIN_THROTTLED`
 */
export async function callerTokenRefused(
  { controlPanel }: Pick<PanelServices, 'controlPanel'>,
  call: PanelCall,
): Promise<CallError> {
  const settle = await controlPanel.failedLogins.admit({ ...NO_USER, source: sourceOf(call) })
  settle('failed')
  return callError('CALLER_TOKEN_INVALID', {})
}

/** No user has these names. */
const NO_USER = { account: '', userName: '' }

/** A caller who begins a session or confirms it. */
export function authorOfCaller(call: PanelCall, caller: IdentifiedCaller): ChangeAuthor {
  return callerAuthor({ caller, from: originOf(call), requestId: call.requestId }, 'administrators')
}

/** The facts about a caller token. */
export function digestOf(token: Secret): Buffer {
  return hash('sha256', token.reveal(), 'buffer')
}

/** The person who logs in. */
interface Beginner {
  readonly author: ChangeAuthor
  /** The facts that the proof rests on. */
  readonly hold: Hold
}

function userOf(call: PanelCall, user: UserRecord): Beginner {
  const hold = { account: user.account, userIds: [user.id], changes: 'users' } as const
  return { author: controlPanelUser(user, originOf(call)), hold }
}

/**
 * Begins a session in place of the one that the browser has.
 *
 * @param way how the holder is proved, for the audit trail
 * @param prove finds the holder inside the transaction
 */
async function begin(
  { controlPanel, changeRates }: PanelServices,
  call: PanelCall,
  { author, hold }: Beginner,
  way: string,
  prove: (change: DirectoryChange) => Promise<NewSession['holder']>,
): Promise<Begun> {
  changeRates.spend(author)
  const { secret, hash } = newPanelSecret()
  const { sessions } = controlPanel
  const { client, session: replaced } = call
  const { address } = originOf(call)
  return controlPanel.change(author, async (change) => {
    change.writer.hold(hold)
    const holder = await prove(change)
    const panel = new PanelChange(change)
    const before = replaced && (await sessions.find(replaced, change.records))
    if (before !== undefined) await panel.replaceSession(before)
    await panel.beginSession({ hash, holder, way, endsAtMs: sessions.endsAtMs(), address, client })
    const session = await sessions.find(hash, change.records)
    if (session === undefined) throw callError('LOGIN_FAILED', {})
    if (session.holder === 'user') expectAddress(session, originOf(call))
    return { secret, session }
  })
}

/** How many sessions that begin by one source have a line of their own each minute. */
const SESSION_LINES = 10

/** Leaves a trace in the log of a login, however it ends. */
async function traced(
  services: PanelServices,
  call: PanelCall,
  user: { readonly account: string; readonly userName: string } | undefined,
  logIn: () => Promise<Begun>,
): Promise<Begun> {
  const begun = await refusalsTraced(services, call, user, logIn)
  const { session } = begun
  const who =
    session.holder === 'user'
      ? { user: session.user.id, user_name: session.user.name, account: session.user.account }
      : {}
  services.trace.record({
    level: 'info',
    message: 'a session of the control panel began',
    by: { protocol: 'http', address: whereabouts(call.clientAddress), ...who },
    details: () => ({ session_id: session.id, request_id: call.requestId }),
    lines: SESSION_LINES,
  })
  return begun
}

/** Leaves a trace in the log of a proof that is refused. */
export async function refusalsTraced<T>(
  services: PanelServices,
  call: PanelCall,
  user: { readonly account: string; readonly userName: string } | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { requestId, ...from } = originOf(call)
    const login = { from, source: sourceOf(call), requestId, user, userType: 'control_panel_user' } as const
    // A user who is asked for more logs in again in a moment.
    const continues = error instanceof CallError && error.row.login === 'continues'
    if (!continues) traceFailure(services, login, error)
    throw error
  }
}
