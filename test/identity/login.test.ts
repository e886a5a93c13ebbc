/**
 * Logging in (§4.1): which token is issued, how it is described, and that the rest of the sidecar accepts it.
 */
import { expect, test } from 'vitest'
import {
  ACCOUNT,
  about,
  changed,
  idsOf,
  loginBody,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'

const sidecar = await startIdentity()
const ids = await idsOf(sidecar)
const { ask, passwordOf, tokenFor, running } = sidecar

const accountBody = loginBody({ password: passwordOf('account') })
const projectBody = loginBody({ password: passwordOf('account'), project: 'alpha' })

const HEX = /^[0-9a-f]{32}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
const DOMAIN = { id: ids.account, name: ACCOUNT }

const PASSWORD_USER = 'auth.identity.password.user'

test.each<[claim: string, body: object, scope: 'domain' | 'project']>([
  ['account scope (rule 1)', accountBody, 'domain'],
  ['project scope (rule 2)', projectBody, 'project'],
  [
    'a user by id',
    changed(accountBody, PASSWORD_USER, { id: ids.user, password: passwordOf('account') }),
    'domain',
  ],
  [
    'a user by id with an account, which is ignored',
    changed(accountBody, PASSWORD_USER, {
      id: ids.user,
      domain: { id: 'nosuch' },
      password: passwordOf('account'),
    }),
    'domain',
  ],
  [
    'the user’s account by id',
    changed(accountBody, `${PASSWORD_USER}.domain`, { id: ids.account }),
    'domain',
  ],
  ['an account scope by id', changed(accountBody, 'auth.scope.domain', { id: ids.account }), 'domain'],
  ['a project by id', changed(projectBody, 'auth.scope.project', { id: ids.project }), 'project'],
  [
    'a method that is named twice',
    changed(accountBody, 'auth.identity.methods', ['password', 'password']),
    'domain',
  ],
  [
    'null for what is absent',
    changed(
      changed(accountBody, PASSWORD_USER, {
        ...{ id: null, name: 'account', password: passwordOf('account') },
        domain: { id: null, name: ACCOUNT },
      }),
      'auth.scope',
      {
        domain: { id: null, name: ACCOUNT },
        project: null,
        system: null,
        'OS-TRUST:trust': null,
        unscoped: null,
      },
    ),
    'domain',
  ],
  ['unknown keys', changed(changed(accountBody, 'auth.extra', [1]), 'trace', null), 'domain'],
])('%s is issued, and described as Keystone does', async (_claim, body, scope) => {
  const { status, headers, json } = await ask({ method: 'POST', path: TOKENS, body })
  expect(status).toBe(201)
  expect(headers).toMatchObject({
    vary: 'X-Auth-Token',
    'content-type': 'application/json',
    'cache-control': 'no-store',
  })
  const { token } = json
  expect(Object.keys(json)).toEqual(['token'])
  expect(token).toEqual({
    methods: ['password'],
    user: { id: ids.user, name: 'account', domain: DOMAIN, password_expires_at: null },
    audit_ids: [expect.stringMatching(/^[\w-]{22}$/)],
    issued_at: expect.stringMatching(TIME),
    expires_at: expect.stringMatching(TIME),
    roles: [{ id: expect.stringMatching(HEX), name: 'member' }],
    catalog: expect.any(Array),
    is_admin_project: false,
    ...(scope === 'domain'
      ? { domain: DOMAIN }
      : { project: { id: ids.project, name: 'alpha', domain: DOMAIN }, is_domain: false }),
  })
  // §8: 24 hours.
  expect(Date.parse(token.expires_at) - Date.parse(token.issued_at)).toBe(24 * 60 * 60 * 1000)
})

test.each([
  ['with a trailing slash', `${TOKENS}/`, {}],
  ['without a content type', TOKENS, { 'content-type': [] }],
  ['with a charset', TOKENS, { 'content-type': 'application/json; charset=UTF-8' }],
  ['with a type that is JSON by its suffix', TOKENS, { 'content-type': 'application/vnd.x+json' }],
])('a login is accepted %s', async (_claim, path, headers) => {
  const { status } = await ask({ method: 'POST', path, headers, body: accountBody })
  expect(status).toBe(201)
})

test('the catalog has the identity service with every interface, and `nocatalog` leaves it out', async () => {
  const { json } = await ask({ method: 'POST', path: TOKENS, body: accountBody })
  const url = `http://127.0.0.1:${sidecar.port}/identity/v3`
  const endpoint = (name: string) => ({
    id: expect.stringMatching(HEX),
    interface: name,
    region: 'RegionOne',
    region_id: 'RegionOne',
    url,
  })
  const endpoints = ['public', 'internal', 'admin'].map(endpoint)
  const catalog = [{ id: expect.stringMatching(HEX), type: 'identity', name: 'portcullis', endpoints }]
  expect(json.token.catalog).toEqual(catalog)
  for (const query of ['nocatalog', 'nocatalog=', 'nocatalog=0', 'a=1&nocatalog']) {
    const without = await ask({ method: 'POST', path: `${TOKENS}?${query}`, body: accountBody })
    expect(without.json.token, query).not.toHaveProperty('catalog')
  }
  const token = await tokenFor({})
  const listed = await ask({ path: '/identity/v3/auth/catalog', headers: { 'x-auth-token': token } })
  expect(listed).toMatchObject({
    status: 200,
    json: { catalog, links: { self: `${url}/auth/catalog` } },
  })
})

test.each(['', '/'])('discovery at /identity%s returns the only version', async (slash) => {
  const self = `http://127.0.0.1:${sidecar.port}/identity/v3/`
  const version = {
    id: 'v3.14',
    status: 'stable',
    updated: expect.stringMatching(/Z$/),
    links: [{ rel: 'self', href: self }],
    'media-types': [{ base: 'application/json', type: 'application/vnd.openstack.identity-v3+json' }],
  }
  expect(await ask({ path: `/identity${slash}` })).toMatchObject({
    status: 300,
    headers: { location: self, vary: 'X-Auth-Token' },
    json: { versions: { values: [version] } },
  })
  // Some clients begin at the bare host.
  expect((await ask({ path: '/' })).json).toEqual({ versions: { values: [version] } })
  expect(await ask({ path: `/identity/v3${slash}` })).toMatchObject({
    status: 200,
    headers: { vary: 'X-Auth-Token' },
    json: { version },
  })
})

test('a token from this endpoint works over gRPC as the matrix says, until it is deleted here', async () => {
  const token = await tokenFor({})
  const check = () => running.client.check({ api: 'balance', credentials: [['X-Auth-Token', token]] })
  expect(await check()).toMatchObject({ allowed: true, verified: true })
  expect((await ask({ method: 'DELETE', path: TOKENS, headers: about(token) })).status).toBe(204)
  expect(await check()).toMatchObject({ allowed: false, reason: 'CREDENTIAL_REVOKED' })
})

test('a token that was issued over gRPC can be validated and deleted here', async () => {
  const { value } = await running.client.issue({
    password: { userName: 'alpha', account: ACCOUNT, password: passwordOf('alpha') },
    scope: { account: ACCOUNT, project: 'alpha' },
  })
  const { json } = await ask({ path: TOKENS, headers: about(value) })
  expect(json.token.project).toEqual({ id: ids.project, name: 'alpha', domain: DOMAIN })
  expect((await ask({ method: 'DELETE', path: TOKENS, headers: about(value) })).status).toBe(204)
  await expect(running.client.revoke({ value })).resolves.toBeDefined()
})
