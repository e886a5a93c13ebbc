/** Failed logins slow down whoever guesses, and nobody else. */
import { beforeEach, describe, expect, test } from 'vitest'
import { FailedLogins } from '../../sidecar/authority/throttle.ts'
import { ACCOUNT, populate, runSidecar } from '../helpers/sidecar.ts'

describe('failed logins', () => {
  const clock = { nowMs: 0 }
  let logins: FailedLogins
  beforeEach(() => {
    clock.nowMs = 1_000_000
    logins = new FailedLogins({ failures: 3, pauseMs: 5_000 }, () => clock.nowMs)
  })

  /** Whether a login is let through to the password check. */
  function admitted(account: string, user: string, address: string): boolean {
    try {
      logins.admit(account, user, address)
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'LOGIN_THROTTLED' })
      return false
    }
  }

  function fail(times: number): void {
    for (let index = 0; index < times; index++) logins.failed(ACCOUNT, 'user', '192.0.2.1')
  }

  test.each<
    [claim: string, failures: number, laterMs: number, who: [string, string, string], admitted: boolean]
  >([
    ['as many as the bound wait', 3, 0, [ACCOUNT, 'user', '192.0.2.1'], false],
    ['fewer do not', 2, 0, [ACCOUNT, 'user', '192.0.2.1'], true],
    ['until the pause is over', 3, 4_999, [ACCOUNT, 'user', '192.0.2.1'], false],
    ['and no longer', 3, 5_000, [ACCOUNT, 'user', '192.0.2.1'], true],
    ['from another address the user logs in', 3, 0, [ACCOUNT, 'user', '192.0.2.2'], true],
    ['from that address another user logs in', 3, 0, [ACCOUNT, 'other', '192.0.2.1'], true],
    ['so does the user of that name in another account', 3, 0, ['654321', 'user', '192.0.2.1'], true],
    [
      'a clock that was set back does not lengthen the wait',
      3,
      -60_000,
      [ACCOUNT, 'user', '192.0.2.1'],
      true,
    ],
  ])('%s', (_claim, failures, laterMs, who, expected) => {
    fail(failures)
    clock.nowMs += laterMs
    expect(admitted(...who)).toBe(expected)
  })

  test('one more failure after the pause makes the next ones wait again', () => {
    fail(3)
    clock.nowMs += 5_000
    fail(1)
    expect(admitted(ACCOUNT, 'user', '192.0.2.1')).toBe(false)
  })

  test('a login that succeeds forgets the failures before it', () => {
    fail(2)
    logins.succeeded(ACCOUNT, 'user', '192.0.2.1')
    fail(2)
    expect(admitted(ACCOUNT, 'user', '192.0.2.1')).toBe(true)
  })

  test('names that join to the same text are kept apart', () => {
    for (let index = 0; index < 3; index++) logins.failed('1","2', 'user', 'a')
    expect(admitted('1', '2","user', 'a')).toBe(true)
  })
})

test('over the wire: who guesses waits, whether the user is there or not, and others do not', async () => {
  const running = await runSidecar({
    flags: { 'login_throttle.failures': 2, 'login_throttle.pause_ms': 3_600_000 },
  })
  const secrets = await populate(running)
  const login = (userName: string, password: string) =>
    running.client
      .issue({ password: { userName, account: ACCOUNT, password }, scope: { account: ACCOUNT } })
      .then(
        () => 'issued',
        (error) => error.reason,
      )
  for (const userName of ['account', 'nobody']) {
    expect(await login(userName, 'wrong')).toBe('LOGIN_FAILED')
    expect(await login(userName, 'wrong')).toBe('LOGIN_FAILED')
    expect(await login(userName, 'wrong')).toBe('LOGIN_THROTTLED')
  }
  expect(await login('alpha', secrets.passwordOf('alpha'))).toBe('PERMISSION_MISSING')
})
