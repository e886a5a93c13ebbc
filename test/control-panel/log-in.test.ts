/** Logging in to the page: what proves who a user is, what they get, and what no user gets. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Browser, PASSWORD, SESSION, startPanel } from '../support/console/control-panel.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

const clock = { nowMs: Date.now() }
const HOUR_MS = 3_600_000
const panel = await startPanel({ now: () => clock.nowMs })
const { running, browser, invite, loggedIn } = panel

const login = (shown: Browser, user: string, password = PASSWORD, account = ACCOUNT) =>
  shown.post(`${SESSION}/login`, { account, user, password })

const userOf = (shown: Browser) => shown.get(SESSION)

test('a client without a session learns so, and sees no error', async () => {
  const { status, json } = await browser().get(SESSION)
  expect([status, json]).toEqual([200, { signedIn: false, passkeys: false }])
  expect((await browser().get(SESSION, { host: `localhost:${panel.port}` })).json).toEqual({
    signedIn: false,
    passkeys: true,
  })
})

test('an invitation is looked at without being used up, sets the password once, and logs in', async () => {
  const secret = await invite('pia')
  const shown = browser()
  const look = () => shown.post(`${SESSION}/invitation`, { secret })
  for (const _time of [1, 2])
    expect(await look()).toMatchObject({
      status: 200,
      json: { account: ACCOUNT, user: 'pia', endsAtMs: clock.nowMs + 24 * HOUR_MS },
    })
  const accepted = await shown.post(`${SESSION}/invitation/accept`, { secret, password: PASSWORD })
  expect(accepted).toMatchObject({ status: 200, json: { signedIn: true } })
  expect(accepted.headers['set-cookie']).toEqual([
    expect.stringMatching(/^portcullis-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
  ])
  for (const again of [
    look,
    () => shown.post(`${SESSION}/invitation/accept`, { secret, password: PASSWORD }),
  ])
    expect(await again()).toMatchObject({ status: 401, json: { reason: 'LINK_INVALID' } })
  expect((await userOf(shown)).json).toMatchObject({ signedIn: true, who: { name: 'pia' } })
  expect(await login(browser(), 'pia')).toMatchObject({ status: 200 })
})

test('the session says who it is, until when, and what the server takes for now', async () => {
  const shown = await loggedIn('olga')
  const { nowMs } = clock
  expect((await userOf(shown)).json).toEqual({
    signedIn: true,
    id: expect.stringMatching(/^[\w-]{22}$/),
    who: { type: 'user', account: ACCOUNT, name: 'olga', owner: true, administrator: true, roles: [] },
    address: '127.0.0.1',
    ...{ createdAtMs: nowMs, nowMs, confirmedUntilMs: nowMs + 600_000, idleUntilMs: nowMs + HOUR_MS / 2 },
    endsAtMs: nowMs + 12 * HOUR_MS,
    passkeys: false,
  })
})

test('an operator logs in with a caller token, and has its rights', async () => {
  const token = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
  const shown = browser()
  const begun = await shown.post(`${SESSION}/operator`, { token })
  expect(begun.json).toMatchObject({
    signedIn: true,
    who: {
      type: 'operator',
      name: 'administrator',
      rights: { everything: true, read: false, revoke: false, administer: [] },
    },
  })
  expect((await shown.call('ListAccounts', {})).json).toMatchObject({ accounts: [{ account: ACCOUNT }] })
  expect(await shown.post(`${SESSION}/confirm`, { token: 'x' })).toMatchObject({ status: 401 })
  expect(await shown.post(`${SESSION}/confirm`, { token })).toMatchObject({ status: 200 })
})

describe('no client learns why a login failed', async () => {
  const { loggedIn, browser, running } = await startPanel()
  await loggedIn('olga')
  await loggedIn('adam')
  await running.sidecar.run(TESTER, 'updateControlPanelUser', {
    account: ACCOUNT,
    name: 'adam',
    enabled: false,
  })
  test.each<[whom: string, account: string, user: string, password: string]>([
    ['a wrong password', ACCOUNT, 'olga', 'ten green bottles!'],
    ['an unknown user', ACCOUNT, 'nobody', PASSWORD],
    ['an unknown account', '999', 'olga', PASSWORD],
    ['a user without a password', ACCOUNT, 'pia', PASSWORD],
    ['a disabled user', ACCOUNT, 'adam', PASSWORD],
    ['names that no user can have', '\u0000', '\u0007', PASSWORD],
    ['an empty password', ACCOUNT, 'olga', ''],
  ])('%s', async (_whom, account, user, password) => {
    const { status, json, headers } = await browser().post(`${SESSION}/login`, { account, user, password })
    expect([status, json]).toEqual([
      401,
      { reason: 'LOGIN_FAILED', message: 'the name of the user or the password is wrong', metadata: {} },
    ])
    expect(headers).not.toHaveProperty('set-cookie')
  })
})

test.each<[fault: string, password: string]>([
  ['too short', 'short words'],
  ['too long', 'x'.repeat(1_020) + 'y'.repeat(5)],
  ['one character repeated', 'z'.repeat(20)],
  ['the account number in it', `pass word ${ACCOUNT}`],
  ['the name in it', 'PIA likes bottles'],
])('a password is refused that is or has %s, and the invitation stays good', async (_fault, password) => {
  const secret = await invite('pia')
  const shown = browser()
  const refused = await shown.post(`${SESSION}/invitation/accept`, { secret, password })
  expect(refused).toMatchObject({ status: 400, json: { reason: 'INVALID_ARGUMENT' } })
  expect(refused.text).not.toContain(password)
  expect((await shown.post(`${SESSION}/invitation`, { secret })).status).toBe(200)
})

test('guesses are counted whatever the password looks like, and a right caller token is never locked out', async () => {
  const { loggedIn, browser, running } = await startPanel({
    flags: { 'login_throttle.failures': 2, 'login_throttle.pause_ms': 60_000 },
  })
  await loggedIn('olga')
  // Of the form of passwords that Portcullis makes, which are not throttled where machines log in.
  const guess = () => login(browser(), 'olga', 'AAAAAAAAAAAAAAAAAAAAAAAA')
  for (const _time of [1, 2]) expect((await guess()).status).toBe(401)
  const { status, json, headers } = await login(browser(), 'olga')
  expect([status, json.reason, headers['retry-after']]).toEqual([429, 'LOGIN_THROTTLED', '60'])
  const operator = (token: string) => browser().post(`${SESSION}/operator`, { token })
  const answers = [await operator('x'), await operator('y'), await operator('z')]
  expect(answers.map(({ json }) => json.reason)).toEqual([
    'CALLER_TOKEN_INVALID',
    'CALLER_TOKEN_INVALID',
    'LOGIN_THROTTLED',
  ])
  const token = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
  expect((await operator(token)).status).toBe(200)
})

test('a login and a new proof from outside the addresses of the account are for owners alone', async () => {
  const { loggedIn, browser, running } = await startPanel()
  const [olga, pia] = [await loggedIn('olga'), await loggedIn('pia')]
  await running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['192.0.2.0/24'] })
  expect(await login(browser(), 'pia')).toMatchObject({
    status: 403,
    json: { reason: 'ADDRESS_NOT_ALLOWED' },
  })
  expect(running.logLines.map((text) => JSON.parse(text))).toContainEqual(
    expect.objectContaining({
      msg: 'a login to the control panel proved who the user is, and was refused',
      ...{ reason: 'ADDRESS_NOT_ALLOWED', user_name: 'pia' },
    }),
  )
  const confirm = (shown: Browser, password = PASSWORD) => shown.post(`${SESSION}/confirm`, { password })
  expect(await confirm(pia)).toMatchObject({ status: 403, json: { reason: 'ADDRESS_NOT_ALLOWED' } })
  // What is no proof is refused as such, as at a login.
  expect(await confirm(pia, 'a guess of a password')).toMatchObject({ status: 401 })
  expect(await confirm(olga)).toMatchObject({ status: 200 })
  const shown = browser()
  expect(await login(shown, 'olga')).toMatchObject({ status: 200 })
  const account = { account: ACCOUNT }
  expect((await shown.call('ListProjects', account)).status).toBe(403)
  expect((await shown.call('SetAddressRestriction', { ...account, ranges: [] })).status).toBe(200)
  expect((await shown.call('ListProjects', account)).status).toBe(200)
})
