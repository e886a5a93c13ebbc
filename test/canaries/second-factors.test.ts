/**
 * No secret of a login to the page comes out: neither those that people send, nor those that second factors
 * are made of.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Browser, PASSWORD, SESSION } from '../support/console/control-panel.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import { FACTORS, FactorStage, must, NEW_PASSWORD } from '../support/identity/factor-stage.ts'
import { codeAt, secretBytes } from '../support/identity/totp.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { textOf } from './rows.ts'
import { shownIn } from './search.ts'
import { bytesOf, CANARY } from './stage.ts'

const stage = await FactorStage.start()
const { name, shown } = await stage.newPerson()
const { secret, sealed } = await must(shown.post(`${FACTORS}/code/begin`, {}))
await must(shown.post(`${FACTORS}/code`, { sealed, code: codeAt(secret, stage.clock.nowMs) }))
const { authenticator } = await stage.addPasskey(shown)

const secrets = {
  ...{ canary: CANARY, password: PASSWORD, newPassword: NEW_PASSWORD, sealed, code: secret },
  ...{ codeBytes: secretBytes(secret).toString('latin1'), session: shown.cookie?.split('=')[1] ?? '' },
}

/** Requests with secrets in every place, right and wrong ones. */
const ASKED: readonly [what: string, ask: (at: Browser) => ReturnType<Browser['post']>][] = [
  ['a login without a code', () => stage.logIn(name)],
  ['a login with a wrong code', () => stage.logIn(name, '000000')],
  ['a login with a secret for a code', () => stage.logIn(name, CANARY)],
  ['a login with a code', () => stage.logIn(name, codeAt(secret, stage.clock.nowMs + 30_000))],
  ['a password as the user', () => stage.logIn(PASSWORD)],
  [
    'a field that is none',
    (at) => at.post(`${SESSION}/login`, { account: ACCOUNT, user: name, [CANARY]: CANARY }),
  ],
  ['a passkey of a secret', (at) => at.post(`${SESSION}/passkey`, { response: responseWith(CANARY) })],
  [
    'a passkey with secrets in it',
    async (at) => {
      const response = await stage.answerOf(authenticator, at)
      const clientDataJSON = Buffer.from(JSON.stringify({ challenge: CANARY, origin: CANARY }))
      return at.post(`${SESSION}/passkey`, {
        response: {
          ...response,
          response: { ...response.response, clientDataJSON: clientDataJSON.toString('base64url') },
        },
      })
    },
  ],
  [
    'a passkey',
    async (at) => at.post(`${SESSION}/passkey`, { response: await stage.answerOf(authenticator, at) }),
  ],
  ['a confirmation with a secret', () => shown.post(`${SESSION}/confirm`, { passkey: CANARY })],
  ['what the user has', () => shown.get(FACTORS)],
  ['a setup with a secret', () => shown.post(`${FACTORS}/code`, { sealed: CANARY, code: '000000' })],
  ['a setup with a wrong code', () => shown.post(`${FACTORS}/code`, { sealed, code: '000000' })],
  [
    'a new passkey with a secret',
    () => shown.post(`${FACTORS}/passkeys`, { name: 'a key', response: responseWith(CANARY) }),
  ],
  ['the deletion of a secret', () => shown.post(`${FACTORS}/passkeys/delete`, { id: CANARY })],
  [
    'a wrong current password',
    () => shown.post(`${FACTORS}/password`, { current: CANARY, password: NEW_PASSWORD }),
  ],
  ['a new password', () => shown.post(`${FACTORS}/password`, { current: PASSWORD, password: NEW_PASSWORD })],
]

function responseWith(id: string): object {
  const response = new Authenticator().get({ challenge: CANARY, rpId: 'localhost' }, stage.origin)
  return { ...response, id, rawId: id }
}

test.each(ASKED)('%s: neither the answer nor the log has a secret', async (_what, ask) => {
  const { logLines } = stage.panel.running
  const before = logLines.length
  const { status, text, headers } = await ask(stage.browser())
  // A cookie is rightly the secret of the session that begins.
  const { 'set-cookie': _, ...others } = headers
  expect(shownIn(`${status} ${text} ${textOf(others)}`, secrets)).toEqual([])
  expect(shownIn(logLines.slice(before).join(''), secrets)).toEqual([])
})

test('neither the audit trail nor the files of the directory have one', async () => {
  const trail = JSON.stringify(await stage.administration.records.audit('', { after: '', size: 1_000 }))
  expect(trail).toContain('control_panel_user.set_code')
  expect(shownIn(trail, secrets)).toEqual([])
  const files = bytesOf(stage.panel.running.folder, /^directory\.sqlite/)
  expect(files).toContain(authenticator.id)
  expect(shownIn(files, secrets)).toEqual([])
})

test('the search would find them', async () => {
  const { secret: shownSecret } = await must(shown.post(`${FACTORS}/code/begin`, {}))
  expect(shownIn(`otpauth://totp/x?secret=${shownSecret}`, { code: shownSecret })).toEqual(['code'])
  expect(shownIn(randomBytes(100).toString('hex'), secrets)).toEqual([])
})
