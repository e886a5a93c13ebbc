/**
 * Second factors over HTTP, as the page sets them up and uses them: `/console/factors` and
 * `/console/session`.
 */
import { expect, test } from 'vitest'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { PASSWORD, SESSION } from '../support/console/control-panel.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import { FACTORS, FactorStage, factorsOf, MINUTE_MS, must } from '../support/identity/factor-stage.ts'
import { codeAt } from '../support/identity/totp.ts'
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
