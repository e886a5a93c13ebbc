/** Records that a clock that was ahead wrote into the directory, once that time has come. */
import { expect, test } from 'vitest'
import { endAhead } from '../../sidecar/authority/control-panel/wrong-clock.ts'
import { CLOCK_SKEW_MS } from '../../sidecar/base/time-limit.ts'
import { type Browser, SESSION, startPanel } from '../support/console/control-panel.ts'
import { PanelStage, type Person, reasonOf } from '../support/console/panel-stage.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { eventually } from '../support/suite/resources.ts'

const stage = new PanelStage()
const { clock } = stage

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const JUMP_MS = 10 * DAY_MS

/** Makes something that the directory keeps. Returns whether it counts, which changes nothing. */
type Make = (person: Person) => Promise<() => Promise<boolean>>

const link =
  (purpose: 'invitation' | 'login'): Make =>
  async ({ account, name }) => {
    const { links } = stage.panel
    const { secret } = await links.create(TESTER, account, name, purpose)
    return async () => (await reasonOf(links.find(secret.reveal(), purpose))) === 'succeeded'
  }

const KEPT: readonly (readonly [what: string, make: Make])[] = [
  [
    'a session that began then',
    async (person) => {
      const { hash } = (await stage.logIn(person)).session
      return async () => (await stage.panel.sessions.find(hash)) !== undefined
    },
  ],
  [
    'a session that was used then',
    async (person) => {
      clock.nowMs -= HOUR_MS / 2
      const { hash } = (await stage.logIn(person)).session
      clock.nowMs += HOUR_MS / 2
      await stage.panel.sessions.use(hash, () => {})
      return async () => (await stage.panel.sessions.find(hash)) !== undefined
    },
  ],
  ['an invitation', link('invitation')],
  ['a link that logs in', link('login')],
]

test.each(KEPT)(
  '%s does not count when that time comes, and one of another time does',
  async (_what, make) => {
    const [person, other] = [await stage.newPerson(), await stage.newPerson()]
    clock.nowMs += JUMP_MS
    const counts = await make(person)
    expect(await counts()).toBe(true)
    clock.nowMs -= JUMP_MS
    const ofOther = await make(other)
    const { sessions, links } = (await endAhead(stage)) ?? { sessions: 0, links: 0 }
    expect(sessions + links).toBe(1)
    expect([await endAhead(stage), await ofOther()]).toEqual([undefined, true])
    clock.nowMs += JUMP_MS
    expect(await counts()).toBe(false)
  },
)

test.each(KEPT)('%s is kept where the clocks of two hosts differ by a minute', async (_what, make) => {
  const person = await stage.newPerson()
  clock.nowMs += CLOCK_SKEW_MS
  const counts = await make(person)
  clock.nowMs -= CLOCK_SKEW_MS
  expect([await endAhead(stage), await counts()]).toEqual([undefined, true])
})

test('a sidecar that starts ends sessions of the future, says so, and leaves the others', async () => {
  const now = { ms: Date.now() }
  const before = await startPanel({ now: () => now.ms })
  now.ms += JUMP_MS
  const ended = await before.loggedIn('pia')
  now.ms -= JUMP_MS
  const kept = await before.loggedIn('olga')
  await before.running.sidecar.close()
  const { running, browser } = await startPanel({ now: () => now.ms, folder: before.running.folder })
  await eventually(() => running.logLines.join().includes('were dated in the future'))
  const isSignedIn = async (shown: Browser) => {
    const again = browser()
    again.takeSession(shown)
    return (await again.get(SESSION)).json.signedIn
  }
  expect(await isSignedIn(kept)).toBe(true)
  now.ms += JUMP_MS
  expect(await isSignedIn(ended)).toBe(false)
})

test('an answer of a passkey counts once, whatever the clock says meanwhile', async () => {
  const person = await stage.newPerson()
  // An authenticator that does not count: the challenge alone distinguishes its answers.
  const authenticator = new Authenticator('ES256', false)
  await stage.addPasskey(person, authenticator)
  const answer = await stage.answerOf(authenticator)
  await stage.logInByPasskey(answer)
  clock.nowMs += DAY_MS - HOUR_MS
  const other = await stage.newPerson()
  await stage.logInByPasskey(await stage.answerOf(await stage.withPasskey(other)))
  clock.nowMs -= DAY_MS - HOUR_MS
  expect(await reasonOf(stage.logInByPasskey(answer))).toBe('PASSKEY_REFUSED')
})
