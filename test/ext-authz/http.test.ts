/**
 * External authorization over HTTP, as Envoy's `http_service` asks for it: only a 200 lets a request pass.
 */
import { describe, expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { askAt, type RequestHeaders } from '../support/identity/identity.ts'
import { ENVOY_TOKEN, iam, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { PROXY_SECRET } from '../support/proxies/proxied.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/sidecar/sidecar.ts'

const people = await peopleBehindEnvoy()
const { account, restricted, project } = people
const running = await people.run({ 'http.address': '127.0.0.1:0' })
const port = Number(running.sidecar.httpAddress?.split(':').at(-1))

const PROXY = { 'x-portcullis-proxy-secret': PROXY_SECRET, host: 'api.example' }
const BALANCE = '/ext-authz/api=balance'
const ask = (prefix: string, headers: RequestHeaders, path = '/v1/items?limit=10', method = 'GET') =>
  askAt(port, { method, path: prefix + path, headers: { ...PROXY, ...headers } })
const credential = (value: string) => Object.fromEntries([iam(value)])

test('the sender of the request is passed on, and the claims of a client about itself are removed', async () => {
  const forged = {
    'x-portcullis-account': OTHER_ACCOUNT,
    'x-portcullis-admin': 'true',
    x_portcullis_kind: 'any',
  }
  const answer = await ask(`${BALANCE},account=${ACCOUNT}`, { ...credential(account), ...forged })
  expect(answer.status).toBe(200)
  expect(answer.headers).toMatchObject({
    'x-portcullis-kind': 'iam_token_account_scoped',
    'x-portcullis-account': ACCOUNT,
    'x-portcullis-user-name': 'account',
    'x-portcullis-token-id': people.tokenId,
  })
  const removed = answer.headers['x-envoy-auth-headers-to-remove']?.split(',') ?? []
  expect(removed).toEqual(
    expect.arrayContaining([
      'x-portcullis-project',
      'x-portcullis-authority',
      'x-portcullis-admin',
      'x_portcullis_kind',
    ]),
  )
  expect(removed.filter((name) => answer.headers[name] !== undefined)).toEqual([])
})

test.each<[what: string, prefix: string, headers: RequestHeaders, status: number, reason: string]>([
  ['no credential', BALANCE, {}, 401, 'CREDENTIAL_MISSING'],
  ['another account', `${BALANCE},account=${OTHER_ACCOUNT}`, credential(account), 403, 'ACCOUNT_MISMATCH'],
  [
    'another project',
    `/ext-authz/api=cdn,account=${ACCOUNT},project=be%74a`,
    credential(project),
    403,
    'PROJECT_MISMATCH',
  ],
  [
    'an address outside those of the account',
    `${BALANCE},trusted_hops=1`,
    { ...credential(restricted), 'x-forwarded-for': '203.0.113.1, 198.51.100.1' },
    403,
    'ADDRESS_NOT_ALLOWED',
  ],
  // Envoy drops the body of a 5xx, and may let the request pass.
  ['a misspelt account', `${BALANCE},acount=1`, credential(account), 403, 'INVALID_ARGUMENT'],
  ['no API', '/ext-authz/account=1', credential(account), 403, 'INVALID_ARGUMENT'],
  ['no routes', '/ext-authz/routes', credential(account), 403, 'INVALID_ARGUMENT'],
  ['no names', '/ext-authz/', credential(account), 403, 'INVALID_ARGUMENT'],
  ['a name without a value', '/ext-authz/api=', credential(account), 403, 'INVALID_ARGUMENT'],
])('%s keeps the request out, with the reason', async (_what, prefix, headers, status, reason) => {
  const answer = await ask(prefix, headers)
  expect([answer.status, answer.json?.error.reason]).toEqual([status, reason])
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.headers['www-authenticate'] !== undefined).toBe(status === 401)
})

test('an account is known by an address that a proxy of the operator reports', async () => {
  const headers = { ...credential(restricted), 'x-forwarded-for': '198.51.100.1, 203.0.113.1' }
  expect((await ask(`${BALANCE},trusted_hops=1`, headers)).status).toBe(200)
})

test('headers that override the path or the method do not go on, though Envoy does not show them', async () => {
  const removed = ({ headers }: Awaited<ReturnType<typeof ask>>) =>
    headers['x-envoy-auth-headers-to-remove']?.split(',') ?? []
  const paths = ['x-original-url', 'x-rewrite-url', 'x_original_url', 'x_rewrite_url']
  expect(removed(await ask(BALANCE, credential(account)))).toEqual(expect.arrayContaining(paths))
  const routes = [{ path: '/billing/', methods: ['GET'], api: 'balance' }]
  const { sidecar } = await people.run({ 'http.address': '127.0.0.1:0' }, { routes })
  const answer = await askAt(Number(sidecar.httpAddress?.split(':').at(-1)), {
    path: '/ext-authz/routes/billing/items',
    headers: { ...PROXY, ...credential(account) },
  })
  const methods = ['x-http-method-override', 'x-http-method', 'x-method-override']
  expect(removed(answer)).toEqual(expect.arrayContaining([...paths, ...methods]))
})

test.each([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'MKCOL',
  'PURGE',
])('a request by %s is asked about like any other', async (method) => {
  expect((await ask(BALANCE, credential(account), '/', method)).status).toBe(200)
  expect((await ask(BALANCE, {}, '/', method)).status).toBe(401)
})

test.each([
  '/',
  '//',
  '/../../healthz',
  '/%2e%2e/healthz',
  '/a//b/',
  '/a?/../../healthz',
  '/a;b',
  `/${'a/'.repeat(2_000)}`,
])('the path %s of a client changes nothing of what is asked', async (path) => {
  expect((await ask(BALANCE, credential(account), path)).status).toBe(200)
  expect((await ask(BALANCE, {}, path)).status).toBe(401)
})

test.each([
  ['/ext-authz', 'GET'],
  ['/ext-authz', 'OPTIONS'],
  ['/ext-authz/api=balance', 'OPTIONS'],
  ['/ext-authz/api=balance*', 'OPTIONS'],
  ['/ext-authz/api=balance?/', 'GET'],
  ['/ext-authz//api=balance/', 'GET'],
  ['/EXT-AUTHZ/api=balance/', 'GET'],
  ['/ext-authz/api=balance/%zz', 'GET'],
  ['/ext-authz/api=%C3/', 'GET'],
  ['/ext-authz/api=%2525zz/', 'GET'],
])('%s by %s does not get a 200', async (path, method) => {
  const { status } = await ask('', credential(account), path, method)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
})

test.each([
  ['no secret', {}],
  ['a wrong secret', { 'x-portcullis-proxy-secret': 'x'.repeat(40) }],
  ['two secrets', { 'x-portcullis-proxy-secret': [PROXY_SECRET, PROXY_SECRET] }],
])('an Envoy with %s is not answered', async (_what, headers) => {
  const { status, text } = await askAt(port, {
    path: `${BALANCE}/`,
    headers: { host: 'api.example', ...credential(account), ...headers },
  })
  expect(status).toBe(403)
  expect(text).not.toContain(ACCOUNT)
})

describe('the credential of a profile', () => {
  const prefix = `${BALANCE},account=${ACCOUNT},credential_profile=gateway`
  const known = { 'proxy-authorization': `Bearer ${ENVOY_TOKEN}` }

  test('takes the place of the one that the client sent', async () => {
    const { status, headers } = await ask(prefix, { ...credential(account), ...known, x_auth_token: 'y' })
    expect(status).toBe(200)
    const value = headers['x-auth-token'] ?? ''
    const question = credentialQuestion('balance', 'X-Auth-Token', value)
    expect(await new BlackBox(running.address).ask('check', question)).toMatchObject({
      allowed: true,
      token: { scope: { account: OTHER_ACCOUNT } },
    })
    expect(headers['x-envoy-auth-headers-to-remove']?.split(',')).toEqual(
      expect.arrayContaining(['x-token', 'x_auth_token']),
    )
  })

  test.each([
    ['an unknown Envoy', {}, 'CALLER_TOKEN_MISSING'],
    [
      'an Envoy with a wrong token',
      { 'proxy-authorization': `Bearer ${'x'.repeat(40)}` },
      'CALLER_TOKEN_INVALID',
    ],
  ])('is not for %s', async (_who, headers, reason) => {
    const answer = await ask(prefix, { ...credential(account), ...headers })
    expect([answer.status, answer.json.error.reason]).toEqual([403, reason])
    expect(answer.headers['x-auth-token']).toBeUndefined()
  })
})
