/**
 * What the use cases of the control panel are given, in this process: a real directory with people, callers,
 * and what the log says. No protocol.
 */
import { setImmediate } from 'node:timers/promises'
import type { LiveSession } from '../../../sidecar/authority/control-panel/panel-sessions.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { Callers } from '../../../sidecar/usecases/callers.ts'
import { ChangeRates } from '../../../sidecar/usecases/change-rates.ts'
import {
  addPasskey,
  beginCode,
  type FactorServices,
  optionsOfNewPasskey,
  setCode,
} from '../../../sidecar/usecases/control-panel/factors.ts'
import {
  acceptInvitation,
  logInAsOperator,
  passkeyChallenge,
} from '../../../sidecar/usecases/control-panel/log-in.ts'
import type { PanelCall } from '../../../sidecar/usecases/control-panel/panel-call.ts'
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

/** Refusals, as `outcomeOf` tells them. */
export const FAILED = 'LOGIN_FAILED: the name of the user or the password is wrong'
export const NO_LINK = 'LINK_INVALID: the link is unknown, already used or expired; ask for a new one'
export const NO_PASSKEY =
  'PASSKEY_REFUSED: the passkey was not accepted; expected a passkey of a user who may log in here'
export const NO_CALLER =
  'CALLER_TOKEN_INVALID: the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`'
export const ENDED = 'REQUESTER_NOT_AUTHENTICATED: expected a session of the control panel; log in'
export const OUTSIDE =
  'ADDRESS_NOT_ALLOWED: the account restricts client addresses, and this address is not allowed'

/** What the log has of who makes a call of `callOf`. */
export const BY = { protocol: 'http', address: ADDRESS }

/** What the log has of a login of theirs that failed. */
export const loginFailed = (reason: string, more: object = {}) => [
  {
    ...{ level: 'warn', msg: 'a login failed', reason, ...BY, source: `address ${ADDRESS}` },
    ...{ caller: undefined, profile: undefined, request_id: 'r-1', ...more },
  },
]

/** A call of the page by a browser without a session; what is given changes that. */
export const callOf = (change: Partial<PanelCall> = {}): PanelCall => ({
  ...{ clientAddress: ADDRESS, connection: 'connection 1', requestId: 'r-1' },
  ...{ client: 'Browser/1.0', page: PAGE, session: undefined },
  ...change,
})

/** A log that keeps its lines. */
function newLog() {
  const lines: object[] = []
  const log = (level: string) => (facts: object, msg?: string) => void lines.push({ level, msg, ...facts })
  return { lines, log: { info: log('info'), warn: log('warn'), error: log('error') } }
}

export async function openPanelServices() {
  const clock = { nowMs: 1_800_000_000_000 }
  const people = await openPeople(ACCOUNT, () => clock.nowMs)
  const { administration, userNamed, run } = people
  const controlPanel = await administration.controlPanel()
  const callers = new Callers(CALLERS, () => clock.nowMs)
  const changeRates = new ChangeRates({ burst: 1_000, administratorPerMinute: 1, userPerMinute: 1 })
  const services = { ...people, controlPanel, callers, changeRates, trace: new Trace(newLog().log) }
  const linkFor = async (name: string, purpose: 'invitation' | 'login' = 'invitation') =>
    (await controlPanel.links.create(TESTER, ACCOUNT, name, purpose)).secret.reveal()
  /** A session of a user, who has accepted an invitation in it, or of a caller. */
  const sessionOf = async (name: string): Promise<LiveSession> => {
    const begun = CALLERS.some((caller) => caller.name === name)
      ? logInAsOperator(services, callOf(), new Secret(`${name}-token`))
      : acceptInvitation(services, callOf(), await linkFor(name), new Secret(PASSWORD))
    return (await begun).session
  }
  return {
    ...{ services, clock, controlPanel, userNamed, linkFor, sessionOf },
    ...settingUp({ services, clock, sessionOf }),
    restrictTo: (...ranges: string[]) => run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges }),
    /** What an authenticator answers to a challenge that a call of the page asked for. */
    answerOf: async (authenticator: Authenticator, call = callOf()) =>
      authenticator.get(await passkeyChallenge(services, call), PAGE),
    /** What comes of it, and what the log says of it. */
    traced: async <T>(work: (given: typeof services) => Promise<T>) => {
      const { lines, log } = newLog()
      const outcome = await outcomeOf(() => work({ ...services, trace: new Trace(log) }))
      // Some lines name a user whom the directory is asked for.
      for (let turn = 0; turn < 3; turn++) await setImmediate()
      return { outcome, lines }
    },
    /** Withdraws every caller, until the work ends. */
    withoutCallers: async <T>(work: () => Promise<T>): Promise<T> => {
      callers.replace([])
      try {
        return await work()
      } finally {
        callers.replace(CALLERS)
      }
    },
    /** What the audit trail has last. */
    lastRecord: async (account = ACCOUNT) =>
      (await administration.records.audit(account, { after: '0', size: 1_000 })).at(-1),
  }
}

/** Sets up second factors of users, each in a new session. */
function settingUp({
  services,
  clock,
  sessionOf,
}: {
  readonly services: FactorServices
  readonly clock: { nowMs: number }
  readonly sessionOf: (name: string) => Promise<LiveSession>
}) {
  /** @returns what shows the next code of the app */
  const addCode = async (session: LiveSession) => {
    const call = callOf({ session: session.hash })
    const { secret, sealed } = await beginCode(services, call)
    const shown = () => codeAt(secret.reveal(), clock.nowMs)
    await setCode(services, call, { sealed, code: shown() })
    return () => {
      clock.nowMs += STEP_MS
      return shown()
    }
  }
  return {
    addCode,
    withCode: async (name: string) => {
      const session = await sessionOf(name)
      return { session, next: await addCode(session) }
    },
    withPasskey: async (name: string) => {
      const session = await sessionOf(name)
      const call = callOf({ session: session.hash })
      const authenticator = new Authenticator()
      const response = authenticator.create(await optionsOfNewPasskey(services, call), PAGE)
      const passkey = await addPasskey(services, call, { name: 'a key', response })
      return { session, authenticator, passkey }
    },
  }
}
