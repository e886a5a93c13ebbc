/** The session of a request of the page: whose it is, until when, and its end. */
import { type LiveSession, sessionEnded } from '../../authority/control-panel/panel-sessions.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { isAccountAdministrator, PROOF_LIMIT } from '../administration/authorize.ts'
import type { CallerRights } from '../callers.ts'
import { authorOf, expectSessionAddress, type Requester } from '../requester.ts'
import { originOf, type PanelCall, type PanelServices } from './panel-call.ts'

/** What the page learns about its session. Times are milliseconds since the epoch. */
export interface SessionView {
  readonly id: string
  readonly who:
    | {
        readonly type: 'user'
        readonly account: string
        readonly name: string
        readonly owner: boolean
        /** Whether they administer the account (§5.1). */
        readonly administrator: boolean
        readonly roles: readonly string[]
      }
    | { readonly type: 'operator'; readonly name: string; readonly rights: CallerRights }
  /** Where the request came from. */
  readonly address: string
  readonly createdAtMs: number
  /** Until then it may do what gives out secrets. */
  readonly confirmedUntilMs: number
  /** It ends then unless it is used. */
  readonly idleUntilMs: number
  readonly endsAtMs: number
  readonly nowMs: number
}

/** A session, and who has it now. */
export interface KnownSession {
  readonly session: LiveSession
  readonly requester: Requester
}

/**
 * The session of a call, which this does not prolong; `undefined`: there is none, or its caller was
 * withdrawn.
 */
export async function sessionOf(
  { controlPanel, callers }: Pick<PanelServices, 'controlPanel' | 'callers'>,
  call: PanelCall,
): Promise<KnownSession | undefined> {
  const session = call.session && (await controlPanel.sessions.find(call.session))
  if (session === undefined) return undefined
  const { requestId, ...from } = originOf(call)
  if (session.holder === 'caller') {
    const caller = callers.byDigestOrNobody(Buffer.from(session.callerDigest, 'hex'))
    return caller && { session, requester: { type: 'operator', caller, session, from, requestId } }
  }
  const { clientAddress } = call
  const { user } = session
  return {
    session,
    requester: { type: 'user', user, session, clientAddress, from, requestId, ownersFromAnywhere: true },
  }
}

/** As `sessionOf`. @throws CallError where there is none */
export async function expectSession(
  services: Pick<PanelServices, 'controlPanel' | 'callers'>,
  call: PanelCall,
): Promise<KnownSession> {
  const known = await sessionOf(services, call)
  if (known === undefined) throw sessionEnded()
  return known
}

/**
 * As `expectSession`, and the session is used: it ends that much later.
 *
 * @throws CallError where there is none
 */
export async function useSession(
  services: Pick<PanelServices, 'controlPanel' | 'callers'>,
  call: PanelCall,
): Promise<KnownSession> {
  const { clientAddress } = call
  if (call.session !== undefined)
    await services.controlPanel.sessions.use(call.session, (session) =>
      expectSessionAddress({ clientAddress, ownersFromAnywhere: true }, session),
    )
  return expectSession(services, call)
}

/** Ends the session of a call, if it has one. */
export async function logOut(services: PanelServices, call: PanelCall): Promise<void> {
  const session = call.session && (await services.controlPanel.sessions.find(call.session))
  if (session === undefined) return
  const known = await sessionOf(services, call)
  const actor = known
    ? authorOf(known.requester, 'revocations')
    : { name: `session ${session.id}`, lane: 'revocations' as const, principal: session.id }
  const caller = known?.requester.type === 'operator' ? known.requester.caller.name : ''
  // To end one's own session takes no right.
  await services.controlPanel.change(actor, (change) => new PanelChange(change).logOut(session, caller))
}

export function viewOf(
  { controlPanel, now }: Pick<PanelServices, 'controlPanel' | 'now'>,
  { session, requester }: KnownSession,
): SessionView {
  return {
    id: session.id,
    who: whoIs(requester),
    address: requester.from.address,
    createdAtMs: session.createdAtMs,
    confirmedUntilMs: PROOF_LIMIT.endOf(session.confirmedAtMs),
    idleUntilMs: controlPanel.sessions.idleUntilMs(session),
    endsAtMs: session.endsAtMs,
    nowMs: now(),
  }
}

function whoIs(requester: Requester): SessionView['who'] {
  if (requester.type === 'operator') {
    const { name, rights } = requester.caller
    return { type: 'operator', name, rights }
  }
  const { account, name, owner, roles } = requester.user
  const administrator = isAccountAdministrator(requester.user, account)
  return { type: 'user', account, name, owner, administrator, roles }
}
