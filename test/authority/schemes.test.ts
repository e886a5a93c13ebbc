/**
 * A matrix whose kinds share `Authorization` and differ in scheme and prefix: what is issued says so, and
 * proxies and egress heed it. `test/parity/library.test.ts` says what is denied.
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

const { running, ask, passwordOf } = await startIdentity({
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

describe('an issued token', () => {
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
})

test.each([
  ['a badge', () => staff.headerValue, 200, undefined],
  [
    'none',
    () => undefined,
    401,
    'Portcullis header="Authorization", scheme="Bearer", reason="CREDENTIAL_MISSING"',
  ],
])('a proxy that sends %s gets the scheme', async (_claim, authorization, status, challenge) => {
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
