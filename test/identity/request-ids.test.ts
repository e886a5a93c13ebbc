/** Every answer has an id in Keystone's header, and the log lines about a request name it. */
import { expect, test } from 'vitest'
import { ACCOUNT, loginBody, type Request, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'

const { ask, passwordOf, running } = await startIdentity()
const post = (body: object | string): Request => ({
  method: 'POST',
  path: TOKENS,
  body,
  headers: { 'content-type': 'application/json' },
})

const linesAbout = (id: string | undefined) =>
  running.logLines.map((line) => JSON.parse(line)).filter((line) => line.request_id === id)

test.each<[answer: string, request: Request, status: number]>([
  ['a token', post(loginBody({ password: passwordOf('account') })), 201],
  ['a refused login', post(loginBody({ password: 'wrong' })), 401],
  ['a body that is not JSON', post('{'), 400],
  ['discovery', { path: '/' }, 300],
  ['health', { path: '/healthz' }, 200],
  ['an unknown path', { path: '/nosuch' }, 404],
  ['an unknown method', { method: 'PUT', path: TOKENS }, 405],
  ['OPTIONS', { method: 'OPTIONS', path: TOKENS }, 200],
  ['another host', { path: '/', headers: { host: 'example.com' } }, 403],
  ['a path that cannot be decoded', { path: '/%zz' }, 400],
])('%s has a new id', async (_answer, request, status) => {
  const [one, other] = [await ask(request), await ask(request)]
  const id = one.headers['x-openstack-request-id']
  expect(one.status).toBe(status)
  expect(id).toMatch(/^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(other.headers['x-openstack-request-id']).not.toBe(id)
})

test('an id that the client sends is not taken over', async () => {
  const headers = { 'x-openstack-request-id': 'req-of-the-client' }
  expect((await ask({ path: '/', headers })).headers['x-openstack-request-id']).not.toBe('req-of-the-client')
})

test('the id of a proxy is taken over, where it looks like one', async () => {
  const answered = async (id: string) =>
    (await ask({ path: '/nosuch', headers: { 'x-request-id': id } })).headers['x-openstack-request-id']
  const id = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
  expect(await answered(id)).toBe(id)
  expect(await answered('not an id')).toMatch(/^req-/)
})

test('the log lines of a refused request name it, and why it was refused', async () => {
  const { headers } = await ask(post(loginBody({ password: 'wrong' })))
  expect(linesAbout(headers['x-openstack-request-id'])).toEqual([
    expect.objectContaining({ level: 20, status: 401, reason: 'LOGIN_REFUSED', client_address: '127.0.0.1' }),
  ])
  const { run } = running.sidecar
  await run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['203.0.113.0/24'] })
  const refused = await ask(post(loginBody({ password: passwordOf('account') })))
  await run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: [] })
  expect(linesAbout(refused.headers['x-openstack-request-id'])).toContainEqual(
    expect.objectContaining({ level: 40, reason: 'ADDRESS_NOT_ALLOWED' }),
  )
})
