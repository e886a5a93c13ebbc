/**
 * Logging in to the control panel, with its trace in the log. What is proved, and what that gives, is decided
 * by the authority.
 */

import { hash } from 'node:crypto'
import type { Begun } from '../../authority/control-panel/log-in.ts'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '../../authority/control-panel/passkeys.ts'
import type { LiveSession } from '../../authority/control-panel/sessions.ts'
import { CallError, callError } from '../../base/call-error.ts'
import { whereabouts } from '../../base/ip-address.ts'
import type { Secret } from '../../base/secret.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { IdentifiedCaller } from '../callers.ts'
import { traceFailure } from '../login-trace.ts'
import { callerAuthor } from '../requester.ts'
import { loginRequestOf, originOf, type PanelCall, type PanelServices, sourceOf } from './call.ts'
import { sessionOf } from './session.ts'

/** A user who logs in with a password. */
export interface PasswordLogin {
  readonly account: string
  readonly userName: string
  readonly password: Secret
  /** A one-time code; `undefined`: the user gave none. */
  readonly code: string | undefined
}

/** @throws CallError */
export function logInByPassword(
  services: PanelServices,
  call: PanelCall,
  login: PasswordLogin,
): Promise<Begun> {
  const { code, ...claim } = login
  return traced(services, call, claim, () =>
    services.controlPanel.logIn.byPassword(claim, code, loginRequestOf(services, call)),
  )
}

/** @throws CallError */
export function logInByLink(services: PanelServices, call: PanelCall, secret: string): Promise<Begun> {
  return traced(services, call, undefined, () =>
    services.controlPanel.logIn.byLink(secret, loginRequestOf(services, call)),
  )
}

/** Whose invitation it is, and until when. It is not used up. */
export interface Invitation {
  readonly account: string
  readonly user: string
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number
}

/** @throws CallError */
export async function lookAtInvitation(
  services: PanelServices,
  call: PanelCall,
  secret: string,
): Promise<Invitation> {
  const { controlPanel } = services
  const { user, endsAtMs } = await refusalsTraced(services, call, undefined, () =>
    controlPanel.logIn.invitation(secret),
  )
  return { account: user.account, user: user.name, endsAtMs }
}

/** Sets the password of an invitation, and logs in. @throws CallError */
export function acceptInvitation(
  services: PanelServices,
  call: PanelCall,
  secret: string,
  password: Secret,
): Promise<Begun> {
  return traced(services, call, undefined, () =>
    services.controlPanel.logIn.byInvitation(secret, password, loginRequestOf(services, call)),
  )
}

/**
 * What a browser asks a passkey with: to confirm the session of the call, or to log in where it has none.
 * Nothing is stored.
 *
 * @throws CallError
 */
export async function passkeyChallenge(
  services: PanelServices,
  call: PanelCall,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const known = await sessionOf(services, call)
  const { factors } = services.controlPanel
  if (known?.session.holder !== 'user')
    return factors.passkeyOptions({ purpose: 'login' }, undefined, call.page)
  const { id, user } = known.session
  return factors.passkeyOptions({ purpose: 'confirm', session: id }, user, call.page)
}

/** @throws CallError */
export function logInByPasskey(
  services: PanelServices,
  call: PanelCall,
  response: AuthenticationResponseJSON,
): Promise<Begun> {
  const { factors, logIn } = services.controlPanel
  return traced(services, call, undefined, async () => {
    const proof = await factors.provePasskey({ purpose: 'login' }, response, call.page)
    return logIn.byPasskey(proof, loginRequestOf(services, call))
  })
}

/** A caller logs in with the caller token. @throws CallError */
export function logInAsOperator(services: PanelServices, call: PanelCall, token: Secret): Promise<Begun> {
  return traced(services, call, undefined, async () => {
    const { callers, controlPanel } = services
    const request = loginRequestOf(services, call)
    const digest = digestOf(token)
    const caller = callers.byDigestOrNobody(digest)
    if (caller === undefined) {
      await controlPanel.logIn.refuseCaller(request.from)
      throw callError('CALLER_TOKEN_INVALID', {})
    }
    const again = () => void callers.confirm(caller)
    const author = authorOf(call, caller)
    return controlPanel.logIn.ofCaller({ author, caller: caller.name, digest, again }, request)
  })
}

/** What somebody with a session proves again. */
export type Proof =
  | { readonly type: 'password'; readonly password: Secret; readonly code: string | undefined }
  | { readonly type: 'passkey'; readonly response: AuthenticationResponseJSON }
  | { readonly type: 'token'; readonly token: Secret }

/** The holder of a session proves again who they are. @throws CallError */
export async function confirmSession(
  services: PanelServices,
  call: PanelCall,
  session: LiveSession,
  proof: Proof,
): Promise<LiveSession> {
  const { callers, controlPanel } = services
  const request = loginRequestOf(services, call)
  if (session.holder === 'user' && proof.type === 'password') {
    const { account, name: userName } = session.user
    const claim = { account, userName, password: proof.password }
    return refusalsTraced(services, call, claim, () =>
      controlPanel.logIn.confirmByPassword(session, claim, proof.code, request),
    )
  }
  if (proof.type === 'passkey')
    return refusalsTraced(services, call, undefined, async () => {
      const what = { purpose: 'confirm', session: session.id } as const
      const proven = await controlPanel.factors.provePasskey(what, proof.response, call.page)
      return controlPanel.logIn.confirmByPasskey(session, proven, request)
    })
  return refusalsTraced(services, call, undefined, async () => {
    const digest = proof.type === 'token' ? digestOf(proof.token) : undefined
    if (session.holder !== 'caller' || digest?.toString('hex') !== session.callerDigest) {
      await controlPanel.logIn.refuseCaller(request.from)
      throw callError('CALLER_TOKEN_INVALID', {})
    }
    const caller = callers.byDigest(digest)
    const author = authorOf(call, caller)
    request.spend(author)
    return controlPanel.sessions.confirm(author, session, async () => void callers.confirm(caller))
  })
}

/** A caller who begins a session or confirms it. */
function authorOf(call: PanelCall, caller: IdentifiedCaller): ChangeAuthor {
  return callerAuthor({ caller, from: originOf(call), requestId: call.requestId }, 'administrators')
}

function digestOf(token: Secret): Buffer {
  return hash('sha256', token.reveal(), 'buffer')
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
