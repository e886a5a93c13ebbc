/** Validating and revoking: who may ask about which token, and the result. */
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  about,
  errorOf,
  OTHER_ACCOUNT,
  type RequestHeaders,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'

const HOUR_MS = 60 * 60 * 1000

let elapsedMs = 0
const sidecar = await startIdentity({ now: () => Date.now() + elapsedMs })
const { ask, tokenFor, running, staticToken } = sidecar
const { run } = running.sidecar

/** Makes tokens of control panel users, as the control panel does (§5.1). */
const panelToken = async (user: string) =>
  (await run(TESTER, 'reissueControlPanelUserToken', { account: ACCOUNT, name: user })).value.reveal()

const NOT_FOUND = errorOf(404, 'Not Found', 'there is no such token; expected an active IAM token')
const FORBIDDEN = errorOf(
  403,
  'Forbidden',
  'only the holder of the token, the owner of its account and users with the role `iam.admin` may ask about it or revoke it; a validator may ask about it',
)
const UNAUTHORIZED = errorOf(
  401,
  'Unauthorized',
  'expected one active IAM token, in the header that carries it',
)

/**
 * Changes a character in the middle of the signature, because not every bit of the last character is
 * significant.
 */
const tampered = (token: string) => {
  const at = token.length - 40
  return `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
}

const outcome = async (method: string, headers: RequestHeaders, query = '') => {
  const { status, json } = await ask({ method, path: `${TOKENS}${query}`, headers })
  return { status, json }
}

describe('who may ask about a token of `account`', () => {
  type Requester = readonly [who: string, token: () => Promise<string>, may: boolean]
  test.each<Requester>([
    ['the holder with the token itself', async () => '', true],
    ['the holder with another token', () => tokenFor({ project: 'alpha' }), true],
    ['a service user with iam.admin', () => tokenFor({ user: 'administrator' }), true],
    ['the owner', () => panelToken('owner'), true],
    ['another service user', () => tokenFor({ user: 'alpha', project: 'alpha' }), false],
    [
      'an account administrator of another account',
      () => tokenFor({ user: 'administrator', account: OTHER_ACCOUNT }),
      false,
    ],
  ])('%s', async (_who, requesterToken, may) => {
    const token = await tokenFor({})
    const headers = about(token, (await requesterToken()) || token)
    const shown = await ask({ path: TOKENS, headers })
    const looked = await ask({ method: 'HEAD', path: TOKENS, headers })
    const deleted = await ask({ method: 'DELETE', path: TOKENS, headers })
    if (!may) {
      expect(shown.json).toEqual(FORBIDDEN)
      expect(deleted.json).toEqual(FORBIDDEN)
      expect(looked).toMatchObject({ status: 403, text: '' })
      return
    }
    expect(shown).toMatchObject({
      status: 200,
      headers: { 'x-subject-token': token, vary: 'X-Auth-Token' },
      json: { token: { user: { name: 'account' }, domain: { name: ACCOUNT } } },
    })
    expect(looked).toMatchObject({ status: 200, text: '', headers: { 'x-subject-token': token } })
    expect(deleted).toMatchObject({ status: 204, text: '', headers: { vary: 'X-Auth-Token' } })
  })
})

test('an account administrator with a project-scoped token may validate tokens of others, but not revoke them', async () => {
  const token = await tokenFor({})
  const headers = about(token, await tokenFor({ user: 'administrator', project: 'beta' }))
  expect((await ask({ path: TOKENS, headers })).status).toBe(200)
  expect((await ask({ method: 'DELETE', path: TOKENS, headers })).json).toEqual(
    errorOf(403, 'Forbidden', "revoking another user's token needs an account-scoped token"),
  )
  expect((await ask({ path: TOKENS, headers: about(token) })).status).toBe(200)
})

test('validation returns the same description as issuing', async () => {
  const token = await tokenFor({ user: 'administrator', project: 'alpha' })
  const shown = await ask({ path: `${TOKENS}/`, headers: about(token) })
  const { id } = await run(TESTER, 'getServiceUser', { account: ACCOUNT, name: 'administrator' })
  expect(shown.json.token).toMatchObject({
    methods: ['password'],
    user: { id, name: 'administrator', password_expires_at: null },
    roles: [{ name: 'member' }, { name: 'iam.admin' }],
    project: { name: 'alpha', domain: { name: ACCOUNT } },
    is_domain: false,
    is_admin_project: false,
    catalog: [{ type: 'identity' }],
  })
  const without = await ask({ path: `${TOKENS}?nocatalog`, headers: about(token) })
  const { catalog: _, ...rest } = shown.json.token
  expect(without.json.token).toEqual(rest)
})

test('a control panel user’s token is described as not issued for a password', async () => {
  const token = await panelToken('owner')
  const { json } = await ask({ path: TOKENS, headers: about(token) })
  expect(json.token).toMatchObject({
    methods: ['external'],
    user: { name: 'owner' },
    domain: { name: ACCOUNT },
  })
})

describe('an invalid subject token: 404, and the answer does not contain it', () => {
  type Subject = readonly [what: string, make: (token: string) => RequestHeaders]
  const subject = (value: string | readonly string[]) => ({ 'x-subject-token': value })
  test.each<Subject>([
    ['an empty token', () => subject('')],
    ['garbage', () => subject('garbage')],
    ['a tampered token', (token) => subject(tampered(token))],
    ['a token with an additional character', (token) => subject(`${token}x`)],
    ['a repeated token', (token) => subject([token, token])],
    ['two tokens joined by a comma', (token) => subject(`${token}, ${token}`)],
    ['a static token', () => subject(staticToken)],
    ['an unsigned token', () => subject(`eyJhbGciOiJub25lIn0.${Buffer.from('{}').toString('base64url')}.x`)],
  ])('%s', async (_what, make) => {
    const requester = await tokenFor({ user: 'administrator' })
    const headers = { 'x-auth-token': requester, ...make(await tokenFor({})) }
    for (const method of ['GET', 'DELETE'])
      expect(await outcome(method, headers)).toEqual({ status: 404, json: NOT_FOUND })
    expect(await outcome('HEAD', headers)).toEqual({ status: 404, json: undefined })
  })
})

test.each<[method: string, who: string, wish: Parameters<typeof tokenFor>[0], status: number]>([
  ['GET', 'a service user', {}, 403],
  ['GET', 'an administrator', { user: 'administrator' }, 404],
  ['HEAD', 'a service user', {}, 403],
  ['HEAD', 'an administrator', { user: 'administrator' }, 404],
  ['DELETE', 'a service user', {}, 403],
  ['DELETE', 'an administrator', { user: 'administrator' }, 404],
])('%s without a subject token, by %s, is answered as by Keystone', async (method, _who, wish, status) => {
  const headers = { 'x-auth-token': await tokenFor(wish) }
  const json = method === 'HEAD' ? undefined : status === 403 ? FORBIDDEN : NOT_FOUND
  expect(await outcome(method, headers)).toEqual({ status, json })
})

describe('an invalid token of the requester: 401', () => {
  type Requester = readonly [what: string, make: (token: string) => RequestHeaders]
  test.each<Requester>([
    ['no token', () => ({})],
    ['an empty token', () => ({ 'x-auth-token': '' })],
    ['garbage', () => ({ 'x-auth-token': 'garbage' })],
    ['a tampered token', (token) => ({ 'x-auth-token': tampered(token) })],
    ['a repeated token', (token) => ({ 'x-auth-token': [token, token] })],
    ['two tokens joined by a comma', (token) => ({ 'x-auth-token': `${token},${token}` })],
    ['white space inside', (token) => ({ 'x-auth-token': `${token} x` })],
    ['a static token', () => ({ 'x-auth-token': staticToken })],
    ['a static token in its own header', () => ({ 'x-token': staticToken })],
    ['both headers', (token) => ({ 'x-auth-token': token, 'x-token': staticToken })],
    ['the token in the other header', (token) => ({ 'x-token': token })],
    ['the token as a bearer token', (token) => ({ authorization: `Bearer ${token}` })],
  ])('%s', async (_what, make) => {
    const token = await tokenFor({})
    const headers = { 'x-subject-token': token, ...make(token) }
    for (const method of ['GET', 'DELETE']) {
      const response = await ask({ method, path: TOKENS, headers })
      expect(response.json).toEqual(UNAUTHORIZED)
      expect(response.headers['www-authenticate']).toBe(
        `Keystone uri="http://127.0.0.1:${sidecar.port}/identity/v3"`,
      )
    }
    expect((await ask({ path: '/identity/v3/auth/catalog', headers })).json).toEqual(UNAUTHORIZED)
  })
})

describe('a token is no longer active', () => {
  test('after it is deleted: 404 if others ask, 401 if it is used to ask', async () => {
    const token = await tokenFor({})
    const requester = await tokenFor({})
    expect(await outcome('DELETE', about(token, requester))).toEqual({ status: 204, json: undefined })
    for (const method of ['GET', 'DELETE'])
      expect(await outcome(method, about(token, requester))).toEqual({ status: 404, json: NOT_FOUND })
    expect(await outcome('DELETE', about(requester, token))).toEqual({ status: 401, json: UNAUTHORIZED })
    expect((await outcome('GET', about(requester))).status).toBe(200)
  })
})

describe('an expired token', () => {
  const allowing = (value: string) => `?allow_expired=${value}`

  test('is returned for 48 hours if the request allows expired tokens, and cannot be revoked', async () => {
    const token = await tokenFor({})
    const revoked = await tokenFor({})
    await outcome('DELETE', about(revoked))
    elapsedMs += 24 * HOUR_MS
    const requester = await tokenFor({ user: 'administrator' })
    const status = async (method: string, subject: string, query: string) =>
      (await outcome(method, about(subject, requester), query)).status

    expect(await status('GET', token, '')).toBe(404)
    for (const value of ['0', 'false', '', 'maybe'])
      expect(await status('GET', token, allowing(value))).toBe(404)
    for (const value of ['1', 'true', 'True', 'yes'])
      expect(await status('GET', token, allowing(value)), value).toBe(200)
    expect(await status('HEAD', token, allowing('1'))).toBe(200)
    expect(await status('DELETE', token, allowing('1'))).toBe(404)
    // A repeated parameter is ignored.
    expect(await status('GET', token, '?allow_expired=1&allow_expired=1')).toBe(404)
    expect(await status('GET', revoked, allowing('1'))).toBe(404)
    // The token opens no API, not even for its holder.
    expect(await outcome('GET', about(token), allowing('1'))).toEqual({ status: 401, json: UNAUTHORIZED })
    expect(
      await running.client.check({ api: 'balance', credentials: [['X-Auth-Token', token]] }),
    ).toMatchObject({ allowed: false, reason: 'CREDENTIAL_EXPIRED' })
  })

  test('is unknown after 48 hours', async () => {
    const token = await tokenFor({})
    elapsedMs += 24 * HOUR_MS + 48 * HOUR_MS
    const requester = await tokenFor({ user: 'administrator' })
    expect((await outcome('GET', about(token, requester), allowing('1'))).status).toBe(404)
  })
})
