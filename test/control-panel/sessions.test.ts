/** How sessions end: by time, by hand, with what they depend on; and what outlasts a restart. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { userIn } from '../../sidecar/directory/found.ts'
import { type Browser, PASSWORD, SESSION, startPanel } from '../support/console/control-panel.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const MINUTE_MS = 60_000

const clock = { nowMs: Date.now() }
const panel = await startPanel({ now: () => clock.nowMs })
const { administration, run } = panel.running.sidecar

const works = async (shown: Browser) =>
  (await shown.call('GetControlPanelUser', { account: ACCOUNT, name: 'pia' })).status === 200

test('a session ends after half an hour without a use, and uses prolong it; a look at it does not', async () => {
  const shown = await panel.loggedIn('pia')
  for (const _time of [1, 2]) {
    clock.nowMs += 29 * MINUTE_MS
    expect(await works(shown)).toBe(true)
  }
  clock.nowMs += 29 * MINUTE_MS
  expect((await shown.get(SESSION)).json).toMatchObject({
    signedIn: true,
    idleUntilMs: clock.nowMs + MINUTE_MS,
  })
  clock.nowMs += MINUTE_MS
  expect(await works(shown)).toBe(false)
  expect((await shown.get(SESSION)).json).toMatchObject({ signedIn: false })
})

test('a session ends after twelve hours, whatever it is used for', async () => {
  const shown = await panel.loggedIn('pia')
  for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
    clock.nowMs += 20 * MINUTE_MS
    expect(await works(shown)).toBe(true)
  }
  clock.nowMs += 20 * MINUTE_MS
  expect(await works(shown)).toBe(false)
})

test('that it is used is written at most once a minute', async () => {
  const shown = await panel.loggedIn('pia')
  const { sessions } = await administration.controlPanel()
  const user = await userIn(administration.records, ACCOUNT, 'pia', 'control_panel_user')
  const usedAtMs = async () => (await sessions.list(user))[0]?.usedAtMs
  const begunAtMs = clock.nowMs
  clock.nowMs += MINUTE_MS - 1
  await works(shown)
  expect(await usedAtMs()).toBe(begunAtMs)
  clock.nowMs += 1
  await Promise.all([works(shown), works(shown), works(shown)])
  expect(await usedAtMs()).toBe(clock.nowMs)
})

test('with an idle limit of a minute, a session that is used goes on', async () => {
  const short = await startPanel({
    now: () => clock.nowMs,
    flags: { 'http.control_panel.idle_minutes': 1 },
  })
  const shown = await short.loggedIn('pia')
  for (let seconds = 0; seconds < 180; seconds += 20) {
    clock.nowMs += 20_000
    expect(await works(shown)).toBe(true)
  }
  clock.nowMs += MINUTE_MS
  expect(await works(shown)).toBe(false)
})

test('what gives out a secret, or a right to administer, needs a proof of the last ten minutes', async () => {
  const shown = await panel.loggedIn('olga')
  const account = ACCOUNT
  clock.nowMs += 10 * MINUTE_MS
  const secrets: [name: string, request: object][] = [
    ['CreateStaticToken', { account, user_name: 'olga', name: 'key' }],
    ['ReissueControlPanelUserToken', { account, name: 'olga' }],
    ['CopyControlPanelUserToken', { account, name: 'olga' }],
    ['CreateServiceUser', { account, name: 'robot', permissions: [] }],
    ['ReplaceServiceUserPassword', { account, name: 'robot' }],
    ['CreateInvitation', { account, user_name: 'adam' }],
    ['CreateControlPanelUser', { account, name: 'oscar', owner: true }],
    ['CreateControlPanelUser', { account, name: 'anna', roles: ['member', 'iam.admin'] }],
    ['UpdateControlPanelUser', { account, name: 'anna', owner: true }],
    ['UpdateControlPanelUser', { account, name: 'oscar', roles: { roles: ['iam.admin'] } }],
    ['UpdateServiceUser', { account, name: 'robot', roles: { roles: ['iam.admin'] } }],
    ['SetAddressRestriction', { account, ranges: [] }],
  ]
  for (const [name, request] of secrets) {
    const { status, text } = await shown.call(name, request)
    expect([name, status, text]).toEqual([name, 400, expect.stringContaining('REAUTHENTICATION_REQUIRED')])
  }
  // A user without the right learns that, and is not asked for a confirmation.
  const other = await panel.loggedIn('pia')
  expect((await other.call('CreateInvitation', { account, user_name: 'olga' })).status).toBe(403)
  const others: typeof secrets = [
    ['CreateProject', { account, name: 'gamma' }],
    ['CreateControlPanelUser', { account, name: 'mia', roles: ['member'] }],
    ['UpdateControlPanelUser', { account, name: 'mia', enabled: false, roles: { roles: [] } }],
  ]
  for (const [name, request] of others)
    expect([name, (await shown.call(name, request)).status]).toEqual([name, 200])
  const confirm = (password: string) => shown.post(`${SESSION}/confirm`, { password })
  expect(await confirm('wrong wrong wrong')).toMatchObject({ status: 401, json: { reason: 'LOGIN_FAILED' } })
  expect(await shown.post(`${SESSION}/confirm`, { token: 'x' })).toMatchObject({ status: 401 })
  expect((await confirm(PASSWORD)).json).toMatchObject({ confirmedUntilMs: clock.nowMs + 10 * MINUTE_MS })
  for (const [name, request] of secrets)
    expect([name, (await shown.call(name, request)).status]).toEqual([name, 200])
})

test('logging in again in the same browser ends the session of before; logging out ends it and the cookie', async () => {
  const shown = await panel.loggedIn('pia')
  const before = panel.browser()
  before.cookie = shown.cookie
  await shown.post(`${SESSION}/login`, { account: ACCOUNT, user: 'pia', password: PASSWORD })
  expect([await works(before), await works(shown)]).toEqual([false, true])
  const copied = panel.browser()
  copied.cookie = shown.cookie
  const { status, headers } = await shown.post(`${SESSION}/end`, {})
  expect([status, headers['set-cookie']]).toEqual([
    204,
    [`portcullis-${panel.port}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`],
  ])
  expect([shown.cookie, await works(copied)]).toEqual([undefined, false])
  expect((await copied.post(`${SESSION}/end`, {})).status).toBe(204)
})

test('sessions are listed newest first, page by page, and ended one by one by users with the right', async () => {
  const request = { account: ACCOUNT, user_name: 'adam' }
  const first = await panel.loggedIn('adam')
  const second = panel.browser()
  clock.nowMs += 1
  await second.post(
    `${SESSION}/login`,
    { account: ACCOUNT, user: 'adam', password: PASSWORD },
    { 'user-agent': 'Browser/1.0' },
  )
  const page = async (size: number, token = '') =>
    (await first.call('ListSessions', { ...request, page_size: size, page_token: token })).json
  const one = await page(1)
  const [newest] = one.sessions
  expect(newest).toMatchObject({ address: '127.0.0.1', client: 'Browser/1.0' })
  const two = await page(1, one.nextPageToken)
  expect(two).toMatchObject({ sessions: [{ client: '' }], nextPageToken: '' })
  expect((await page(0)).sessions).toEqual([newest, ...two.sessions])
  const end = (shown: Browser, id: string) => shown.call('EndSession', { ...request, id })
  const [pia, olga] = [await panel.loggedIn('pia'), await panel.loggedIn('olga')]
  expect((await end(pia, newest.id)).status).toBe(403)
  expect((await end(olga, newest.id)).status).toBe(200)
  expect((await end(olga, newest.id)).status).toBe(404)
  expect((await second.get(SESSION)).json).toMatchObject({ signedIn: false })
  // The owner's sessions are for owners.
  const [{ id }] = (await olga.call('ListSessions', { account: ACCOUNT, user_name: 'olga' })).json.sessions
  const ofOwner = await first.call('EndSession', { account: ACCOUNT, user_name: 'olga', id })
  expect([ofOwner.status, ofOwner.text]).toEqual([403, expect.stringContaining('NOT_OWNER')])
})

test.each<[claim: string, lose: () => Promise<unknown>]>([
  [
    'the user is disabled, and enabled again',
    async () => {
      for (const enabled of [false, true])
        await run(TESTER, 'updateControlPanelUser', { account: ACCOUNT, name: 'pia', enabled })
    },
  ],
  [
    'the account is disabled, and enabled again',
    async () => {
      for (const enabled of [false, true]) await run(TESTER, 'updateAccount', { account: ACCOUNT, enabled })
    },
  ],
])('a session has ended for good when %s', async (_claim, lose) => {
  const shown = await panel.loggedIn('pia')
  await lose()
  expect(await works(shown)).toBe(false)
})

test('a session of an operator ends with the caller, and what it did has its name', async () => {
  const token = 'a-caller-token-for-tests-long-enough'
  const tokenFile = newFile(token)
  const config = newFile(
    JSON.stringify({ callers: [{ name: 'clerk', token_file: tokenFile, rights: ['everything'] }] }),
    'portcullis.json',
  )
  const { running, browser } = await startPanel({ config })
  const shown = browser()
  expect((await shown.post(`${SESSION}/operator`, { token })).status).toBe(200)
  expect((await shown.call('CreateAccount', { account: '77' })).status).toBe(200)
  const { id } = (await shown.get(SESSION)).json
  const trail = await running.sidecar.administration.records.audit('', { after: '0', size: 100 })
  expect(trail.slice(-2)).toMatchObject([
    { action: 'caller.log_in', actor: 'caller clerk', subject: 'clerk', details: { session_id: id } },
    { action: 'account.create', actor: 'caller clerk', details: { by: { session_id: id } } },
  ])
  writeFileSync(config, JSON.stringify({ callers: [] }))
  running.sidecar.reload()
  expect((await shown.call('ListAccounts', {})).status).toBe(401)
  expect((await shown.get(SESSION)).json).toMatchObject({ signedIn: false })
})

test('a session outlasts the sidecar, which knows it by its hash alone', async () => {
  const first = await startPanel()
  const shown = await first.loggedIn('olga')
  const token = readFileSync(join(first.running.folder, 'administrator-token'), 'utf8').trim()
  const operator = first.browser()
  await operator.post(`${SESSION}/operator`, { token })
  await first.running.sidecar.close()
  const second = await startPanel({ folder: first.running.folder })
  for (const before of [shown, operator]) {
    const again = second.browser()
    again.takeSession(before)
    expect((await again.get(SESSION)).json).toMatchObject({ signedIn: true })
  }
  const file = readFileSync(join(second.running.folder, 'directory.sqlite'))
  expect(file.includes(Buffer.from((shown.cookie ?? '').split('=')[1] ?? ''))).toBe(false)
})
