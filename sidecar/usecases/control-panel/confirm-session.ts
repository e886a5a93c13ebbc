/** The holder of a session of the control panel proves again who they are. */
import { controlPanelUser } from '../../authority/actor.ts'
import {
  expectAddress,
  type LiveSession,
  sessionEnded,
  type UserSession,
} from '../../authority/control-panel/panel-sessions.ts'
import type { AuthenticationResponseJSON } from '../../authority/control-panel/passkeys.ts'
import { expectSame } from '../../authority/control-panel/passwords.ts'
import { callError } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { authorOfCaller, callerTokenRefused, digestOf, refusalsTraced } from './log-in.ts'
import { originOf, type PanelCall, type PanelServices, placeOf } from './panel-call.ts'
import { expectSecondFactor, provePasskey, whileGuessed } from './second-factors.ts'

export type Proof =
  | { readonly type: 'password'; readonly password: Secret; readonly code: string | undefined }
  | { readonly type: 'passkey'; readonly response: AuthenticationResponseJSON }
  | { readonly type: 'token'; readonly token: Secret }

/** @throws CallError where the session has ended, or the proof is not of its holder */
export function confirmSession(
  services: PanelServices,
  call: PanelCall,
  session: LiveSession,
  proof: Proof,
): Promise<LiveSession> {
  if (session.holder === 'user' && proof.type === 'password')
    return byPassword(services, call, session, proof)
  return refusalsTraced(services, call, undefined, () =>
    proof.type === 'passkey'
      ? byPasskey(services, call, session, proof.response)
      : byCallerToken(services, call, session, proof),
  )
}

/** With the password of the user, and what it takes beside it. */
function byPassword(
  services: PanelServices,
  call: PanelCall,
  session: UserSession,
  { password, code }: Extract<Proof, { readonly type: 'password' }>,
): Promise<LiveSession> {
  const { account, name: userName } = session.user
  const claim = { account, userName, password }
  return refusalsTraced(services, call, claim, () =>
    services.controlPanel.passwords.prove(claim, placeOf(call), async (login) => {
      expectAddress(login, originOf(call))
      const author = controlPanelUser(login.user, originOf(call))
      services.changeRates.spend(author)
      return whileGuessed(services, login.user, code, () =>
        confirm(services, author, session, async (change) => {
          await expectSame(change, login)
          await expectSecondFactor(services, change, login.user, code)
        }),
      )
    }),
  )
}

async function byPasskey(
  services: PanelServices,
  call: PanelCall,
  session: LiveSession,
  response: AuthenticationResponseJSON,
): Promise<LiveSession> {
  const what = { purpose: 'confirm', session: session.id } as const
  const { userId, use } = await provePasskey(services, call, what, response)
  // Survives: `session.holder !== 'user'` → `false`. A passkey is asked to confirm the session of a user
  // alone, so no answer is for that of a caller.
  if (session.holder !== 'user' || session.user.id !== userId) throw callError('PASSKEY_REFUSED', {})
  const author = controlPanelUser(session.user, originOf(call))
  services.changeRates.spend(author)
  return confirm(services, author, session, use)
}

async function byCallerToken(
  services: PanelServices,
  call: PanelCall,
  session: LiveSession,
  proof: Proof,
): Promise<LiveSession> {
  const { callers } = services
  const digest = proof.type === 'token' ? digestOf(proof.token) : undefined
  // Survives: `session.holder !== 'caller'` → `false`. The session of a user has no digest of a caller token,
  // so no digest is the same.
  if (session.holder !== 'caller' || digest?.toString('hex') !== session.callerDigest)
    throw await callerTokenRefused(services, call)
  const caller = callers.byDigest(digest)
  const author = authorOfCaller(call, caller)
  services.changeRates.spend(author)
  return confirm(services, author, session, async () => void callers.confirm(caller))
}

/** @param prove expects the proof, inside the transaction */
function confirm(
  { controlPanel }: PanelServices,
  author: ChangeAuthor,
  confirmed: LiveSession,
  prove: (change: DirectoryChange) => Promise<void>,
): Promise<LiveSession> {
  const { sessions } = controlPanel
  const { hash } = confirmed
  const ofUser = confirmed.holder === 'user' && {
    ...{ account: confirmed.user.account, userIds: [confirmed.user.id], changes: 'users' as const },
  }
  return controlPanel.change(author, async (change) => {
    change.writer.hold({ ...ofUser, session: hash })
    const before = await sessions.find(hash, change.records)
    if (before === undefined) throw sessionEnded()
    if (before.holder === 'user') expectAddress(before, author.origin)
    await prove(change)
    await new PanelChange(change).confirmSession(hash)
    const session = await sessions.find(hash, change.records)
    if (session === undefined) throw sessionEnded()
    return session
  })
}
