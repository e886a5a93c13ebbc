/** The control panel on a real directory, without a protocol: people who set up second factors and log in. */

import { createSecretKey, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import { trusted } from '../../../sidecar/authority/actor.ts'
import { ControlPanel } from '../../../sidecar/authority/control-panel/control-panel.ts'
import type { AuthenticationResponseJSON } from '../../../sidecar/authority/control-panel/passkeys.ts'
import { Passwords } from '../../../sidecar/authority/password.ts'
import { FailedLogins } from '../../../sidecar/authority/throttle.ts'
import type { IpAddress } from '../../../sidecar/base/ip-address.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openSqlite } from '../../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
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
  logInByPasskey,
  logInByPassword,
  passkeyChallenge,
} from '../../../sidecar/usecases/control-panel/log-in.ts'
import type { PanelCall } from '../../../sidecar/usecases/control-panel/panel-call.ts'
import { Authenticator } from '../identity/authenticator.ts'
import { codeAt } from '../identity/totp.ts'
import { SHIPPED } from '../sidecar/services.ts'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'

export const ORIGIN = 'https://panel.example'
export const PASSWORD = 'correct horse battery'
export const STEP_MS = 30_000
/** Failed logins before a pause. */
export const FAILURES = 3
export const PAUSE_MS = 60_000

export type Person = Awaited<ReturnType<PanelStage['newPerson']>>

/** To be made at the top of a file of tests. Each test has a throttle of its own, and steps of its own. */
export class PanelStage {
  readonly clock = { nowMs: 1_800_000_000_000 }
  readonly store: DirectoryStore
  failedLogins: FailedLogins
  panel: ControlPanel
  readonly changeRates = new ChangeRates({ burst: 1_000, administratorPerMinute: 1, userPerMinute: 1 })
  readonly #pepper = createSecretKey(randomBytes(32))
  #people = 0

  constructor() {
    this.store = new DirectoryStore(openSqlite(join(newFolder(), 'directory.sqlite')), this.now)
    whenTheFileEnds(() => this.store.close())
    this.failedLogins = this.#openThrottle()
    this.panel = this.#openPanel()
    beforeEach(() => {
      this.failedLogins = this.#openThrottle()
      this.panel = this.#openPanel()
      this.clock.nowMs += 100 * STEP_MS
    })
  }

  readonly now = () => this.clock.nowMs

  #openThrottle(): FailedLogins {
    return new FailedLogins({ failures: FAILURES, pauseMs: PAUSE_MS }, this.now)
  }

  #openPanel(): ControlPanel {
    return new ControlPanel({
      ...{ store: this.store, pepper: this.#pepper, now: this.now },
      passwords: new Passwords({ concurrent: 2, waiting: 1_000, rememberMs: 0 }),
      failedLogins: this.failedLogins,
      limits: { idleMs: 3_600_000, lifetimeMs: 12 * 3_600_000 },
    })
  }

  /** A user who accepted an invitation, in a session of theirs. */
  async newPerson() {
    const [account, name] = [`account-${this.#people}`, `person-${this.#people++}`]
    await this.store.change('a test', async (change) => {
      await change.createAccount(account)
      const record = await change.records.account(account)
      if (record !== undefined) await change.createUser(record, { name, type: 'control_panel_user' })
    })
    return { ...(await this.accept(account, name)), account, name }
  }

  async accept(account: string, name: string) {
    const { secret } = await this.panel.links.create(trusted('a test'), account, name, 'invitation')
    const password = new Secret(PASSWORD)
    const { session } = await acceptInvitation(this.services, callFrom(), secret.reveal(), password)
    if (session.holder !== 'user') throw new TypeError('the session is not of the user')
    const setting = { user: session.user, session: session.id }
    return { session, setting, user: session.user }
  }

  /** Sets up a one-time code, and waits until its step is over. Returns its secret. */
  async withCode(person: Pick<Person, 'session'>): Promise<string> {
    const { secret, sealed } = await beginCode(...this.own(person))
    await setCode(...this.own(person), { sealed, code: codeAt(secret.reveal(), this.now()) })
    this.clock.nowMs += STEP_MS
    return secret.reveal()
  }

  async withPasskey(person: Pick<Person, 'session'>): Promise<Authenticator> {
    const authenticator = new Authenticator()
    await this.addPasskey(person, authenticator)
    return authenticator
  }

  async addPasskey(person: Pick<Person, 'session'>, authenticator: Authenticator) {
    const options = await optionsOfNewPasskey(...this.own(person))
    const made = { name: 'a key', response: authenticator.create(options, ORIGIN) }
    return addPasskey(...this.own(person), made)
  }

  /** What use cases are given. */
  get services(): FactorServices {
    return {
      ...{ controlPanel: this.panel, now: this.now, engine: SHIPPED, changeRates: this.changeRates },
      trace: { refused: () => {}, record: () => {} },
      callers: new Callers([], this.now),
    } as unknown as FactorServices
  }

  /** What use cases are given for a person who asks in their session. */
  own({ session }: Pick<Person, 'session'>): [FactorServices, PanelCall] {
    return [this.services, { ...callFrom(), session: session.hash }]
  }

  logIn({ account, name }: Person, code?: string, password = PASSWORD, call = callFrom()) {
    const login = { account, userName: name, password: new Secret(password), code }
    return logInByPassword(this.services, call, login)
  }

  /** What an authenticator answers to a new challenge to log in. */
  async answerOf(authenticator: Authenticator): Promise<AuthenticationResponseJSON> {
    return authenticator.get(await passkeyChallenge(this.services, callFrom()), ORIGIN)
  }

  logInByPasskey(response: AuthenticationResponseJSON) {
    return logInByPasskey(this.services, callFrom(), response)
  }
}

/** A call of a browser without a session. */
export function callFrom(clientAddress: IpAddress = '203.0.113.1'): PanelCall {
  return {
    ...{ clientAddress, connection: 'a test', requestId: 'a test' },
    ...{ client: 'a test', page: ORIGIN, session: undefined },
  }
}

/** Why a login or a change failed. */
export function reasonOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'succeeded',
    ({ reason }) => reason as string,
  )
}
