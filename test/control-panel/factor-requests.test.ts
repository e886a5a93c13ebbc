/**
 * Requests that change second factors: what each needs, what it does, and what cannot be had by
 * sending something else.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PASSWORD, SESSION } from '../support/console/control-panel.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import { FACTORS, FactorStage, factorsOf, must, NEW_PASSWORD } from '../support/identity/factor-stage.ts'
import { codeAt } from '../support/identity/totp.ts'

const stage = await FactorStage.start()

/** Every request that shows a secret or changes something, with what it changes. */
const CHANGES: readonly [path: string, body: (made: Made) => object, after: object | undefined][] = [
  ['/password', () => ({ current: PASSWORD, password: NEW_PASSWORD }), {}],
  ['/code/begin', () => ({}), undefined],
  ['/code', ({ sealed, secret }) => ({ sealed, code: codeAt(secret, stage.clock.nowMs) }), { code: {} }],
  ['/code/delete', () => ({}), { code: null }],
  ['/passkeys/challenge', () => ({}), undefined],
  [
    '/passkeys',
    ({ response }) => ({ name: 'another', response }),
    { passkeys: expect.arrayContaining([expect.objectContaining({ name: 'another' })]) },
  ],
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
    const { name, shown } = await stage.newPerson()
    const secret = await stage.setCode(shown)
    const { authenticator } = await stage.addPasskey(shown)
    const begun = await must(shown.post(`${FACTORS}/code/begin`, {}))
    const { options } = await must(shown.post(`${FACTORS}/passkeys/challenge`, {}))
    const made: Made = {
      ...{ sealed: begun.sealed, secret: begun.secret, id: authenticator.id },
      response: new Authenticator().create(options, stage.origin),
    }
    const other = stage.browser()
    await must(stage.logIn(name, codeAt(secret, stage.clock.nowMs), other))
    return { name, shown, other, made }
  }

  test('needs a session, of a user, and what our page sends', async () => {
    const { shown, made } = await prepared()
    const before = await factorsOf(shown)
    const stranger = stage.browser()
    expect(await stranger.post(FACTORS + path, body(made))).toMatchObject({
      ...{ status: 401, json: { reason: 'REQUESTER_NOT_AUTHENTICATED' } },
    })
    const token = readFileSync(join(stage.panel.running.folder, 'administrator-token'), 'utf8').trim()
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

  test(`is done, and ${path === '/password' ? 'ends the other sessions' : 'ends no other session'}`, async () => {
    const { shown, other, made } = await prepared()
    const before = await factorsOf(shown)
    await must(shown.post(FACTORS + path, body(made)))
    expect(await factorsOf(shown)).toMatchObject(after ?? before)
    const { signedIn } = (await other.get(SESSION)).json as { signedIn: boolean }
    expect(signedIn).toBe(path !== '/password')
  })
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
  const { shown } = await stage.newPerson()
  const { status, json } = await shown.post(`/console${path}`, body)
  expect([status, json]).toEqual([400, expect.objectContaining({ reason: 'INVALID_ARGUMENT' })])
})

test('an id that no passkey has is answered as any unknown one, and a body that is too long is refused', async () => {
  const { shown } = await stage.newPerson()
  const { authenticator } = await stage.addPasskey(shown)
  const response = await stage.answerOf(authenticator, stage.browser())
  for (const id of ['', 'a', '\u0000', '../..', 'é', 'A'.repeat(8_000)])
    expect(await stage.browser().post(`${SESSION}/passkey`, { response: { ...response, id } })).toMatchObject(
      {
        ...{ status: 401, json: { reason: 'PASSKEY_REFUSED' } },
      },
    )
  expect((await shown.post(`${FACTORS}/passkeys`, { name: LONG.repeat(20) })).status).toBe(413)
})
