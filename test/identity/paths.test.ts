/** Unknown paths, and methods that a path does not support: the answer has Keystone's format, and Allow. */
import { expect, test } from 'vitest'
import { errorOf, loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'

/** A canary in paths. No answer may contain it. */
const CANARY = 'canary-7c9e6679'

const { ask } = await startIdentity()
const accountBody = loginBody({ password: CANARY })

test.each([
  ['GET', '/identity/v3/users'],
  ['POST', '/identity/v2.0/tokens'],
  ['GET', '/identity/v3/auth/tokens/x'],
  ['GET', '/IDENTITY/v3'],
  ['GET', `/${CANARY}`],
  // The router would read these as patterns.
  ['GET', '/**'],
  ['GET', `/:a(${CANARY}`],
  ['GET', '/identity/v3/:x'],
])('%s %s: 404 in Keystone’s format', async (method, path) => {
  const response = await ask({ method, path })
  expect(response.headers.vary).toBe('X-Auth-Token')
  expect(response.json).toEqual(errorOf(404, 'Not Found', 'there is no such path'))
})

test.each([
  ['PUT', TOKENS, 'DELETE, GET, HEAD, OPTIONS, POST'],
  ['PATCH', `${TOKENS}/`, 'DELETE, GET, HEAD, OPTIONS, POST'],
  ['PROPFIND', TOKENS, 'DELETE, GET, HEAD, OPTIONS, POST'],
  ['POST', '/identity/v3', 'GET, HEAD, OPTIONS'],
  ['DELETE', '/identity/', 'GET, HEAD, OPTIONS'],
  ['POST', '/identity/v3/auth/catalog?x=1', 'GET, HEAD, OPTIONS'],
  ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
])('%s %s: 405 in Keystone’s format, with Allow', async (method, path, allow) => {
  const response = await ask({ method, path, body: accountBody })
  expect(response.headers.allow).toBe(allow)
  expect(response.json).toEqual(errorOf(405, 'Method Not Allowed', `expected one of ${allow}`))
})

test('a path that cannot be decoded: 400 in Keystone’s format', async () => {
  const response = await ask({ path: `/identity/%zz${CANARY}` })
  expect(response).toMatchObject({ status: 400, headers: { vary: 'X-Auth-Token' } })
  expect(response.json).toEqual(errorOf(400, 'Bad Request', 'expected a valid HTTP request'))
})

test.each([
  [TOKENS, 'DELETE, GET, HEAD, OPTIONS, POST'],
  [`${TOKENS}/`, 'DELETE, GET, HEAD, OPTIONS, POST'],
  ['/identity/v3', 'GET, HEAD, OPTIONS'],
  ['/', 'GET, HEAD, OPTIONS'],
])('OPTIONS %s: 200 with Allow, as Keystone answers', async (path, allow) => {
  const response = await ask({ method: 'OPTIONS', path })
  expect(response).toMatchObject({ status: 200, text: '', headers: { allow, vary: 'X-Auth-Token' } })
})

test('OPTIONS of an unknown path: 404', async () => {
  expect((await ask({ method: 'OPTIONS', path: '/identity/v3/nosuch' })).status).toBe(404)
})

test.each([
  ['GET', '//identity/v3', 200],
  ['GET', '/identity//v3/', 200],
  ['GET', '//', 300],
  ['POST', '/identity/v3//auth/tokens', 401],
  ['PUT', '/identity/v3//auth///tokens', 405],
])('%s %s: slashes that are doubled count once', async (method, path, status) => {
  const body = method === 'GET' ? undefined : accountBody
  expect((await ask({ method, path, ...(body && { body }) })).status).toBe(status)
})
