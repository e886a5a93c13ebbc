/** Second factors over HTTP, as the page sets them up and uses them, in browsers at `localhost`. */
import { expect } from 'vitest'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import { Browser, PASSWORD, type PanelSidecar, SESSION, startPanel } from '../console/control-panel.ts'
import { TESTER } from '../sidecar/actor.ts'
import { ACCOUNT } from '../sidecar/sidecar.ts'
import { Authenticator } from './authenticator.ts'
import { codeAt } from './totp.ts'

export const FACTORS = '/console/factors'
export const STEP_MS = 30_000
export const MINUTE_MS = 60_000
export const NEW_PASSWORD = 'ten yellow bottles'

/** Fields of some answers. The options are those that an authenticator takes. */
interface Answered {
  readonly options: never
  readonly secret: string
  readonly uri: string
  readonly sealed: string
  readonly passkeys: readonly object[]
}

/** Expects that a request succeeds. */
export async function must(asked: ReturnType<Browser['post']>): Promise<Answered> {
  const answer = await asked
  expect([answer.status, answer.text]).toEqual([expect.toSatisfy((status) => status < 300), answer.text])
  return answer.json as Answered
}

export class FactorStage {
  readonly clock: { nowMs: number }
  readonly panel: PanelSidecar
  readonly origin: string
  #people = 0

  private constructor(panel: PanelSidecar, clock: { nowMs: number }) {
    this.clock = clock
    this.panel = panel
    this.origin = `http://localhost:${panel.port}`
  }

  static async start(): Promise<FactorStage> {
    const clock = { nowMs: 1_800_000_000_000 }
    const flags = { 'login_throttle.failures': 3 }
    return new FactorStage(await startPanel({ now: () => clock.nowMs, flags }), clock)
  }

  get administration() {
    return this.panel.running.sidecar.administration
  }

  browser(at = this.origin): Browser {
    return new Browser(this.panel.port, at)
  }

  /** A new user who accepted an invitation, in a browser of theirs. */
  async newPerson(at = this.origin): Promise<{ name: string; shown: Browser }> {
    const name = `person-${this.#people++}`
    await run(this.administration, TESTER, 'createControlPanelUser', { account: ACCOUNT, name })
    return { name, shown: await this.accept(name, at) }
  }

  async accept(name: string, at = this.origin): Promise<Browser> {
    const shown = this.browser(at)
    const secret = await this.panel.invite(name)
    await must(shown.post(`${SESSION}/invitation/accept`, { secret, password: PASSWORD }))
    return shown
  }

  logIn(name: string, code?: string, at = this.browser()) {
    const login = { account: ACCOUNT, user: name, password: PASSWORD, ...(code && { code }) }
    return at.post(`${SESSION}/login`, login)
  }

  /** Sets up a one-time code, and waits until its step has ended. Returns its secret. */
  async setCode(shown: Browser): Promise<string> {
    const { secret, uri, sealed } = await must(shown.post(`${FACTORS}/code/begin`, {}))
    expect(new URL(uri).searchParams.get('secret')).toBe(secret)
    await must(shown.post(`${FACTORS}/code`, { sealed, code: codeAt(secret, this.clock.nowMs) }))
    this.clock.nowMs += STEP_MS
    return secret
  }

  async addPasskey(shown: Browser, authenticator = new Authenticator(), name = 'a key') {
    const { options } = await must(shown.post(`${FACTORS}/passkeys/challenge`, {}))
    const response = authenticator.create(options, this.origin)
    const passkey = await must(shown.post(`${FACTORS}/passkeys`, { name, response }))
    return { authenticator, passkey }
  }

  /** An authenticator's answer to a challenge that the browser asked for. */
  async answerOf(authenticator: Authenticator, shown: Browser) {
    const { options } = await must(shown.post(`${SESSION}/passkey/challenge`, {}))
    return authenticator.get(options, this.origin)
  }
}

export function factorsOf(shown: Browser): Promise<Answered> {
  return must(shown.get(FACTORS))
}
