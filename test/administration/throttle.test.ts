/** Failed logins slow down a guesser, one after the other or all at once, and no other client. */
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { compile, type TokenKind } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { nameOfSource, sourceAt } from '../../sidecar/authority/login-source.ts'
import { openEmbeddedAuthority } from '../../sidecar/authority/open-authority.ts'
import {
  FailedLogins,
  type LoginAttempt,
  type LoginOutcome,
  type Settle,
} from '../../sidecar/authority/throttle.ts'
import { ipAddress } from '../../sidecar/base/ip-address.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { holdHashes } from '../support/suite/hashes.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

const FAILURES = 3
const PAUSE_MS = 5_000
const ADDRESS = '192.0.2.1'
const USER: LoginAttempt = { account: ACCOUNT, userName: 'user', source: ADDRESS }

describe('failed logins', () => {
  const clock = { nowMs: 0 }
  let logins: FailedLogins
  beforeEach(() => {
    clock.nowMs = 1_000_000
    logins = new FailedLogins({ failures: FAILURES, pauseMs: PAUSE_MS }, () => clock.nowMs)
  })

  /** Whether a login is let through to the password check; then it is abandoned. */
  async function admitted(attempt = USER): Promise<boolean> {
    const [outcome] = await Promise.allSettled([logins.admit(attempt)])
    if (outcome?.status === 'fulfilled') outcome.value('abandoned')
    else expect(outcome?.reason).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'LOGIN_THROTTLED' })
    return outcome?.status === 'fulfilled'
  }

  /** Logins one after the other that end so. */
  async function end(times: number, outcome: LoginOutcome, attempt = USER): Promise<void> {
    for (let index = 0; index < times; index++) (await logins.admit(attempt))(outcome)
  }

  test.each<
    [claim: string, failures: number, laterMs: number, who: Partial<LoginAttempt>, admitted: boolean]
  >([
    ['as many as the bound wait', FAILURES, 0, {}, false],
    ['fewer do not', FAILURES - 1, 0, {}, true],
    ['until the pause is over', FAILURES, PAUSE_MS - 1, {}, false],
    ['and no longer', FAILURES, PAUSE_MS, {}, true],
    ['from another address the user logs in', FAILURES, 0, { source: '192.0.2.2' }, true],
    ['from that address another user logs in', FAILURES, 0, { userName: 'other' }, true],
    ['so does the user of that name in another account', FAILURES, 0, { account: '654321' }, true],
    ['a clock that was set back does not lengthen the wait', FAILURES, -60_000, {}, true],
  ])('%s', async (_claim, failures, laterMs, who, expected) => {
    await end(failures, 'failed')
    clock.nowMs += laterMs
    expect(await admitted({ ...USER, ...who })).toBe(expected)
  })

  describe('of one source, with whatever names', () => {
    const SOURCE_FAILURES = 5
    beforeEach(() => {
      const limits = { failures: FAILURES, sourceFailures: SOURCE_FAILURES, pauseMs: PAUSE_MS }
      logins = new FailedLogins(limits, () => clock.nowMs)
    })

    test.each<
      [claim: string, failures: number, laterMs: number, who: Partial<LoginAttempt>, admitted: boolean]
    >([
      ['as many as the bound wait', SOURCE_FAILURES, 0, {}, false],
      ['fewer do not', SOURCE_FAILURES - 1, 0, {}, true],
      ['until the pause is over', SOURCE_FAILURES, PAUSE_MS - 1, {}, false],
      ['and no longer', SOURCE_FAILURES, PAUSE_MS, {}, true],
      ['from another source everybody logs in', SOURCE_FAILURES, 0, { source: '192.0.2.2' }, true],
    ])('%s', async (_claim, failures, laterMs, who, expected) => {
      for (let index = 0; index < failures; index++)
        await end(1, 'failed', { ...USER, userName: `name ${index}` })
      clock.nowMs += laterMs
      expect(await admitted({ ...USER, userName: 'another', ...who })).toBe(expected)
    })

    test('a clock that was set back forgets none of them, and the next one that fails begins a pause', async () => {
      for (let index = 0; index < SOURCE_FAILURES; index++)
        await end(1, 'failed', { ...USER, userName: `name ${index}` })
      clock.nowMs -= 60_000
      await end(1, 'failed', { ...USER, userName: 'one more' })
      expect(await admitted({ ...USER, userName: 'another' })).toBe(false)
      clock.nowMs += PAUSE_MS
      expect(await admitted({ ...USER, userName: 'another' })).toBe(true)
    })

    test('they are forgotten after as long as the pauses for them take, and no sooner', async () => {
      let names = 0
      const fail = () => end(1, 'failed', { ...USER, userName: `name ${names++}` })
      const other = { ...USER, userName: 'another' }
      for (let index = 0; index < SOURCE_FAILURES; index++) await fail()
      clock.nowMs += SOURCE_FAILURES * PAUSE_MS - 1
      await fail()
      expect(await admitted(other)).toBe(false)
      clock.nowMs += SOURCE_FAILURES * PAUSE_MS
      await fail()
      expect(await admitted(other)).toBe(true)
    })

    test('a login of its own user that succeeds forgets none of them', async () => {
      for (let index = 0; index < SOURCE_FAILURES; index++) {
        await end(1, 'succeeded', { ...USER, userName: 'own' })
        await end(1, 'failed', { ...USER, userName: `name ${index}` })
      }
      expect(await admitted({ ...USER, userName: 'own' })).toBe(false)
    })
  })

  test('one more failure after the pause makes the next ones wait again', async () => {
    await end(FAILURES, 'failed')
    clock.nowMs += PAUSE_MS
    await end(1, 'failed')
    expect(await admitted()).toBe(false)
  })

  test('a login that succeeds forgets the failures before it', async () => {
    await end(FAILURES - 1, 'failed')
    await end(1, 'succeeded')
    await end(FAILURES - 1, 'failed')
    expect(await admitted()).toBe(true)
  })

  test('a login that is abandoned counts as nothing', async () => {
    await end(FAILURES * 2, 'abandoned')
    await end(FAILURES, 'failed')
    expect(await admitted()).toBe(false)
  })

  test('names that join to the same text are kept apart', async () => {
    await end(FAILURES, 'failed', { account: '1","2', userName: 'user', source: 'a' })
    expect(await admitted({ account: '1', userName: '2","user', source: 'a' })).toBe(true)
  })

  describe('at once', () => {
    /**
     * Logins that are in flight, in the order in which they were let through, and what became of the others.
     */
    let places: { readonly index: number; readonly settle: Settle }[]
    let refusals: { readonly index: number; readonly message: string }[]
    beforeEach(() => {
      places = []
      refusals = []
    })

    /** So many logins of the user at the same time. */
    async function arrive(count: number): Promise<void> {
      for (let index = 0; index < count; index++)
        logins.admit(USER).then(
          (settle) => places.push({ index, settle }),
          (error) => refusals.push({ index, message: error.message }),
        )
      await settled()
    }

    /** The login that has been in flight for longest ends so. */
    async function finish(outcome: LoginOutcome): Promise<void> {
      places.shift()?.settle(outcome)
      await settled()
    }

    /** What follows from what was done has happened. */
    const settled = () => new Promise((resolve) => setImmediate(resolve))
    const inFlight = () => places.map(({ index }) => index)

    test.each<[claim: string, failures: number, laterMs: number, inFlight: number]>([
      ['as many are in flight as may fail', 0, 0, FAILURES],
      ['fewer after failures', 2, 0, FAILURES - 2],
      ['one after the pause', FAILURES, PAUSE_MS, 1],
      ['none before it is over', FAILURES, 0, 0],
    ])('%s', async (_claim, failures, laterMs, expected) => {
      await end(failures, 'failed')
      clock.nowMs += laterMs
      await arrive(10)
      expect(inFlight()).toEqual(Array.from({ length: expected }, (_, index) => index))
    })

    test.each<[outcome: LoginOutcome, then: readonly number[]]>([
      ['succeeded', [1, 2, 3]],
      ['abandoned', [1, 2, 3]],
      ['failed', [1, 2]],
    ])('after one that %s these are in flight: %j', async (outcome, then) => {
      await arrive(10)
      await finish(outcome)
      expect(inFlight()).toEqual(then)
      expect(refusals).toEqual([])
    })

    test('the failure that reaches the bound refuses all that wait', async () => {
      await arrive(10)
      for (let index = 0; index < FAILURES; index++) await finish('failed')
      expect(places).toEqual([])
      expect(refusals).toEqual(
        Array.from({ length: 10 - FAILURES }, (_, index) => ({
          index: FAILURES + index,
          message: 'too many failed logins of this user from this source; try again in 5 s',
        })),
      )
    })

    test('a success among failures lets the others go on, with all places again', async () => {
      await end(FAILURES - 1, 'failed')
      await arrive(10)
      expect(inFlight()).toEqual([0])
      await finish('succeeded')
      expect(inFlight()).toEqual([1, 2, 3])
    })

    test('after the pause one that fails refuses those behind it, and one that succeeds does not', async () => {
      await end(FAILURES, 'failed')
      clock.nowMs += PAUSE_MS
      await arrive(3)
      await finish('failed')
      expect(refusals.map(({ index }) => index)).toEqual([1, 2])
      clock.nowMs += PAUSE_MS
      await arrive(3)
      await finish('succeeded')
      expect(inFlight()).toEqual([1, 2])
    })

    test('all of many that succeed get their turn, in order', async () => {
      await arrive(FAILURES + 100)
      for (let index = 0; index < FAILURES + 100; index++) {
        expect(inFlight()[0]).toBe(index)
        await finish('succeeded')
      }
      expect(refusals).toEqual([])
    })

    test('no more than 100 wait; those of another user are not among them', async () => {
      await arrive(FAILURES + 101)
      expect(refusals).toEqual([
        {
          index: FAILURES + 100,
          message: 'too many logins of this user from this source are waiting; try again in 1 s',
        },
      ])
      expect(await admitted({ ...USER, userName: 'other' })).toBe(true)
    })
  })
})

describe('over the wire', async () => {
  const running = await runSidecar({
    flags: { 'login_throttle.failures': 3, 'login_throttle.pause_ms': 3_600_000 },
  })
  await populate(running)
  const login = (userName: string, password: string): Promise<string> =>
    running.client
      .issue({ password: { userName, account: ACCOUNT, password }, scope: { account: ACCOUNT } })
      .then(
        () => 'issued',
        (error) => error.reason,
      )
  /** What came of so many logins at once. */
  const burst = (count: number, userName: string, password: string) =>
    Promise.all(Array.from({ length: count }, () => login(userName, password)))

  test('50 guesses at once are no more than one after the other', async () => {
    for (const userName of ['disabled', 'somebody'])
      expect((await burst(50, userName, 'wrong')).toSorted()).toEqual([
        ...Array(3).fill('LOGIN_FAILED'),
        ...Array(47).fill('LOGIN_THROTTLED'),
      ])
  })
})

test.each<[address: string | undefined, source: string]>([
  ['192.0.2.7', 'address 192.0.2.7'],
  ['::ffff:192.0.2.7', 'address 192.0.2.7'],
  ['127.0.0.1', 'this machine'],
  ['127.8.8.8', 'this machine'],
  ['::1', 'this machine'],
  ['::ffff:127.0.0.1', 'this machine'],
  ['2001:db8:1:2:3:4:5:6', 'address 2001:db8:1:2::/64'],
  ['2001:db8:1:2::', 'address 2001:db8:1:2::/64'],
  [undefined, 'unknown address'],
])('failed logins over gRPC from %s count for %s', (address, source) => {
  expect(nameOfSource(sourceAt(ipAddress(address)))).toBe(source)
})

test.each(['user_name', 'account'])(
  'a %s that no user can have is remembered by a digest, however long it is',
  async (field) => {
    const attempts: LoginAttempt[] = []
    const logins = new FailedLogins({ failures: FAILURES, pauseMs: PAUSE_MS }, () => 0)
    const opened = await openEmbeddedAuthority({
      folder: join(newFolder(), 'data'),
      engine: () => compile(supportMatrix),
      passwordLimits: { concurrent: 1, waiting: 1, rememberMs: 0 },
      onKeysRefused: () => {},
      onKeysUnreadable: () => {},
      onDirectoryReplaced: () => {},
      onUnknownKey: () => {},
      onDirectoryLost: () => {},
      onForeignStaticTokens: () => {},
      failedLogins: {
        admit: (attempt) => {
          attempts.push(attempt)
          return logins.admit(attempt)
        },
      },
      now: Date.now,
    })
    const long = 'x'.repeat(1_000_000)
    const requester = {
      account: field === 'account' ? long : ACCOUNT,
      userName: field === 'user_name' ? long : 'user',
      password: new Secret('wrong'),
    }
    const [kind] = compile(supportMatrix).tokenKinds.values()
    await expect(
      opened.authority.issue(requester, kind as TokenKind, { account: ACCOUNT }),
    ).rejects.toMatchObject({
      reason: 'LOGIN_FAILED',
    })
    expect(JSON.stringify(attempts).length).toBeLessThan(500)
    await opened.close()
  },
)

test('a login that finds no room among the password checks counts as nothing', async () => {
  const running = await runSidecar({
    flags: {
      'passwords.concurrent': 1,
      'passwords.waiting': 1,
      'passwords.remember_ms': 0,
      'login_throttle.failures': 10,
      'login_throttle.pause_ms': 3_600_000,
    },
  })
  const { passwordOf } = await populate(running)
  const password = { userName: 'account', account: ACCOUNT, password: passwordOf('account') }
  const login = () => running.client.issue({ password, scope: { account: ACCOUNT } })
  const goOn = holdHashes()
  const reasons: string[] = []
  const logins = Promise.all(
    Array.from({ length: 50 }, () => login().catch(({ reason }) => void reasons.push(reason))),
  )
  // Ten are in flight: one of them runs and one waits.
  await eventually(() => reasons.length === 48)
  goOn()
  await logins
  expect(new Set(reasons)).toEqual(new Set(['PASSWORD_CHECKS_EXHAUSTED']))
  await login()
})
