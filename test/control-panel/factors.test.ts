/**
 * Second factors over HTTP, as the page sets them up and uses them: `/console/factors` and
 * `/console/session`.
 */
import { expect, test } from 'vitest'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { PASSWORD, SESSION } from '../support/console/control-panel.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import {
  FACTORS,
  FactorStage,
  factorsOf,
  MINUTE_MS,
  must,
  NEW_PASSWORD,
} from '../support/identity/factor-stage.ts'
import { codeAt, wrongCodeAt } from '../support/identity/totp.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

const stage = await FactorStage.start()

test('a user sees what they log in with', async () => {
  const { shown } = await stage.newPerson()
  const changedAtMs = stage.clock.nowMs
  expect(await factorsOf(shown)).toEqual({ password: { changedAtMs }, code: null, passkeys: [] })
  stage.clock.nowMs += MINUTE_MS
  await stage.setCode(shown)
  const code = { createdAtMs: changedAtMs + MINUTE_MS }
  const { passkey } = await stage.addPasskey(shown, new Authenticator('EdDSA'), 'my <b>phone</b>')
  const added = { name: 'my <b>phone</b>', createdAtMs: stage.clock.nowMs, lastUsedDay: null }
  expect(passkey).toEqual({ id: expect.any(String), ...added })
  expect(await factorsOf(shown)).toEqual({ password: { changedAtMs }, code, passkeys: [passkey] })
})

test('a one-time code is asked for after the right password alone, and logs in once', async () => {
  const { name, shown } = await stage.newPerson()
  const secret = await stage.setCode(shown)
  expect(await stage.logIn(name)).toMatchObject({
    status: 401,
    json: { reason: 'SECOND_FACTOR_REQUIRED', metadata: { ways: 'code' } },
  })
  const wrong = { account: ACCOUNT, user: name, password: 'a wrong password' }
  expect((await stage.browser().post(`${SESSION}/login`, wrong)).json).toMatchObject({
    reason: 'LOGIN_FAILED',
  })
  const code = codeAt(secret, stage.clock.nowMs)
  const other = stage.browser()
  expect(await stage.logIn(name, code, other)).toMatchObject({
    status: 200,
    json: { signedIn: true, who: { name } },
  })
  expect((await other.get(SESSION)).json).toMatchObject({ signedIn: true })
  expect(await stage.logIn(name, code)).toMatchObject({ status: 401, json: { reason: 'CODE_WRONG' } })
})

test('wrong codes are throttled, and the answer says until when', async () => {
  const { name, shown } = await stage.newPerson()
  const secret = await stage.setCode(shown)
  for (let guess = 0; guess < 3; guess++)
    expect(await stage.logIn(name, wrongCodeAt(secret, stage.clock.nowMs))).toMatchObject({
      json: { reason: 'CODE_WRONG' },
    })
  expect(await stage.logIn(name, codeAt(secret, stage.clock.nowMs))).toMatchObject({
    status: 429,
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
    json: { reason: 'LOGIN_THROTTLED' },
  })
})

test('a passkey logs in by itself, each answer once, and its day is shown', async () => {
  const { name, shown } = await stage.newPerson()
  const { authenticator } = await stage.addPasskey(shown)
  expect((await stage.logIn(name, '123456')).json).toMatchObject({
    ...{ reason: 'SECOND_FACTOR_REQUIRED', metadata: { ways: 'passkey' } },
  })
  const other = stage.browser()
  const response = await stage.answerOf(authenticator, other)
  expect(await other.post(`${SESSION}/passkey`, { response })).toMatchObject({
    ...{
      status: 200,
      json: { signedIn: true, who: { type: 'user', account: ACCOUNT, name }, passkeys: true },
    },
  })
  expect(await stage.browser().post(`${SESSION}/passkey`, { response })).toMatchObject({
    ...{ status: 401, json: { reason: 'PASSKEY_REFUSED' } },
  })
  const day = new Date(stage.clock.nowMs).toISOString().slice(0, 10)
  expect(await factorsOf(other)).toMatchObject({ passkeys: [{ name: 'a key', lastUsedDay: day }] })
})

test('a challenge to log in names no passkey, and one to confirm those of the user', async () => {
  const { shown } = await stage.newPerson()
  const { authenticator } = await stage.addPasskey(shown)
  const { options: strange } = await must(stage.browser().post(`${SESSION}/passkey/challenge`, {}))
  expect(strange).toEqual({
    ...{ challenge: expect.any(String), rpId: 'localhost', userVerification: 'required', timeout: 300_000 },
  })
  const { options } = await must(shown.post(`${SESSION}/passkey/challenge`, {}))
  expect(options).toMatchObject({ allowCredentials: [{ id: authenticator.id }] })
})

test('a session is confirmed by a passkey or by password and code, and never by less', async () => {
  const { shown } = await stage.newPerson()
  const { authenticator } = await stage.addPasskey(shown)
  const secret = await stage.setCode(shown)
  const confirm = (proof: object) => shown.post(`${SESSION}/confirm`, proof)
  const expectConfirmed = (answer: unknown) =>
    expect(answer).toMatchObject({
      status: 200,
      json: { confirmedUntilMs: stage.clock.nowMs + 10 * MINUTE_MS },
    })
  stage.clock.nowMs += 10 * MINUTE_MS
  expect((await confirm({ password: PASSWORD })).json).toMatchObject({
    ...{ reason: 'SECOND_FACTOR_REQUIRED', metadata: { ways: 'code passkey' } },
  })
  expectConfirmed(await confirm({ password: PASSWORD, code: codeAt(secret, stage.clock.nowMs) }))
  stage.clock.nowMs += 10 * MINUTE_MS
  const passkey = await stage.answerOf(authenticator, shown)
  expectConfirmed(await confirm({ passkey }))
  expect(await confirm({ passkey })).toMatchObject({ status: 401, json: { reason: 'PASSKEY_REFUSED' } })
})

test('no answer of a passkey counts for anything but what it was asked for', async () => {
  const [one, other] = [await stage.newPerson(), await stage.newPerson()]
  const { authenticator } = await stage.addPasskey(one.shown)
  const { authenticator: another } = await stage.addPasskey(other.shown)
  const toLogIn = await stage.answerOf(authenticator, stage.browser())
  const toConfirm = await stage.answerOf(authenticator, one.shown)
  const ofAnother = await stage.answerOf(another, one.shown)
  for (const passkey of [toLogIn, ofAnother])
    expect((await one.shown.post(`${SESSION}/confirm`, { passkey })).json).toMatchObject({
      ...{ reason: 'PASSKEY_REFUSED' },
    })
  const elsewhere = await must(other.shown.post(`${FACTORS}/passkeys/challenge`, {}))
  const response = new Authenticator().create(elsewhere.options, stage.origin)
  for (const answer of [
    await stage.browser().post(`${SESSION}/passkey`, { response: toConfirm }),
    await other.shown.post(`${SESSION}/confirm`, { passkey: toConfirm }),
    await one.shown.post(`${FACTORS}/passkeys`, { name: 'a key', response }),
  ])
    expect(answer).toMatchObject({ status: 401, json: { reason: 'PASSKEY_REFUSED' } })
  expect((await one.shown.post(`${SESSION}/confirm`, { passkey: toConfirm })).status).toBe(200)
})

test('where the page has no name there are no passkeys, and the error says where there are', async () => {
  const at = `http://127.0.0.1:${stage.panel.port}`
  const { shown } = await stage.newPerson(at)
  expect((await shown.get(SESSION)).json).toMatchObject({ signedIn: true, passkeys: false })
  for (const path of [`${SESSION}/passkey/challenge`, `${FACTORS}/passkeys/challenge`])
    expect(await shown.post(path, {})).toMatchObject({
      status: 400,
      json: {
        reason: 'PASSKEYS_NOT_POSSIBLE',
        message: `browsers do not allow passkeys at \`${at}\`; expected https with a host name, or \`${stage.origin}\``,
      },
    })
  expect((await stage.browser().get(SESSION)).json).toEqual({ signedIn: false, passkeys: true })
})

test('the password is replaced by who knows it, with one that the page would take', async () => {
  const { name, shown } = await stage.newPerson()
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
  expect((await stage.logIn(name)).json).toMatchObject({ reason: 'LOGIN_FAILED' })
})

test('who came by a link has no password, and sets one', async () => {
  const { links } = await stage.administration.controlPanel()
  const name = 'linked'
  await run(stage.administration, TESTER, 'createControlPanelUser', { account: ACCOUNT, name })
  const { secret } = await links.create(TESTER, ACCOUNT, name, 'login')
  const shown = stage.browser()
  await must(shown.post(`${SESSION}/link`, { secret: secret.reveal() }))
  expect(await factorsOf(shown)).toEqual({ password: null, code: null, passkeys: [] })
  await must(shown.post(`${FACTORS}/password`, { password: PASSWORD }))
  expect(await factorsOf(shown)).toMatchObject({ password: { changedAtMs: stage.clock.nowMs } })
  await must(stage.logIn(name))
})

test.each(['', 'abcdef', '12345', ' 123456'])(
  'what is no code is refused before the password: %j',
  async (code) => {
    const { name } = await stage.newPerson()
    for (const password of [PASSWORD, 'a wrong password'])
      expect(
        await stage.browser().post(`${SESSION}/login`, { account: ACCOUNT, user: name, password, code }),
      ).toMatchObject({
        status: 400,
        json: { reason: 'INVALID_ARGUMENT', message: 'code: expected 6 digits' },
      })
  },
)

test('an invitation removes the second factors, the last one can be deleted, and the password is enough again', async () => {
  const { name, shown } = await stage.newPerson()
  await stage.setCode(shown)
  await stage.addPasskey(shown)
  const again = await stage.accept(name)
  expect((await shown.get(SESSION)).json).toMatchObject({ signedIn: false })
  expect(await factorsOf(again)).toMatchObject({ code: null, passkeys: [] })
  await must(stage.logIn(name))
  await stage.setCode(again)
  await must(again.post(`${FACTORS}/code/delete`, {}))
  await must(stage.logIn(name))
  expect(await again.post(`${FACTORS}/code/delete`, {})).toMatchObject({
    ...{ status: 404, json: { reason: 'NOT_FOUND', message: 'there is no one-time code' } },
  })
})

test('who is disabled does not log in, whatever they have', async () => {
  const { name, shown } = await stage.newPerson()
  const secret = await stage.setCode(shown)
  const { authenticator } = await stage.addPasskey(shown)
  const response = await stage.answerOf(authenticator, stage.browser())
  await run(stage.administration, TESTER, 'updateControlPanelUser', {
    account: ACCOUNT,
    name,
    enabled: false,
  })
  expect((await stage.logIn(name, codeAt(secret, stage.clock.nowMs))).json).toMatchObject({
    reason: 'LOGIN_FAILED',
  })
  expect((await stage.browser().post(`${SESSION}/passkey`, { response })).json).toMatchObject({
    ...{ reason: 'PASSKEY_REFUSED' },
  })
  expect((await shown.get(FACTORS)).status).toBe(401)
})

test('every change is in the audit trail, with the session and without a secret; no secret is in the log', async () => {
  const { name, shown } = await stage.newPerson()
  const secret = await stage.setCode(shown)
  const { authenticator } = await stage.addPasskey(shown)
  const code = codeAt(secret, stage.clock.nowMs)
  await must(stage.logIn(name, code))
  await stage.logIn(name, '123456')
  await must(shown.post(`${FACTORS}/passkeys/delete`, { id: authenticator.id }))
  await must(shown.post(`${FACTORS}/code/delete`, {}))
  await must(shown.post(`${FACTORS}/password`, { current: PASSWORD, password: NEW_PASSWORD }))
  const trail = (await stage.administration.records.audit(ACCOUNT, { after: '0', size: 10_000 })).filter(
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
  const log = stage.panel.running.logLines.join('')
  expect(log).toContain('a session of the control panel began')
  for (const each of [secret, PASSWORD, NEW_PASSWORD, `"${code}"`]) {
    expect(JSON.stringify(trail)).not.toContain(each)
    expect(log).not.toContain(each)
  }
})
