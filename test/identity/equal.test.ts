/**
 * An answer does not reveal which users exist: all failures have the same bytes, the same cost and the same
 * throttle.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { newPassword } from '../../sidecar/authority/password.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import {
  ACCOUNT,
  changed,
  errorOf,
  idsOf,
  loginBody,
  type Response,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { hashes, holdHashes } from '../support/suite/hashes.ts'
import { eventually } from '../support/suite/resources.ts'

/** Each login is hashed, so that hashes can be counted. */
const HASHED = { 'passwords.remember_ms': 0 }

const sidecar = await startIdentity({ flags: HASHED })
const { ask, passwordOf } = sidecar
const ids = await idsOf(sidecar)
const body = loginBody({ password: 'wrong' })
const USER = 'auth.identity.password.user'
const UNKNOWN_ID = '0123456789abcdef0123456789abcdef'

/** Logins that differ only in what they name. The first one names existing records. */
const FAILURES: readonly (readonly [claim: string, body: object])[] = [
  ['a wrong password', body],
  ['an unknown user', loginBody({ user: 'nobody', password: 'wrong' })],
  ['an unknown account', loginBody({ account: '999999', password: 'wrong' })],
  ['a control panel user', loginBody({ user: 'owner', password: 'wrong' })],
  ['a disabled user', loginBody({ user: 'disabled', password: passwordOf('disabled') })],
  ['a wrong password by id', changed(body, USER, { id: ids.user, password: 'wrong' })],
  ['an unknown id', changed(body, USER, { id: UNKNOWN_ID, password: 'wrong' })],
  ['an id and the name of another user', changed(body, `${USER}.id`, UNKNOWN_ID)],
  ['an unknown account id', changed(body, `${USER}.domain`, { id: UNKNOWN_ID })],
  ['an impossible name', loginBody({ user: 'a\0', password: 'wrong' })],
  ['an empty password', loginBody({ password: '' })],
  ['a long password', loginBody({ password: 'x'.repeat(100_000) })],
  ['a missing permission (§5.1)', loginBody({ user: 'nothing', password: passwordOf('nothing') })],
  ['an unknown project', loginBody({ password: passwordOf('account'), project: 'nosuch' })],
  [
    'an unknown scope',
    changed(loginBody({ password: passwordOf('account') }), 'auth.scope.domain', { id: UNKNOWN_ID }),
  ],
]

/** The headers without those that differ in every answer. */
function lasting({
  date: _,
  'x-openstack-request-id': __,
  ...rest
}: Response['headers']): Response['headers'] {
  return rest
}

beforeEach(() => {
  hashes.count = 0
})

test.each(FAILURES)('%s: argon2 runs once, and the answer is the same', async (_claim, failing) => {
  const { status, text, headers } = await ask({ method: 'POST', path: TOKENS, body: failing })
  expect(hashes.count).toBe(1)
  const reference = await ask({ method: 'POST', path: TOKENS, body })
  expect({ status, text, headers: lasting(headers) }).toEqual({
    status: 401,
    text: reference.text,
    headers: lasting(reference.headers),
  })
})

test('a successful login: argon2 runs once too', async () => {
  await ask({ method: 'POST', path: TOKENS, body: loginBody({ password: passwordOf('account') }) })
  expect(hashes.count).toBe(1)
})

describe('the same password again', async () => {
  const remembering = await startIdentity()
  const right = remembering.passwordOf('account')
  const wrong = newPassword()

  test.each<[claim: string, user: string, password: string, status: number]>([
    ['a right one', 'account', right, 201],
    ['a wrong one', 'account', wrong, 401],
    ['that wrong one of another user', 'alpha', wrong, 401],
    ['that wrong one of an unknown user', 'nobody', wrong, 401],
    ['that wrong one of another unknown user', 'none', wrong, 401],
  ])('%s: argon2 runs for the first of many logins alone', async (_claim, user, password, status) => {
    const logIn = () => remembering.ask({ method: 'POST', path: TOKENS, body: loginBody({ user, password }) })
    const answers = [...(await Promise.all(Array.from({ length: 10 }, logIn))), await logIn()]
    expect(answers.map((answer) => answer.status)).toEqual(Array(11).fill(status))
    expect(hashes.count).toBe(1)
  })

  test('a password that was replaced is not right any more, at once', async () => {
    const { administration } = remembering.running.sidecar
    const logIn = (password: string) =>
      remembering.ask({ method: 'POST', path: TOKENS, body: loginBody({ password }) })
    expect((await logIn(right)).status).toBe(201)
    const { password: value } = await run(administration, TESTER, 'replaceServiceUserPassword', {
      account: ACCOUNT,
      name: 'account',
    })
    expect((await logIn(right)).status).toBe(401)
    expect((await logIn(value.reveal())).status).toBe(201)
  })
})

test('an invalid body: argon2 does not run', async () => {
  for (const refused of [
    {},
    changed(body, 'auth.scope', undefined),
    changed(body, 'auth.identity.methods', ['token']),
  ])
    await ask({ method: 'POST', path: TOKENS, body: refused })
  expect(hashes.count).toBe(0)
})

describe('too many failed logins', async () => {
  const throttled = await startIdentity({
    flags: { 'login_throttle.failures': 3, 'login_throttle.pause_ms': 60_000 },
  })

  test.each([
    ['an existing user', loginBody({ password: 'wrong' })],
    ['an unknown user', loginBody({ user: 'nobody', password: 'wrong' })],
    ['an unknown id', changed(body, USER, { id: UNKNOWN_ID, password: 'wrong' })],
    ['an impossible name', loginBody({ user: 'a\0', password: 'wrong' })],
  ])('of %s: 429 with Retry-After, and argon2 does not run', async (_claim, failing) => {
    for (let attempt = 0; attempt < 3; attempt++)
      expect((await throttled.ask({ method: 'POST', path: TOKENS, body: failing })).status).toBe(401)
    hashes.count = 0
    const { json, headers } = await throttled.ask({ method: 'POST', path: TOKENS, body: failing })
    expect(json).toEqual(errorOf(429, 'Too Many Requests', expect.stringMatching(/^too many failed logins/)))
    expect(headers['retry-after']).toMatch(/^(60|59)$/)
    expect(hashes.count).toBe(0)
  })

  test.each<[what: string, user: string, ranges: string[]]>([
    ['a missing permission (§5.1)', 'nothing', []],
    ['an address that the account does not allow (§1)', 'alpha', ['203.0.113.0/24']],
  ])(
    'the right password with %s is throttled as little as a wrong one of its form, so that the throttle does not reveal more than the answer',
    async (_what, user, ranges) => {
      const { administration } = throttled.running.sidecar
      await run(administration, TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges })
      for (const password of [throttled.passwordOf(user), newPassword()])
        for (let attempt = 0; attempt < 5; attempt++) {
          const login = loginBody({ user, password, project: 'alpha' })
          expect((await throttled.ask({ method: 'POST', path: TOKENS, body: login })).status).toBe(401)
        }
      await run(administration, TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: [] })
    },
  )

  test('do not throttle other users of the account', async () => {
    const login = loginBody({ user: 'administrator', password: throttled.passwordOf('administrator') })
    expect((await throttled.ask({ method: 'POST', path: TOKENS, body: login })).status).toBe(201)
  })
})

test('logins beyond the limit of waiting ones: 503 with Retry-After', async () => {
  const busy = await startIdentity({
    flags: { ...HASHED, 'passwords.concurrent': 1, 'passwords.waiting': 1 },
  })
  const login = loginBody({ account: ACCOUNT, password: busy.passwordOf('account') })
  const goOn = holdHashes()
  const refused: Response[] = []
  const answers = Promise.all(
    Array.from({ length: 20 }, async () => {
      const answer = await busy.ask({ method: 'POST', path: TOKENS, body: login })
      if (answer.status !== 201) refused.push(answer)
    }),
  )
  // One runs and one waits.
  await eventually(() => refused.length === 18)
  goOn()
  await answers
  expect(refused).toHaveLength(18)
  for (const { json, headers } of refused) {
    expect(json).toEqual(
      errorOf(503, 'Service Unavailable', 'too many passwords are being checked; try again later'),
    )
    expect(headers['retry-after']).toBe('1')
  }
})
