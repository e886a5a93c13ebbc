/**
 * The factors with which control panel users log in. They look at them and change them themselves, in a
 * session that they have confirmed lately.
 */
import type { CodeSetup } from '../../authority/control-panel/codes.ts'
import { sessionEnded } from '../../authority/control-panel/panel-sessions.ts'
import {
  canBePasskey,
  type PublicKeyCredentialCreationOptionsJSON,
  type RegistrationResponseJSON,
} from '../../authority/control-panel/passkeys.ts'
import { checkPanelPassword, expectSame } from '../../authority/control-panel/passwords.ts'
import { checkName } from '../../authority/names.ts'
import { callError, invalidArgument } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { FactorChange } from '../../directory/factor-change.ts'
import { FactorRecords, type PasskeyRecord } from '../../directory/factor-records.ts'
import { found } from '../../directory/found.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { PanelRecords } from '../../directory/panel-records.ts'
import { expectConfirmed } from '../administration/authorize.ts'
import type { Deciding } from '../capabilities.ts'
import { authorOf, confirmRequester, holdOf, requesterOfSession, type UserBySession } from '../requester.ts'
import { refusalsTraced } from './log-in.ts'
import { originOf, type PanelCall, type PanelServices, placeOf } from './panel-call.ts'

/** Most passkeys of a user. */
const PASSKEYS_MAX = 20

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
  const { passwords, records } = services.controlPanel
  const factors = new FactorRecords(records)
  return {
    passwordChangedAtMs: await passwords.since(user.id),
    codeCreatedAtMs: (await factors.code(user.id))?.createdAtMs,
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
    return passwords.prove({ account, userName, password: current }, placeOf(call), (login) =>
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
  const { user, session } = await expectConfirmedUser(services, call)
  return services.controlPanel.codes.begin(user, session, services.now())
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
  const { user, session } = own
  const { step, ...code } = await services.controlPanel.codes.finish(user, session, shown, services.now())
  await own.change((change) => new FactorChange(change).setCode(user, code, step))
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
  const { user, session } = await expectConfirmedUser(services, call)
  const { passkeys, records } = services.controlPanel
  const existing = await new FactorRecords(records).passkeys(user.id)
  expectRoom(existing)
  return passkeys.optionsOfNew(user, existing, session, { origin: call.page, nowMs: services.now() })
}

export async function addPasskey(
  services: FactorServices,
  call: PanelCall,
  made: { readonly name: string; readonly response: RegistrationResponseJSON },
): Promise<PasskeyRecord> {
  const own = await ownChange(services, call)
  checkName('name', made.name)
  const { passkeys } = services.controlPanel
  const asked = { origin: call.page, nowMs: services.now() }
  const { challenge, ...passkey } = await passkeys.verifyNew(made.response, own.session, asked)
  return own.change(async (change) => {
    const records = new FactorRecords(change.records)
    if (!(await new FactorChange(change).useChallenge(challenge))) throw callError('PASSKEY_REFUSED', {})
    expectRoom(await records.passkeys(own.user.id))
    await new FactorChange(change).addPasskey(own.user, { ...passkey, name: made.name })
    return (await records.passkey(passkey.id)) as PasskeyRecord
  }, 'the passkey')
}

export async function deletePasskey(services: FactorServices, call: PanelCall, id: string): Promise<void> {
  const { user, change: changeOwn } = await ownChange(services, call, 'revocations')
  await changeOwn(async (change) => {
    const deleted = canBePasskey(id) && (await new FactorChange(change).deletePasskey(user, id))
    found(deleted || undefined, 'such passkey')
  })
}

/** @throws CallError `PASSKEYS_FULL` */
function expectRoom(passkeys: readonly PasskeyRecord[]): void {
  if (passkeys.length >= PASSKEYS_MAX) throw callError('PASSKEYS_FULL', { max: PASSKEYS_MAX })
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

/** A user, and the session in which they set something up. */
interface Setting {
  readonly user: UserRecord
  /** Id of the session. */
  readonly session: string
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
  /** The transaction checks again that the session was confirmed. */
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
        begun.writer.hold({ ...holdOf(requester), changes: 'users' })
        expectConfirmed(await confirmRequester(services, requester, begun.records), services.now())
        return work(begun)
      },
      creating,
    )
  return { user, session, change }
}
