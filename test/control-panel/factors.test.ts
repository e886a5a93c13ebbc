/** Second factors over HTTP, as the page sets them up and uses them: `/console/factors` and `/console/session`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TESTER } from '../support/actor.ts'
import { Authenticator } from '../support/authenticator.ts'
import { Browser, PASSWORD, SESSION, startPanel } from '../support/control-panel.ts'
import { ACCOUNT } from '../support/sidecar.ts'
import { codeAt, wrongCodeAt } from '../support/totp.ts'

const FACTORS = '/console/factors'
const STEP_MS = 30_000
const MINUTE_MS = 60_000

const clock = { nowMs: 1_800_000_000_000 }
const panel = await startPanel({
  now: () => clock.nowMs,
  flags: { 'login_throttle.failures': 3 },
})
const { administration } = panel.running.sidecar
const origin = `http://localhost:${panel.port}`

/** A browser at an address that can have passkeys. */
const browser = () => new Browser(panel.port, origin)

let people = 0

/** A new user who accepted an invitation, in a browser of theirs. */
async function newPerson(at = origin) {
  const name = `person-${people++}`
  await administration.users.createControlPanelUser(TESTER, ACCOUNT, { name })
  return { name, shown: await accept(name, at) }
}

async function accept(name: string, at = origin): Promise<Browser> {
  const shown = new Browser(panel.port, at)
  const secret = await panel.invite(name)
  await must(shown.post(`${SESSION}/invitation/accept`, { secret, password: PASSWORD }))
  return shown
}

/** What some answers have. The options are what an authenticator takes. */
interface Answered {
  readonly options: never
  readonly secret: string
  readonly uri: string
  readonly sealed: string
  readonly passkeys: readonly object[]
}

async function must(asked: ReturnType<Browser['post']>) {
  const answer = await asked
  expect([answer.status, answer.text]).toEqual([expect.toSatisfy((status) => status < 300), answer.text])
  return answer.json as Answered
}

const logIn = (name: string, code?: string, at = browser()) =>
  at.post(`${SESSION}/login`, { account: ACCOUNT, user: name, password: PASSWORD, ...(code && { code }) })

/** Sets up a one-time code. Its step is over. */
async function setCode(shown: Browser): Promise<string> {
  const { secret, uri, sealed } = await must(shown.post(`${FACTORS}/code/begin`, {}))
  expect(new URL(uri).searchParams.get('secret')).toBe(secret)
  await must(shown.post(`${FACTORS}/code`, { sealed, code: codeAt(secret, clock.nowMs) }))
  clock.nowMs += STEP_MS
  return secret
}

async function addPasskey(shown: Browser, authenticator = new Authenticator(), name = 'a key') {
  const { options } = await must(shown.post(`${FACTORS}/passkeys/challenge`, {}))
  const response = authenticator.create(options, origin)
  const passkey = await must(shown.post(`${FACTORS}/passkeys`, { name, response }))
  return { authenticator, passkey }
}

async function answerOf(authenticator: Authenticator, shown: Browser) {
  const { options } = await must(shown.post(`${SESSION}/passkey/challenge`, {}))
  return authenticator.get(options, origin)
}

const factorsOf = async (shown: Browser) => must(shown.get(FACTORS))

test('a user sees what they log in with', async () => {
  const { shown } = await newPerson()
  const changedAtMs = clock.nowMs
  expect(await factorsOf(shown)).toEqual({ password: { changedAtMs }, code: null, passkeys: [] })
  clock.nowMs += MINUTE_MS
  await setCode(shown)
  const code = { createdAtMs: changedAtMs + MINUTE_MS }
  const { passkey } = await addPasskey(shown, new Authenticator('EdDSA'), 'my <b>phone</b>')
  const added = { name: 'my <b>phone</b>', createdAtMs: clock.nowMs, lastUsedDay: null }
  expect(passkey).toEqual({ id: expect.any(String), ...added })
  expect(await factorsOf(shown)).toEqual({ password: { changedAtMs }, code, passkeys: [passkey] })
})

test('a one-time code is asked for after the right password alone, and logs in once', async () => {
  const { name, shown } = await newPerson()
  const secret = await setCode(shown)
  expect(await logIn(name)).toMatchObject({
    status: 401,
    json: { reason: 'SECOND_FACTOR_REQUIRED', metadata: { ways: 'code' } },
  })
  const wrong = { account: ACCOUNT, user: name, password: 'a wrong password' }
  expect((await browser().post(`${SESSION}/login`, wrong)).json).toMatchObject({ reason: 'LOGIN_FAILED' })
  const code = codeAt(secret, clock.nowMs)
  const other = browser()
  expect(await logIn(name, code, other)).toMatchObject({
    status: 200,
    json: { signedIn: true, who: { name } },
  })
  expect((await other.get(SESSION)).json).toMatchObject({ signedIn: true })
  expect(await logIn(name, code)).toMatchObject({ status: 401, json: { reason: 'CODE_WRONG' } })
})

test('wrong codes are throttled, and the answer says until when', async () => {
  const { name, shown } = await newPerson()
  const secret = await setCode(shown)
  for (let guess = 0; guess < 3; guess++)
    expect(await logIn(name, wrongCodeAt(secret, clock.nowMs))).toMatchObject({
      json: { reason: 'CODE_WRONG' },
    })
  expect(await logIn(name, codeAt(secret, clock.nowMs))).toMatchObject({
    status: 429,
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
    json: { reason: 'LOGIN_THROTTLED' },
  })
})

test('a passkey logs in by itself, each answer once, and its day is shown', async () => {
  const { name, shown } = await newPerson()
  const { authenticator } = await addPasskey(shown)
  expect((await logIn(name, '123456')).json).toMatchObject({
    ...{ reason: 'SECOND_FACTOR_REQUIRED', metadata: { ways: 'passkey' } },
  })
  const other = browser()
  const response = await answerOf(authenticator, other)
  expect(await other.post(`${SESSION}/passkey`, { response })).toMatchObject({
    ...{
      status: 200,
      json: { signedIn: true, who: { type: 'user', account: ACCOUNT, name }, passkeys: true },
    },
  })
  expect(await browser().post(`${SESSION}/passkey`, { response })).toMatchObject({
    ...{ status: 401, json: { reason: 'PASSKEY_REFUSED' } },
  })
  const day = new Date(clock.nowMs).toISOString().slice(0, 10)
  expect(await factorsOf(other)).toMatchObject({ passkeys: [{ name: 'a key', lastUsedDay: day }] })
})

test('a challenge to log in names no passkey, and one to confirm those of the user', async () => {
  const { shown } = await newPerson()
  const { authenticator } = await addPasskey(shown)
  const { options: strange } = await must(browser().post(`${SESSION}/passkey/challenge`, {}))
  expect(strange).toEqual({
    ...{ challenge: expect.any(String), rpId: 'localhost', userVerification: 'required', timeout: 300_000 },
  })
  const { options } = await must(shown.post(`${SESSION}/passkey/challenge`, {}))
  expect(options).toMatchObject({ allowCredentials: [{ id: authenticator.id }] })
})

test('a session is confirmed by a passkey or by password and code, and never by less', async () => {
  const { shown } = await newPerson()
  const { authenticator } = await addPasskey(shown)
  const secret = await setCode(shown)
  const confirm = (proof: object) => shown.post(`${SESSION}/confirm`, proof)
  const expectConfirmed = (answer: unknown) =>
    expect(answer).toMatchObject({ status: 200, json: { confirmedUntilMs: clock.nowMs + 10 * MINUTE_MS } })
  clock.nowMs += 10 * MINUTE_MS
  expect((await confirm({ password: PASSWORD })).json).toMatchObject({
    ...{ reason: 'SECOND_FACTOR_REQUIRED', metadata: { ways: 'code passkey' } },
  })
  expectConfirmed(await confirm({ password: PASSWORD, code: codeAt(secret, clock.nowMs) }))
  clock.nowMs += 10 * MINUTE_MS
  const passkey = await answerOf(authenticator, shown)
  expectConfirmed(await confirm({ passkey }))
  expect(await confirm({ passkey })).toMatchObject({ status: 401, json: { reason: 'PASSKEY_REFUSED' } })
})

test('no answer of a passkey counts for anything but what it was asked for', async () => {
  const [one, other] = [await newPerson(), await newPerson()]
  const { authenticator } = await addPasskey(one.shown)
  const { authenticator: another } = await addPasskey(other.shown)
  const toLogIn = await answerOf(authenticator, browser())
  const toConfirm = await answerOf(authenticator, one.shown)
  const ofAnother = await answerOf(another, one.shown)
  for (const passkey of [toLogIn, ofAnother])
    expect((await one.shown.post(`${SESSION}/confirm`, { passkey })).json).toMatchObject({
      ...{ reason: 'PASSKEY_REFUSED' },
    })
  const elsewhere = await must(other.shown.post(`${FACTORS}/passkeys/challenge`, {}))
  const response = new Authenticator().create(elsewhere.options, origin)
  for (const answer of [
    await browser().post(`${SESSION}/passkey`, { response: toConfirm }),
    await other.shown.post(`${SESSION}/confirm`, { passkey: toConfirm }),
    await one.shown.post(`${FACTORS}/passkeys`, { name: 'a key', response }),
  ])
    expect(answer).toMatchObject({ status: 401, json: { reason: 'PASSKEY_REFUSED' } })
  expect((await one.shown.post(`${SESSION}/confirm`, { passkey: toConfirm })).status).toBe(200)
})

test('where the page has no name there are no passkeys, and the error says where there are', async () => {
  const at = `http://127.0.0.1:${panel.port}`
  const { shown } = await newPerson(at)
  expect((await shown.get(SESSION)).json).toMatchObject({ signedIn: true, passkeys: false })
  for (const path of [`${SESSION}/passkey/challenge`, `${FACTORS}/passkeys/challenge`])
    expect(await shown.post(path, {})).toMatchObject({
      status: 400,
      json: {
        reason: 'PASSKEYS_NOT_POSSIBLE',
        message: `browsers have no passkeys for \`${at}\`; expected https with the name of a host, or \`${origin}\``,
      },
    })
  expect((await browser().get(SESSION)).json).toEqual({ signedIn: false, passkeys: true })
})

const NEW_PASSWORD = 'ten yellow bottles'

/** Every request that shows a secret or changes something, with what it changes. */
const CHANGES: readonly [path: string, body: (made: Made) => object, after: object | undefined][] = [
  ['/password', () => ({ current: PASSWORD, password: NEW_PASSWORD }), {}],
  ['/code/begin', () => ({}), undefined],
  ['/code', ({ sealed, secret }) => ({ sealed, code: codeAt(secret, clock.nowMs) }), { code: {} }],
  ['/code/delete', () => ({}), { code: null }],
  ['/passkeys/challenge', () => ({}), undefined],
  ['/passkeys', ({ response }) => ({ name: 'another', response }), { passkeys: [{}, { name: 'another' }] }],
  ['/passkeys/delete', ({ id }) => ({ id }), { passkeys: [] }],
]

interface Made {
  readonly sealed: string
  readonly secret: string
  readonly response: object
  readonly id: string
}

describe.each(CHANGES)('%s', (path, body, after) => {
  async function prepared() {
    const { name, shown } = await newPerson()
    const secret = await setCode(shown)
    const { authenticator } = await addPasskey(shown)
    const begun = await must(shown.post(`${FACTORS}/code/begin`, {}))
    const { options } = await must(shown.post(`${FACTORS}/passkeys/challenge`, {}))
    const made: Made = {
      ...{ sealed: begun.sealed, secret: begun.secret, id: authenticator.id },
      response: new Authenticator().create(options, origin),
    }
    const other = browser()
    await must(logIn(name, codeAt(secret, clock.nowMs), other))
    return { name, shown, other, made }
  }

  test('needs a session, of a user, and what our page sends', async () => {
    const { shown, made } = await prepared()
    const before = await factorsOf(shown)
    const stranger = browser()
    expect(await stranger.post(FACTORS + path, body(made))).toMatchObject({
      ...{ status: 401, json: { reason: 'REQUESTER_NOT_AUTHENTICATED' } },
    })
    const token = readFileSync(join(panel.running.folder, 'administrator-token'), 'utf8').trim()
    await must(stranger.post(`${SESSION}/operator`, { token }))
    expect(await stranger.post(FACTORS + path, body(made))).toMatchObject({
      ...{ status: 403, json: { reason: 'NOT_ADMINISTRATOR' } },
    })
    for (const headers of [
      { 'x-portcullis-console': undefined },
      { origin: undefined },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ])
      expect((await shown.post(FACTORS + path, body(made), headers)).status).toBeGreaterThanOrEqual(400)
    expect(await factorsOf(shown)).toEqual(before)
  })

  test('needs a session that was confirmed lately, and changes nothing otherwise', async () => {
    const { shown, made } = await prepared()
    const before = await factorsOf(shown)
    clock.nowMs += 10 * MINUTE_MS
    expect(await shown.post(FACTORS + path, body(made))).toMatchObject({
      ...{ status: 400, json: { reason: 'REAUTHENTICATION_REQUIRED' } },
    })
    expect(await factorsOf(shown)).toEqual(before)
  })

  test(`is done, and ${path === '/password' ? 'ends the other sessions' : 'ends no other session'}`, async () => {
    const { shown, other, made } = await prepared()
    const before = await factorsOf(shown)
    await must(shown.post(FACTORS + path, body(made)))
    expect(await factorsOf(shown)).toMatchObject(after ?? before)
    const { signedIn } = (await other.get(SESSION)).json as { signedIn: boolean }
    expect(signedIn).toBe(path !== '/password')
  })
})

test('the password is replaced by who knows it, with one that the page would take', async () => {
  const { name, shown } = await newPerson()
  const replace = (body: object) => shown.post(`${FACTORS}/password`, body)
  for (const [body, status, reason] of [
    [{ current: 'a wrong password', password: NEW_PASSWORD }, 401, 'LOGIN_FAILED'],
    [{ password: NEW_PASSWORD }, 400, 'INVALID_ARGUMENT'],
    [{ current: PASSWORD, password: 'short' }, 400, 'INVALID_ARGUMENT'],
    [{ current: PASSWORD, password: PASSWORD }, 400, 'INVALID_ARGUMENT'],
    [{ current: PASSWORD, password: `${name} has a password` }, 400, 'INVALID_ARGUMENT'],
  ] as const)
    expect(await replace(body)).toMatchObject({ status, json: { reason } })
  await must(replace({ current: PASSWORD, password: NEW_PASSWORD }))
  expect((await logIn(name)).json).toMatchObject({ reason: 'LOGIN_FAILED' })
})

test('an invitation removes the second factors, the last one can be deleted, and the password is enough again', async () => {
  const { name, shown } = await newPerson()
  await setCode(shown)
  await addPasskey(shown)
  const again = await accept(name)
  expect((await shown.get(SESSION)).json).toMatchObject({ signedIn: false })
  expect(await factorsOf(again)).toMatchObject({ code: null, passkeys: [] })
  await must(logIn(name))
  await setCode(again)
  await must(again.post(`${FACTORS}/code/delete`, {}))
  await must(logIn(name))
  expect(await again.post(`${FACTORS}/code/delete`, {})).toMatchObject({
    ...{ status: 404, json: { reason: 'NOT_FOUND', message: 'there is no one-time code' } },
  })
})

test('who is disabled does not log in, whatever they have', async () => {
  const { name, shown } = await newPerson()
  const secret = await setCode(shown)
  const { authenticator } = await addPasskey(shown)
  const response = await answerOf(authenticator, browser())
  await administration.users.update(TESTER, ACCOUNT, name, 'control_panel_user', { enabled: false })
  expect((await logIn(name, codeAt(secret, clock.nowMs))).json).toMatchObject({ reason: 'LOGIN_FAILED' })
  expect((await browser().post(`${SESSION}/passkey`, { response })).json).toMatchObject({
    ...{ reason: 'PASSKEY_REFUSED' },
  })
  expect((await shown.get(FACTORS)).status).toBe(401)
})

test('every change is in the audit trail, with the session and without a secret; no secret is in the log', async () => {
  const { name, shown } = await newPerson()
  const secret = await setCode(shown)
  const { authenticator } = await addPasskey(shown)
  const code = codeAt(secret, clock.nowMs)
  await must(logIn(name, code))
  await logIn(name, '123456')
  await must(shown.post(`${FACTORS}/passkeys/delete`, { id: authenticator.id }))
  await must(shown.post(`${FACTORS}/code/delete`, {}))
  await must(shown.post(`${FACTORS}/password`, { current: PASSWORD, password: NEW_PASSWORD }))
  const trail = (await administration.audit(ACCOUNT, { after: '0', size: 10_000 })).filter(
    ({ subject }) => subject === name,
  )
  const changes = trail.filter(({ action }) => /_code|_passkey|_password/.test(action))
  const { id } = (await shown.get(SESSION)).json as { id: string }
  const by = { protocol: 'http', session_id: id }
  const passkey = { name: 'a key', id: authenticator.id }
  expect(changes).toMatchObject([
    { action: 'control_panel_user.set_code', details: { by } },
    { action: 'control_panel_user.add_passkey', details: { ...passkey, by } },
    { action: 'control_panel_user.delete_passkey', details: { ...passkey, by } },
    { action: 'control_panel_user.delete_code', details: { by } },
    { action: 'control_panel_user.replace_password', details: { by } },
  ])
  expect(new Set(changes.map(({ actor }) => actor)).size).toBe(1)
  const log = panel.running.logLines.join('')
  expect(log).toContain('a session of the control panel began')
  for (const each of [secret, PASSWORD, NEW_PASSWORD, `"${code}"`]) {
    expect(JSON.stringify(trail)).not.toContain(each)
    expect(log).not.toContain(each)
  }
})

const LONG = 'A'.repeat(10_000)

test.each<[path: string, body: object]>([
  ['/session/passkey', {}],
  ['/session/passkey', { response: null }],
  ['/session/passkey', { response: [] }],
  ['/session/passkey', { response: { id: 'a', rawId: 'a', type: 'password', response: {} } }],
  ['/session/passkey', { response: { id: 'a', rawId: 'a', type: 'public-key', response: { signature: 1 } } }],
  ['/session/passkey', { response: { id: LONG, rawId: LONG, type: 'public-key', response: {} } }],
  ['/session/passkey/challenge', { user: 'olga' }],
  ['/factors/passkeys', { name: 'a key', response: { id: 'a' } }],
  ['/factors/passkeys', { name: 'a key' }],
  ['/factors/passkeys', { name: LONG, response: {} }],
  ['/factors/code', { sealed: LONG, code: '123456' }],
  ['/factors/code', { sealed: 'AAAA', code: 123456 }],
  ['/factors/passkeys/delete', { id: 7 }],
])('%s refuses what no browser sends: %j', async (path, body) => {
  const { shown } = await newPerson()
  const { status, json } = await shown.post(`/console${path}`, body)
  expect([status, json]).toEqual([400, expect.objectContaining({ reason: 'INVALID_ARGUMENT' })])
})

test('an id that no passkey has is answered as any unknown one, and a body that is too long is refused', async () => {
  const { shown } = await newPerson()
  const { authenticator } = await addPasskey(shown)
  const response = await answerOf(authenticator, browser())
  for (const id of ['', 'a', '\u0000', '../..', 'é', 'A'.repeat(8_000)])
    expect(await browser().post(`${SESSION}/passkey`, { response: { ...response, id } })).toMatchObject({
      ...{ status: 401, json: { reason: 'PASSKEY_REFUSED' } },
    })
  expect((await shown.post(`${FACTORS}/passkeys`, { name: LONG.repeat(20) })).status).toBe(413)
})
