/**
 * A matrix whose kinds share `Authorization` and differ in scheme and prefix: what is issued says so, and
 * proxies and egress heed it. `test/parity/library.test.ts` says what is denied.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { IssuedToken } from '../../clients/typescript/index.ts'
import { startIdentity } from '../support/identity/identity.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { ask as askEgress, startTarget } from '../support/sidecar/egress.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../examples/matrices/city-library.json'), 'utf8'),
)
// A staff badge travels in further places, in one of them with its holder.
const { header, scheme, prefix, ...badge } = document.tokenKinds[0]
document.tokenKinds[0] = {
  ...badge,
  places: [
    ...[{ header, scheme, prefix }, { header: 'X-Badge' }, { header, basic: 'password' }],
    { header: 'X-Staff', with: 'X-Name' },
  ],
}
const LIBRARY = newFile(JSON.stringify(document), 'matrix.json')
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

const NO_SUCH_PLACE =
  'expected a place of a staff badge that needs no other header: `Authorization: Bearer stf_…`, `X-Badge` or `Authorization: Basic (password)`'

describe('the place of an issued token', () => {
  const issue = (place: string) =>
    client.issue({ password: password('account'), scope: { account: ACCOUNT }, place })

  test.each<[place: string, found: object, value: (token: string) => string]>([
    ['Authorization: Bearer', { header: 'Authorization', scheme: 'Bearer' }, (token) => `Bearer ${token}`],
    ['x-badge', { header: 'X-Badge', scheme: '' }, (token) => token],
    [
      'Authorization: Basic (password)',
      { header: 'Authorization', scheme: 'Basic', basic: 'password' },
      (token) => `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
    ],
  ])('may be %s', async (place, found, value) => {
    const token = await issue(place)
    expect(token).toMatchObject({ ...found, headerValue: value(token.value) })
    const answer = await client.check({ api: 'fines', credentials: [[token.header, token.headerValue]] })
    expect(answer).toMatchObject({ allowed: true, token: { kind: 'staff_badge' } })
  })

  test.each(['X-Staff', 'X-Nowhere'])('cannot be %s', async (place) => {
    await expect(issue(place)).rejects.toMatchObject({
      ...{ reason: 'INVALID_ARGUMENT', message: `place: ${NO_SUCH_PLACE}` },
      violations: [{ field: 'place', description: NO_SUCH_PLACE }],
    })
  })
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

async function egressTo(url: string, place?: string) {
  const { sidecar } = await runSidecar({
    folder: running.folder,
    config: newFile(
      JSON.stringify({
        matrix: LIBRARY,
        egress: {
          address: '127.0.0.1:0',
          routes: [{ path: '/', url, api: 'fines', profile: 'nightly', callers: 'anyone', place }],
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
  return sidecar.egressAddress ?? ''
}

test.each<[place: string | undefined, name: string, value: RegExp]>([
  [undefined, 'authorization', /^Bearer stf_eyJ/],
  ['X-Badge', 'x-badge', /^stf_eyJ/],
  ['Authorization: Basic (password)', 'authorization', /^Basic OnN0Zl9leU/],
])('egress sends the token in the place %s, and nothing of the client', async (place, name, value) => {
  const target = await startTarget()
  const headers = { authorization: 'Bearer of-the-client', 'x-badge': 'of-the-client' }
  const { status } = await askEgress(await egressTo(target.url, place), '/', { headers })
  expect(status).toBe(200)
  const { authorization, 'x-badge': badge } = target.received[0]?.headers ?? {}
  const sent = Object.entries({ authorization, 'x-badge': badge }).filter(([, each]) => each !== undefined)
  expect(sent).toEqual([[name, expect.stringMatching(value)]])
})

test('egress does not start with a place that the kind does not have', async () => {
  await expect(egressTo('http://127.0.0.1:1/', 'X-Staff')).rejects.toThrow(
    `egress.routes[0].place: ${NO_SUCH_PLACE}`,
  )
})
