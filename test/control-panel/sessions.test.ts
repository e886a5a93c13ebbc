/** How sessions end: by time, by hand, with what they depend on; and what outlasts a restart. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { userIn } from '../../sidecar/directory/found.ts'
import { type Browser, PASSWORD, SESSION, startPanel } from '../support/console/control-panel.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const MINUTE_MS = 60_000

const clock = { nowMs: Date.now() }
const panel = await startPanel({ now: () => clock.nowMs })
const { administration } = panel.running.sidecar

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
