/**
 * What control panel users log in with. They look at it and change it themselves, in a session that they have
 * confirmed lately.
 */
import {
  type CodeSetup,
  expectRoom,
  type PasskeyRecord,
  type Setting,
} from '../../authority/control-panel/factors.ts'
import { expectSame } from '../../authority/control-panel/log-in.ts'
import {
  canBePasskey,
  type PublicKeyCredentialCreationOptionsJSON,
  type RegistrationResponseJSON,
} from '../../authority/control-panel/passkeys.ts'
import { checkPanelPassword } from '../../authority/control-panel/passwords.ts'
import { sessionEnded } from '../../authority/control-panel/sessions.ts'
import { checkName } from '../../authority/names.ts'
import { callError, invalidArgument } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { FactorChange } from '../../directory/factor-change.ts'
import { FactorRecords } from '../../directory/factor-records.ts'
import { found } from '../../directory/found.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { PanelRecords } from '../../directory/panel-records.ts'
import { expectConfirmed } from '../administration/authorize.ts'
import type { Deciding } from '../capabilities.ts'
import { authorOf, confirmRequester, requesterOfSession, type UserBySession } from '../requester.ts'
import { loginRequestOf, originOf, type PanelCall, type PanelServices } from './call.ts'
import { refusalsTraced } from './log-in.ts'

export interface FactorServices extends PanelServices, Deciding {}

/** Times are milliseconds since the epoch; `undefined`: the user has none. */
export interface FactorsView {
  readonly passwordChangedAtMs: number | undefined
  readonly codeCreatedAtMs: number | undefined
  readonly passkeys: readonly PasskeyRecord[]
}

/** @throws CallError, as every function here, where there is no answer */
export async function factorsOf(services: FactorServices, call: PanelCall): Promise<FactorsView> {
  const { user } = await userOf(services, call)
  const { passwords, factors } = services.controlPanel
  return {
    passwordChangedAtMs: await passwords.since(user.id),
    codeCreatedAtMs: await factors.codeSince(user.id),
    passkeys: await factors.passkeys(user.id),
  }
}

export interface NewPassword {
  /** The password that the user has; `undefined`: they have none, because a link logged them in. */
  readonly current: Secret | undefined
  readonly password: Secret
}

/**
 * The other sessions of the user end.
 *
 * @throws CallError `LOGIN_FAILED` where the current password is another one
 */
export async function replaceOwnPassword(
  services: FactorServices,
  call: PanelCall,
  { current, password }: NewPassword,
): Promise<void> {
  const own = await ownChange(services, call)
  const { user, session } = own
  const { account, name: userName } = user
  const { passwords } = services.controlPanel
  const set = async (expect: (change: DirectoryChange) => Promise<void>) => {
    const hash = await passwords.hash(password, user.id)
    await own.change(async (change) => {
      await expect(change)
      await new PanelChange(change).replacePassword(user, hash, session)
    })
  }
  await refusalsTraced(services, call, { account, userName }, async () => {
    checkPanelPassword('password', password, user)
    if (current === undefined) return set((change) => expectNoPassword(change, user))
    if (current.reveal() === password.reveal())
      throw invalidArgument({ field: 'password', expected: 'another password than the current one' })
    const { from } = loginRequestOf(services, call)
    return passwords.prove({ account, userName, password: current }, from, (login) =>
      set((change) => expectSame(change, login)),
    )
  })
}

async function expectNoPassword({ records }: DirectoryChange, { id }: UserRecord): Promise<void> {
  if ((await new PanelRecords(records).password(id)) !== undefined)
    throw invalidArgument({ field: 'current', expected: 'the password that the user has' })
}

/** Nothing is stored before `setCode`. */
export async function beginCode(services: FactorServices, call: PanelCall): Promise<CodeSetup> {
  return services.controlPanel.factors.beginCode(await expectConfirmedUser(services, call))
}

/**
 * Replaces the one-time code that the user has, if any.
 *
 * @param shown what the setup began with, and the code that the app shows
 */
export async function setCode(
  services: FactorServices,
  call: PanelCall,
  shown: { readonly sealed: string; readonly code: string },
): Promise<void> {
  const own = await ownChange(services, call)
  const { step, ...code } = await services.controlPanel.factors.proveCode(own, shown)
  await own.change((change) => new FactorChange(change).setCode(own.user, code, step))
}

export async function deleteCode(services: FactorServices, call: PanelCall): Promise<void> {
  const { user, change: changeOwn } = await ownChange(services, call, 'revocations')
  await changeOwn(async (change) => {
    const deleted = await new FactorChange(change).deleteCode(user)
    found(deleted || undefined, 'one-time code')
  })
}

export async function optionsOfNewPasskey(
  services: FactorServices,
  call: PanelCall,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const user = await expectConfirmedUser(services, call)
  return services.controlPanel.factors.optionsOfNewPasskey(user, call.page)
}

export async function addPasskey(
  services: FactorServices,
  call: PanelCall,
  made: { readonly name: string; readonly response: RegistrationResponseJSON },
): Promise<PasskeyRecord> {
  const own = await ownChange(services, call)
  checkName('name', made.name)
  const { factors } = services.controlPanel
  const { challenge, ...passkey } = await factors.proveNewPasskey(own, made.response, call.page)
  return own.change(async (change) => {
    const records = new FactorRecords(change.records)
    if (!(await new FactorChange(change).useChallenge(challenge))) throw callError('PASSKEY_REFUSED', {})
    expectRoom(await records.passkeys(own.user.id))
    await new FactorChange(change).addPasskey(own.user, { ...passkey, name: made.name })
    return found(await records.passkey(passkey.id), 'passkey')
  }, 'the passkey')
}

export async function deletePasskey(services: FactorServices, call: PanelCall, id: string): Promise<void> {
  const { user, change: changeOwn } = await ownChange(services, call, 'revocations')
  await changeOwn(async (change) => {
    const deleted = canBePasskey(id) && (await new FactorChange(change).deletePasskey(user, id))
    found(deleted || undefined, 'such passkey')
  })
}

/** @throws CallError unless the call has a session of a user */
async function userOf(services: FactorServices, call: PanelCall): Promise<UserBySession> {
  const { session, clientAddress } = call
  if (session === undefined) throw sessionEnded()
  const { requestId, ...from } = originOf(call)
  const asked = { clientAddress, from, requestId, ownersFromAnywhere: false }
  const requester = await requesterOfSession(services, session, asked)
  if (requester.type !== 'user') throw callError('NOT_ADMINISTRATOR', { who: 'control panel users' })
  return requester
}

async function expectConfirmedUser(
  services: FactorServices,
  call: PanelCall,
): Promise<Setting & { readonly requester: UserBySession }> {
  const requester = await userOf(services, call)
  expectConfirmed(requester, services.now())
  return { requester, user: requester.user, session: requester.session.id }
}

/** A change that a user makes to what they log in with. */
interface OwnChange extends Setting {
  /** That the session was confirmed is looked at again inside the transaction. */
  readonly change: <T>(work: (change: DirectoryChange) => Promise<T>, creating?: string) => Promise<T>
}

async function ownChange(
  services: FactorServices,
  call: PanelCall,
  lane: 'users' | 'revocations' = 'users',
): Promise<OwnChange> {
  const { requester, user, session } = await expectConfirmedUser(services, call)
  const author = authorOf(requester, lane)
  services.changeRates.spend(author)
  const change: OwnChange['change'] = (work, creating) =>
    services.controlPanel.change(
      author,
      async (begun) => {
        expectConfirmed(await confirmRequester(services, requester, begun.records), services.now())
        return work(begun)
      },
      creating,
    )
  return { user, session, change }
}
