/** Refused logins: each row of the table of errors, with the path of the field and never with a value. */
import { describe, expect, test } from 'vitest'
import { BODY_BYTES_MAX } from '../../sidecar/http/http-error.ts'
import {
  ACCOUNT,
  changed,
  errorOf,
  loginBody,
  OTHER_ACCOUNT,
  type Request,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'

/** A canary in every field with a value. No answer may contain it. */
const CANARY = 'canary-7c9e6679'

const sidecar = await startIdentity()
const { ask, passwordOf, port } = sidecar

const accountBody = loginBody({ password: passwordOf('account') })
const projectBody = loginBody({ password: passwordOf('account'), project: 'alpha' })
const post = (request: Omit<Request, 'method'>) => ask({ method: 'POST', path: TOKENS, ...request })

const LOGIN_FAILED =
  'the login failed; expected a service user, their password, a scope that they have a permission for, and an address that the account allows'
const USER = 'auth.identity.password.user'

describe('every failed login has the same answer', () => {
  test.each<[claim: string, body: object]>([
    ['a wrong password', loginBody({ password: CANARY })],
    ['a scope of another account', changed(accountBody, 'auth.scope.domain', { name: OTHER_ACCOUNT })],
    ['no method', changed(accountBody, 'auth.identity.methods', [])],
  ])('%s', async (_claim, body) => {
    const response = await post({ body })
    expect(response).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': `Keystone uri="http://127.0.0.1:${port}/identity/v3"` },
    })
    expect(response.json).toEqual(errorOf(401, 'Unauthorized', LOGIN_FAILED))
    expect(response.headers).not.toHaveProperty('x-subject-token')
  })
})

test.each<[claim: string, methods: unknown[]]>([
  ['a method that is not supported', ['token']],
  ['another method next to a supported one', ['password', CANARY]],
])('%s: 401, and the message names the supported methods', async (_claim, methods) => {
  // The body lacks the fields of the other method.
  const body = changed(
    changed(accountBody, 'auth.identity.password', undefined),
    'auth.identity.methods',
    methods,
  )
  const response = await post({ body })
  expect(response).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('Keystone uri=') },
  })
  expect(response.json).toEqual(
    errorOf(401, 'Unauthorized', 'auth.identity.methods: expected a supported method: password'),
  )
})

const OBJECT = 'an object'
const TEXT = 'a non-empty string'
const METHODS = 'the array ["password"]'
const SCOPES =
  '{"domain": {"name": ACCOUNT}} for an account-scoped token, or {"project": {"name": PROJECT, "domain": {"name": ACCOUNT}}} for a project-scoped one'

const FAULTS: readonly (readonly [claim: string, body: unknown, message: string])[] = [
  ['an empty object', {}, `auth: expected ${OBJECT}`],
  ['an array', [CANARY], `the body: expected ${OBJECT}`],
  ['a string', JSON.stringify(CANARY), `the body: expected ${OBJECT}`],
  ['null', 'null', `the body: expected ${OBJECT}`],
  ['no identity', changed(accountBody, 'auth.identity', undefined), `auth.identity: expected ${OBJECT}`],
  [
    'no methods',
    changed(accountBody, 'auth.identity.methods', undefined),
    `auth.identity.methods: expected ${METHODS}`,
  ],
  [
    'methods that are a string',
    changed(accountBody, 'auth.identity.methods', CANARY),
    `auth.identity.methods: expected ${METHODS}`,
  ],
  [
    'a method that is not a string',
    changed(accountBody, 'auth.identity.methods', ['password', 7]),
    `auth.identity.methods: expected ${METHODS}`,
  ],
  [
    'too many methods',
    changed(accountBody, 'auth.identity.methods', Array(17).fill('password')),
    'auth.identity.methods: expected at most 16 methods',
  ],
  [
    'no password method',
    changed(accountBody, 'auth.identity.password', undefined),
    `auth.identity.password: expected ${OBJECT}`,
  ],
  ['no user', changed(accountBody, USER, undefined), `${USER}: expected ${OBJECT}`],
  ['neither name nor id', changed(accountBody, `${USER}.name`, undefined), `${USER}.name: expected ${TEXT}`],
  [
    'a name that is a number beside an id',
    changed(changed(accountBody, `${USER}.id`, CANARY), `${USER}.name`, 7),
    `${USER}.name: expected a string, or none beside the id`,
  ],
  ['a name that is a number', changed(accountBody, `${USER}.name`, 7), `${USER}.name: expected ${TEXT}`],
  [
    'an id that is a number',
    changed(accountBody, USER, { id: 7, password: CANARY }),
    `${USER}.id: expected ${TEXT}`,
  ],
  ['an empty id', changed(accountBody, USER, { id: '', password: CANARY }), `${USER}.id: expected ${TEXT}`],
  [
    'no account of the user',
    changed(accountBody, `${USER}.domain`, undefined),
    `${USER}.domain: expected ${OBJECT}`,
  ],
  [
    'an account that is a string',
    changed(accountBody, `${USER}.domain`, CANARY),
    `${USER}.domain: expected ${OBJECT}`,
  ],
  ['no password', changed(accountBody, `${USER}.password`, undefined), `${USER}.password: expected ${TEXT}`],
  [
    'a password that is a list',
    changed(accountBody, `${USER}.password`, [CANARY]),
    `${USER}.password: expected ${TEXT}`,
  ],
  [
    'a password that is an object',
    changed(accountBody, `${USER}.password`, { [CANARY]: CANARY }),
    `${USER}.password: expected ${TEXT}`,
  ],
  [
    'no scope',
    changed(accountBody, 'auth.scope', undefined),
    `auth.scope: expected ${SCOPES}; there is no unscoped token here`,
  ],
  [
    'the scope `unscoped`',
    changed(accountBody, 'auth.scope', 'unscoped'),
    `auth.scope: expected ${SCOPES}; not unscoped`,
  ],
  [
    'the scope `unscoped` as an object',
    changed(accountBody, 'auth.scope', { unscoped: {} }),
    `auth.scope: expected ${SCOPES}; not unscoped`,
  ],
  [
    'an empty scope',
    changed(accountBody, 'auth.scope', {}),
    'auth.scope: expected exactly one of domain (account scope) and project (project scope), not neither',
  ],
  [
    'both scopes',
    changed(projectBody, 'auth.scope.domain', { name: ACCOUNT }),
    'auth.scope: expected exactly one of domain (account scope) and project (project scope), not both',
  ],
  [
    'an unknown scope',
    changed(accountBody, 'auth.scope', { [CANARY]: {} }),
    'auth.scope: expected exactly one of domain (account scope) and project (project scope), not neither',
  ],
  [
    'a scope of Keystone next to a valid one',
    changed(accountBody, 'auth.scope.system', { all: true }),
    `auth.scope: expected ${SCOPES}; not system`,
  ],
  [
    'an account scope without a name',
    changed(accountBody, 'auth.scope.domain', {}),
    `auth.scope.domain.name: expected ${TEXT}`,
  ],
  [
    'a project without an account',
    changed(projectBody, 'auth.scope.project.domain', undefined),
    `auth.scope.project.domain: expected ${OBJECT}`,
  ],
  [
    'two faults',
    changed(changed(accountBody, 'auth.scope', {}), `${USER}.domain`, null),
    `${USER}.domain: expected ${OBJECT}; auth.scope: expected exactly one of domain (account scope) and project (project scope), not neither`,
  ],
]

test.each(FAULTS)('%s: 400, with the path of the field', async (_claim, body, message) => {
  const response = await post({ body: body as object })
  expect(response.status).toBe(400)
  expect(response.json).toEqual(errorOf(400, 'Bad Request', message))
  expect(response.text).not.toContain('canary')
})

const JSON_TEXT = JSON.stringify(accountBody)

test.each<[claim: string, body: string | Buffer, message: RegExp]>([
  ['no body', '', /^the body: expected JSON/],
  ['no JSON', CANARY, /^the body: expected JSON/],
  ['truncated JSON', JSON_TEXT.slice(0, -1), /^the body: expected JSON/],
  ['a repeated key', JSON_TEXT.replace('"scope"', '"scope":1,"scope"'), /^the body: expected each key once/],
  ['a secret as a repeated key', `{"${CANARY}":1,"${CANARY}":2}`, /^the body: expected each key once/],
  ['the key __proto__', '{"__proto__":{"auth":{}}}', /^the body: expected another key/],
  ['nesting that would overflow the stack', '['.repeat(100_000), /^the body: expected at most 64 levels/],
  ['half a surrogate pair', JSON_TEXT.replace(ACCOUNT, `${CANARY}\\ud800`), /^the body: expected (?!JSON)/],
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from(JSON_TEXT), Buffer.from([0xff])]),
    /^the body: expected UTF-8/,
  ],
])('%s: 400', async (_claim, body, message) => {
  const response = await post({ body, headers: { 'content-type': 'application/json' } })
  expect(response.status).toBe(400)
  expect(response.json).toEqual(errorOf(400, 'Bad Request', expect.stringMatching(message)))
  expect(response.text).not.toContain('canary')
})

test.each([
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonx',
  'json',
  '/',
  'a b c',
])('a body of type %s: 400, never 415', async (type) => {
  const response = await post({ body: JSON_TEXT, headers: { 'content-type': type } })
  expect(response.json).toEqual(errorOf(400, 'Bad Request', 'Content-Type: expected application/json'))
})

test('a body of the largest size is accepted, and one byte more is refused with 413', async () => {
  const sized = (bytes: number) => JSON_TEXT + ' '.repeat(bytes - JSON_TEXT.length)
  expect((await post({ body: sized(BODY_BYTES_MAX) })).status).toBe(201)
  const response = await post({ body: sized(BODY_BYTES_MAX + 1) })
  expect(response.json).toEqual(
    errorOf(413, 'Payload Too Large', `expected a body of at most ${BODY_BYTES_MAX} bytes`),
  )
  const chunked = await post({
    body: sized(BODY_BYTES_MAX + 1),
    headers: { 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
  })
  expect(chunked.status).toBe(413)
})
