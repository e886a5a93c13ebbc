/** Random requests: every answer has Keystone's format, the server never fails, and no secret is returned. */
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import {
  about,
  changed,
  loginBody,
  type Response,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'

const CANARY = 'canary-9b2d5f31'

const sidecar = await startIdentity()
const { ask, tokenFor, running } = sidecar
const token = await tokenFor({})

/** Checks an answer: its status is in the table of errors, and its body has Keystone's format. */
function expectOrderly({ status, text, json, headers }: Response): void {
  expect(status).toBeLessThan(500)
  expect(JSON.stringify(headers) + text).not.toContain('canary')
  // A client does not know the source, whose sections are written so.
  expect(text).not.toContain('§')
  if (status >= 400 && text !== '')
    expect(json).toMatchObject({ error: { code: status, message: expect.any(String) } })
}

afterAll(async () => {
  expect(running.logLines.join('')).not.toContain('canary')
  expect(running.logLines.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
  expect((await ask({ path: TOKENS, headers: about(token) })).status).toBe(200)
})

/** JSON values, many of which contain the canary, because a password could be put in any field by mistake. */
const values = fc.oneof(
  fc.constantFrom<unknown>(
    CANARY,
    [CANARY],
    { [CANARY]: CANARY },
    { id: CANARY },
    { name: CANARY },
    '',
    null,
    {},
    [],
  ),
  fc.constantFrom<unknown>(
    { __proto__: null, constructor: CANARY },
    { toString: CANARY },
    { name: { id: CANARY } },
  ),
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
)

const PATHS = [
  'auth',
  'auth.identity',
  'auth.identity.methods',
  'auth.identity.password',
  'auth.identity.password.user',
  'auth.identity.password.user.name',
  'auth.identity.password.user.id',
  'auth.identity.password.user.domain',
  'auth.identity.password.user.domain.name',
  'auth.identity.password.user.domain.id',
  'auth.identity.password.user.password',
  'auth.scope',
  'auth.scope.domain',
  'auth.scope.project',
  'auth.scope.project.name',
  'auth.scope.project.id',
  'auth.scope.project.domain',
  'auth.scope.project.domain.id',
  'auth.scope.OS-TRUST:trust',
]

/** Valid bodies with some changes. */
const bodies = fc
  .tuple(
    fc.array(fc.tuple(fc.constantFrom(...PATHS), fc.oneof(values, fc.constant(undefined))), {
      minLength: 1,
      maxLength: 3,
    }),
    fc.boolean(),
  )
  .map(([changes, inProject]) => {
    let body: object = loginBody({ password: CANARY, ...(inProject && { project: 'alpha' }) })
    for (const [path, value] of changes) {
      try {
        body = changed(body, path, value)
      } catch {
        // An earlier change removed the path.
      }
    }
    return body
  })

const texts = fc.oneof(
  bodies.map((body) => Buffer.from(JSON.stringify(body))),
  // Truncated, or with an additional byte.
  fc.tuple(bodies, fc.nat(400), fc.nat(255)).map(([body, at, byte]) => {
    const bytes = Buffer.from(JSON.stringify(body))
    return Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + (byte % 2))])
  }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.constantFrom('[', '{"a":', '{"auth":{"identity":', '"', '\\u'), fc.nat(5_000))
    .map(([part, times]) => Buffer.from(part.repeat(times) + CANARY)),
)

test('any body of a login', async () => {
  await fc.assert(
    fc.asyncProperty(texts, async (body) => {
      expectOrderly(await ask({ method: 'POST', path: TOKENS, body }))
    }),
    { numRuns: 150 },
  )
})

/** Characters that Node allows in a header. */
const headerValues = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    ',',
    CANARY,
    token,
    `${token},${token}`,
    `${token} `,
    'eyJ.eyJ.eyJ',
    'pcst_x',
    'null',
    '0',
  ),
  fc.string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 50,
  }),
  fc.nat(9_000).map((length) => 'x'.repeat(length)),
)
const headerNames = fc.constantFrom(
  'x-auth-token',
  'x-subject-token',
  'x-token',
  'x-forwarded-for',
  'x-forwarded-host',
  'forwarded',
  'content-type',
  'content-encoding',
  'accept',
  'accept-version',
  'authorization',
  'range',
  'if-none-match',
  'x-http-method-override',
)

const requests = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'TRACE'),
  path: fc.oneof(
    fc.constantFrom(TOKENS, `${TOKENS}/`, '/identity', '/identity/v3/auth/catalog', `${TOKENS}/${CANARY}`),
    fc.webQueryParameters().map((query) => `${TOKENS}?${query}`),
    fc.webPath().map((path) => `/identity${path}`),
    fc.constantFrom('%', '%zz', '%00', '%ff', '..%2f', ';x=1', '\\', '*').map((part) => `/identity/${part}`),
  ),
  headers: fc
    .dictionary(headerNames, fc.oneof(headerValues, fc.array(headerValues, { maxLength: 3 })))
    // Larger headers never become a request; see `sockets.test.ts`.
    .filter((headers) => JSON.stringify(headers).length < 15_000),
})

test('any request line and any headers', async () => {
  await fc.assert(
    fc.asyncProperty(requests, async (request) => {
      const body = request.method === 'POST' ? { body: loginBody({ password: CANARY }) } : {}
      const response = await ask({ ...request, ...body })
      // The subject token is returned in its header to requesters who may ask about it.
      const { 'x-subject-token': subject, ...headers } = response.headers
      expect([undefined, token]).toContain(subject)
      expectOrderly({ ...response, headers })
    }),
    { numRuns: 150 },
  )
})
