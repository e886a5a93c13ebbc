/**
 * What control panel users log in with. They look at it and change it themselves, in a session that they have
 * confirmed lately.
 */
import type { Actor } from '../../authority/actor.ts'
import type { CodeSetup, PasskeyRecord, Setting } from '../../authority/control-panel/factors.ts'
import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from '../../authority/control-panel/passkeys.ts'
import type { NewPassword } from '../../authority/control-panel/password-replacement.ts'
import { sessionEnded } from '../../authority/control-panel/sessions.ts'
import { callError } from '../../base/call-error.ts'
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

/** The other sessions of the user end. */
export async function replaceOwnPassword(
  services: FactorServices,
  call: PanelCall,
  password: NewPassword,
): Promise<void> {
  const setting = await settingOf(services, call)
  const { account, name: userName } = setting.user
  const { from } = loginRequestOf(services, call)
  await refusalsTraced(services, call, { account, userName }, () =>
    services.controlPanel.passwords.replace(setting, password, from),
  )
}

/** Nothing is stored before `setCode`. */
export async function beginCode(services: FactorServices, call: PanelCall): Promise<CodeSetup> {
  return services.controlPanel.factors.beginCode(await expectConfirmedUser(services, call))
}

/** @param shown what the setup began with, and the code that the app shows */
export async function setCode(
  services: FactorServices,
  call: PanelCall,
  shown: { readonly sealed: string; readonly code: string },
): Promise<void> {
  return services.controlPanel.factors.setCode(await settingOf(services, call), shown)
}

export async function deleteCode(services: FactorServices, call: PanelCall): Promise<void> {
  return services.controlPanel.factors.deleteCode(await settingOf(services, call, 'revocations'))
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
  return services.controlPanel.factors.addPasskey(await settingOf(services, call), made, call.page)
}

export async function deletePasskey(services: FactorServices, call: PanelCall, id: string): Promise<void> {
  return services.controlPanel.factors.deletePasskey(await settingOf(services, call, 'revocations'), id)
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
): Promise<Omit<Setting, 'actor'> & { readonly requester: UserBySession }> {
  const requester = await userOf(services, call)
  expectConfirmed(requester, services.now())
  return { requester, user: requester.user, session: requester.session.id }
}

/**
 * The user as who changes what they log in with. That the session was confirmed is looked at again inside the
 * transaction.
 */
async function settingOf(
  services: FactorServices,
  call: PanelCall,
  lane: 'users' | 'revocations' = 'users',
): Promise<Setting> {
  const { requester, user, session } = await expectConfirmedUser(services, call)
  const author = authorOf(requester, lane)
  services.changeRates.spend(author)
  const confirm: Actor['confirm'] = async ({ records }) =>
    expectConfirmed(await confirmRequester(services, requester, records), services.now())
  return { user, session, actor: { ...author, confirm } }
}
