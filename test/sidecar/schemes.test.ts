/**
 * A matrix whose kinds share `Authorization` and differ in scheme and prefix: what is issued travels where
 * the matrix says, and what travels otherwise is denied.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { IssuedToken } from '../../clients/typescript/index.ts'
import { startIdentity } from '../support/identity/identity.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { ask as askEgress, startTarget } from '../support/sidecar/egress.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const LIBRARY = join(import.meta.dirname, '../../examples/matrices/city-library.json')
const ROUTES = [{ path: '/fines/', api: 'fines' }]

const { running, ask, passwordOf, staticToken } = await startIdentity({
  config: newFile(
    JSON.stringify({ http: httpBehindProxy({ authorize: true }), routes: ROUTES, matrix: LIBRARY }),
    'library.json',
  ),
})
const { client } = running
const password = (userName: string) => ({ userName, account: ACCOUNT, password: passwordOf(userName) })
const staff = await client.issue({ password: password('account'), scope: { account: ACCOUNT } })
const branch = await client.issue({
  password: password('alpha'),
  scope: { account: ACCOUNT, project: 'alpha' },
})
const check = (api: string, authorization: string) =>
  client.check({ api, credentials: [['Authorization', authorization]] })

describe('what is issued', () => {
  test.each<[kind: string, token: IssuedToken, prefix: string]>([
    ['staff_badge', staff, 'stf_'],
    ['branch_badge', branch, 'brb_'],
  ])(
    'a %s says its header and scheme, begins with its prefix, and opens what it should',
    async (kind, token, prefix) => {
      expect(token).toMatchObject({ kind, header: 'Authorization', scheme: 'Bearer' })
      expect(token.value.startsWith(`${prefix}eyJ`)).toBe(true)
      expect(token.headerValue).toBe(`Bearer ${token.value}`)
      expect(await check('catalogue', token.headerValue)).toMatchObject({
        allowed: true,
        header: 'Authorization',
        scheme: 'Bearer',
        token: { kind },
      })
      expect(await check('printers', token.headerValue)).toMatchObject({
        reason: 'TOKEN_KIND_NOT_ACCEPTED',
        accepted: [{ kind: 'kiosk_key', header: 'Authorization', scheme: 'Kiosk', issuable: false }],
        message: expect.stringContaining('it accepts a kiosk key in `Authorization: Kiosk`'),
      })
    },
  )

  test('a static token travels behind its own scheme', async () => {
    expect(await check('printers', `Kiosk ${staticToken}`)).toMatchObject({ allowed: true })
  })

  test('a token that the sidecar knows by its value is revoked with its prefix', async () => {
    const { value, headerValue } = await client.issue({
      password: password('account'),
      scope: { account: ACCOUNT },
    })
    expect(await check('catalogue', headerValue)).toMatchObject({ allowed: true })
    await client.revoke({ value })
    expect(await check('catalogue', headerValue)).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
  })
})

test.each<[claim: string, authorization: () => string, reason: string]>([
  ['a badge without its prefix', () => `Bearer ${staff.value.slice('stf_'.length)}`, 'WRONG_HEADER'],
  ['a badge with the prefix of another kind', () => `Bearer brb_${staff.value.slice(4)}`, 'WRONG_HEADER'],
  ['a badge with a prefix of no kind', () => `Bearer xyz_${staff.value.slice(4)}`, 'CREDENTIAL_INVALID'],
  ['a badge with its prefix twice', () => `Bearer stf_${staff.value}`, 'CREDENTIAL_INVALID'],
  ['a badge behind the scheme of kiosks', () => `Kiosk ${staff.value}`, 'WRONG_HEADER'],
  ['a kiosk key behind the scheme of badges', () => `Bearer ${staticToken}`, 'WRONG_HEADER'],
  ['a badge without a scheme', () => staff.value, 'CREDENTIAL_MALFORMED'],
  ['another scheme', () => 'Basic dXNlcjpwYXNz', 'CREDENTIAL_MALFORMED'],
  ['a scheme alone', () => 'Bearer', 'CREDENTIAL_MISSING'],
  ['two schemes', () => `Bearer ${staff.value}, Kiosk ${staticToken}`, 'CREDENTIAL_AMBIGUOUS'],
])('%s is denied', async (_claim, authorization, reason) => {
  const answer = await check('catalogue', authorization())
  expect(answer).toMatchObject({ allowed: false, reason })
  expect(answer.message).not.toContain(staff.value.slice(4))
})

test.each([
  ['a badge', () => staff.headerValue, 200, undefined],
  [
    'none',
    () => undefined,
    401,
    'Portcullis header="Authorization", scheme="Bearer", reason="CREDENTIAL_MISSING"',
  ],
])('a proxy is told of %s with the scheme', async (_claim, authorization, status, challenge) => {
  const value = authorization()
  const answer = await ask({
    path: '/authorize',
    headers: {
      'x-portcullis-proxy-secret': PROXY_SECRET,
      'x-forwarded-for': '203.0.113.5',
      'x-original-method': 'GET',
      'x-original-uri': '/fines/1',
      'x-forwarded-host': 'api.example.com',
      ...(value !== undefined && { authorization: value }),
    },
  })
  expect(answer.status).toBe(status)
  if (challenge !== undefined) expect(answer.headers['www-authenticate']).toContain(challenge)
})

test('egress sends the token behind its scheme, and nothing of the client', async () => {
  const target = await startTarget()
  const egress = await runSidecar({
    folder: running.folder,
    config: newFile(
      JSON.stringify({
        matrix: LIBRARY,
        egress: {
          address: '127.0.0.1:0',
          routes: [{ path: '/', url: target.url, api: 'fines', profile: 'nightly', callers: 'anyone' }],
        },
        profiles: {
          nightly: {
            account: ACCOUNT,
            user_name: 'account',
            password_file: newFile(passwordOf('account')),
          },
        },
      }),
      'egress.json',
    ),
  })
  const { status } = await askEgress(egress.sidecar.egressAddress ?? '', '/', {
    headers: { authorization: 'Bearer of-the-client' },
  })
  expect(status).toBe(200)
  expect(target.received[0]?.headers.authorization).toMatch(/^Bearer stf_eyJ/)
})
