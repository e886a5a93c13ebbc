/**
 * What the use cases of the control panel are given, in this process: a real directory with people, callers,
 * and what the log says. No protocol.
 */
import { setImmediate } from 'node:timers/promises'
import type { LiveSession } from '../../../sidecar/authority/control-panel/sessions.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { Callers } from '../../../sidecar/usecases/callers.ts'
import { ChangeRates } from '../../../sidecar/usecases/change-rates.ts'
import type { PanelCall } from '../../../sidecar/usecases/control-panel/call.ts'
import { acceptInvitation, logInAsOperator } from '../../../sidecar/usecases/control-panel/log-in.ts'
import { Trace } from '../../../sidecar/usecases/trace.ts'
import { Authenticator } from '../identity/authenticator.ts'
import { codeAt } from '../identity/totp.ts'
import { TESTER } from '../sidecar/actor.ts'
import { callerNamed, openPeople, outcomeOf } from '../sidecar/services.ts'

export const ACCOUNT = '4711'
export const PAGE = 'https://panel.example'
export const PASSWORD = 'nine green bottles'
/** Where calls come from, and the addresses of an account that restricts them to elsewhere. */
export const ADDRESS = '192.0.2.7'
export const ELSEWHERE = '198.51.100.0/24'
export const CLERK = callerNamed('clerk', { administer: new Set([ACCOUNT]) })
const STEP_MS = 30_000
const CALLERS = [CLERK, callerNamed('root', { everything: true })]

/** A call of the page by a browser without a session; what is given changes that. */
export const callOf = (change: Partial<PanelCall> = {}): PanelCall => ({
  ...{ clientAddress: ADDRESS, connection: 'connection 1', requestId: 'r-1' },
  ...{ client: 'Browser/1.0', page: PAGE, session: undefined },
  ...change,
})

export type PanelUse = Awaited<ReturnType<typeof openPanelServices>>

export async function openPanelServices() {
  const clock = { nowMs: 1_800_000_000_000 }
  const people = await openPeople(ACCOUNT, () => clock.nowMs)
  const { administration } = people
  const controlPanel = await administration.controlPanel()
  const callers = new Callers(CALLERS, () => clock.nowMs)
  const changeRates = new ChangeRates({ burst: 1_000, administratorPerMinute: 1, userPerMinute: 1 })
  const lines: object[] = []
  const log = (level: string) => (facts: object, msg?: string) => void lines.push({ level, msg, ...facts })
  const services = {
    ...{ ...people, controlPanel, callers, changeRates },
    trace: new Trace({ info: () => {}, warn: () => {}, error: () => {} }),
  }
  return {
    ...{ services, clock, callers, controlPanel, administration },
    userNamed: people.userNamed,
    restrictTo: (...ranges: string[]) =>
      administration.accounts.setAddressRestriction(TESTER, ACCOUNT, ranges),
    linkFor: async (name: string, purpose: 'invitation' | 'login' = 'invitation') =>
      (await controlPanel.links.create(TESTER, ACCOUNT, name, purpose)).secret.reveal(),
    /** What comes of it, and what the log says of it. */
    async traced<T>(work: (services: typeof this.services) => Promise<T>) {
      lines.length = 0
      const trace = new Trace({ info: log('info'), warn: log('warn'), error: log('error') })
      const outcome = await outcomeOf(() => work({ ...services, trace }))
      // Some lines name a user whom the directory is asked for.
      for (let turn = 0; turn < 3; turn++) await setImmediate()
      return { outcome, lines: [...lines] }
    },
    /** As a user in a session of theirs sets something up, and the session. */
    async settingOf(name: string) {
      const session = await this.sessionOf(name)
      return { user: await people.userNamed(name), session: session.id, actor: TESTER, known: session }
    },
    /** Sets up a one-time code. @returns the session, and what shows the next code of the app */
    async withCode(name: string) {
      const setting = await this.settingOf(name)
      const { secret, sealed } = await controlPanel.factors.beginCode(setting)
      const shown = () => codeAt(secret.reveal(), clock.nowMs)
      await controlPanel.factors.setCode(setting, { sealed, code: shown() })
      const next = () => {
        clock.nowMs += STEP_MS
        return shown()
      }
      return { session: setting.known, next }
    },
    async withPasskey(name: string) {
      const setting = await this.settingOf(name)
      const authenticator = new Authenticator()
      const options = await controlPanel.factors.optionsOfNewPasskey(setting, PAGE)
      const response = authenticator.create(options, PAGE)
      const passkey = await controlPanel.factors.addPasskey(setting, { name: 'a key', response }, PAGE)
      return { session: setting.known, authenticator, passkey }
    },
    /** Withdraws every caller, until the work ends. */
    async withoutCallers<T>(work: () => Promise<T>): Promise<T> {
      callers.replace([])
      try {
        return await work()
      } finally {
        callers.replace(CALLERS)
      }
    },
    /** A session of a user, who has accepted an invitation in it, or of a caller. */
    async sessionOf(name: string, change: Partial<PanelCall> = {}): Promise<LiveSession> {
      const call = callOf(change)
      const begun = CALLERS.some((caller) => caller.name === name)
        ? logInAsOperator(services, call, new Secret(`${name}-token`))
        : acceptInvitation(services, call, await this.linkFor(name), new Secret(PASSWORD))
      return (await begun).session
    },
    /** What the audit trail has last. */
    lastRecord: async (account = ACCOUNT) =>
      (await administration.audit(account, { after: '0', size: 1_000 })).at(-1),
  }
}
