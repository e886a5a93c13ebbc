/**
 * A clock that jumps: what ends by it lasts no longer, whether it was ahead for a while, or is set ahead or
 * back for good.
 */
import { describe, expect, test } from 'vitest'
import { CLOCK_SKEW_MS, TimeLimit } from '../../sidecar/base/time-limit.ts'
import { type Browser, PASSWORD, SESSION } from '../support/console/control-panel.ts'
import { FACTORS, FactorStage, must } from '../support/identity/factor-stage.ts'
import { codeAt } from '../support/identity/totp.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

const account = ACCOUNT
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const stage = await FactorStage.start()
const { clock, administration } = stage

interface Person {
  readonly name: string
  /** Where they are logged in. */
  readonly shown: Browser
}

/** Whether what was made counts, now. */
type Counts = () => Promise<boolean>

const isSignedIn = async (shown: Browser): Promise<boolean> =>
  (await shown.get(SESSION)).json.signedIn === true

const uses = async ({ name, shown }: Person): Promise<boolean> =>
  (await shown.call('GetControlPanelUser', { account, name })).status === 200

const link =
  (purpose: 'invitation' | 'login') =>
  async ({ name }: Person): Promise<Counts> => {
    const { links } = await administration.controlPanel()
    const secret = (await links.create(TESTER, account, name, purpose)).secret.reveal()
    const [path, given] = purpose === 'login' ? ['link', {}] : ['invitation/accept', { password: PASSWORD }]
    return async () => (await stage.browser().post(`${SESSION}/${path}`, { secret, ...given })).status === 200
  }

/** What ends by the wall clock: how it is made, and whether it counts. */
const KINDS: readonly (readonly [what: string, make: (person: Person) => Promise<Counts>])[] = [
  [
    'a session that began then',
    async ({ name }) => {
      const begun = stage.browser()
      await must(stage.logIn(name, undefined, begun))
      return () => isSignedIn(begun)
    },
  ],
  [
    'a session that was used then',
    async (person) => {
      expect(await uses(person)).toBe(true)
      return () => isSignedIn(person.shown)
    },
  ],
  [
    'a proof of who somebody is',
    async ({ name, shown }) => {
      await must(shown.post(`${SESSION}/confirm`, { password: PASSWORD }))
      return async () =>
        (await shown.call('CreateStaticToken', { account, user_name: name, name: 'key' })).status === 200
    },
  ],
  ['an invitation', link('invitation')],
  ['a link that logs in', link('login')],
  [
    'the setup of a one-time code',
    async ({ shown }) => {
      const { secret, sealed } = await must(shown.post(`${FACTORS}/code/begin`, {}))
      return async () =>
        (await shown.post(`${FACTORS}/code`, { sealed, code: codeAt(secret, clock.nowMs) })).status < 300
    },
  ],
  [
    'a challenge of a passkey',
    async ({ shown }) => {
      const { authenticator } = await stage.addPasskey(shown)
      const asking = stage.browser()
      const response = await stage.answerOf(authenticator, asking)
      return async () => (await asking.post(`${SESSION}/passkey`, { response })).status === 200
    },
  ],
]

const JUMPS: readonly (readonly [claim: string, aheadMs: number, thenMs: number, counts: boolean])[] = [
  ['of no jump', 0, 0, true],
  ['of a host that is ahead by less than a minute', CLOCK_SKEW_MS - 1, -(CLOCK_SKEW_MS - 1), true],
  ['of a clock that was ahead for a while by two minutes', 2 * MINUTE_MS, -2 * MINUTE_MS, false],
  ['of a clock that was ahead for a while by ten days', 10 * DAY_MS, -10 * DAY_MS, false],
  ['of a clock that is set back by an hour', 0, -HOUR_MS, false],
  ['of a clock that is set ahead by two days', 0, 2 * DAY_MS, false],
]

describe.each(KINDS)('%s', (_what, make) => {
  test.each(JUMPS)('%s counts as it should', async (_claim, aheadMs, thenMs, counts) => {
    const person = await stage.newPerson()
    const beginMs = clock.nowMs
    try {
      clock.nowMs = beginMs + aheadMs
      // A session that is used later than its idle limit is another matter.
      const made = await make(aheadMs > 20 * MINUTE_MS ? await again(person) : person)
      clock.nowMs += thenMs
      expect(await made()).toBe(counts)
    } finally {
      // Later than all that was made here, whichever way it jumped.
      clock.nowMs = beginMs + 30 * DAY_MS
    }
  })
})

/** The same person, logged in by a clock that is ahead. */
async function again({ name }: Person): Promise<Person> {
  const shown = stage.browser()
  await must(stage.logIn(name, undefined, shown))
  return { name, shown }
}

test('a session that is used by a clock that is right ends twelve hours after its begin by that clock', async () => {
  const person = await stage.newPerson()
  const beginMs = clock.nowMs
  clock.nowMs = beginMs + CLOCK_SKEW_MS
  const later = await again(person)
  for (clock.nowMs = beginMs; clock.nowMs < beginMs + 12 * HOUR_MS; clock.nowMs += 20 * MINUTE_MS)
    expect(await uses(later)).toBe(true)
  clock.nowMs = beginMs + 12 * HOUR_MS + CLOCK_SKEW_MS
  expect(await uses(later)).toBe(false)
})

test.each([
  { what: 'all of it', leftMs: 1_000, over: false },
  { what: 'a last moment', leftMs: 1, over: false },
  { what: 'nothing', leftMs: 0, over: true },
  { what: 'less than nothing', leftMs: -1, over: true },
  { what: 'more than all, by the difference of two clocks', leftMs: 1_000 + CLOCK_SKEW_MS, over: false },
  { what: 'more than that', leftMs: 1_001 + CLOCK_SKEW_MS, over: true },
  { what: 'no end', leftMs: Number.POSITIVE_INFINITY, over: true },
  { what: 'what is no number', leftMs: Number.NaN, over: true },
])('a limit of which $what is left is over: $over', ({ leftMs, over }) => {
  const limit = new TimeLimit(1_000)
  expect(limit.isOver(clock.nowMs + leftMs, clock.nowMs)).toBe(over)
  expect(limit.isOverSince(clock.nowMs + leftMs - limit.ms, clock.nowMs)).toBe(over)
})
