/** Trying headers: what is read of a pasted text, what the engine finds in it, and what a sidecar answers. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tryExample } from '../../console/model/sample.ts'
import { credentialHeaders, readPasted, tryHeaders } from '../../console/model/try.ts'
import { type Circumstances, checkBody, NO_CIRCUMSTANCES, verdictOf } from '../../console/model/verify.ts'
import { compile } from '../../engine/index.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'

test.each<[what: string, text: string, headers: [string, string][], unread: number[]]>([
  ['nothing', '', [], []],
  ['a header', 'X-Token: abc', [['X-Token', 'abc']], []],
  ['spaces around it', '  X-Auth-Token :  abc  ', [['X-Auth-Token', 'abc']], []],
  [
    'a request with its first line',
    'GET /v1/users HTTP/1.1\r\nHost: example.com\r\nX-Token: abc\r\n\r\n',
    [
      ['Host', 'example.com'],
      ['X-Token', 'abc'],
    ],
    [],
  ],
  [
    'what curl -v shows',
    '* Connected to localhost\n> GET / HTTP/2\n> X-Token: abc\n>\n< HTTP/2 401',
    [['X-Token', 'abc']],
    [1, 5],
  ],
  [
    'a command',
    `curl -H 'X-Token: abc' --header "Accept: */*" https://example.com`,
    [
      ['X-Token', 'abc'],
      ['Accept', '*/*'],
    ],
    [],
  ],
  [
    'a command of several lines',
    "curl https://example.com \\\n  -H 'X-Token: abc'",
    [['X-Token', 'abc']],
    [],
  ],
  ['an empty value', 'X-Token:', [['X-Token', '']], []],
  ['something else', 'hello\nX-Token: a', [['X-Token', 'a']], [1]],
  ['a colon in the value', 'X-Token: a:b', [['X-Token', 'a:b']], []],
])('of %s the headers are read', (_what, text, headers, unread) => {
  expect(readPasted(text)).toEqual({ headers, unread })
})

const tried = (api: string, text: string) => tryHeaders(engine, api, readPasted(text))

test('only an authority can distinguish the kinds that travel in the header, so each has its decision', () => {
  expect(tried('cdn', 'x-auth-token: abc')).toMatchObject({
    type: 'found',
    header: 'X-Auth-Token',
    candidates: [
      { kind: { id: ACCOUNT_KIND }, decision: { reason: 'TOKEN_KIND_NOT_ACCEPTED' } },
      { kind: { id: PROJECT_KIND }, decision: { reason: 'ALLOWED' } },
    ],
  })
  expect(tried('tickets', 'X-Token: abc')).toMatchObject({
    candidates: [{ kind: { id: STATIC_KIND }, decision: { reason: 'ALLOWED' } }],
  })
})

test.each([
  ['cdn', 'Authorization: Bearer abc', 'CREDENTIAL_MISSING', ['Authorization']],
  ['cdn', 'X-Token:', 'CREDENTIAL_MISSING', []],
  ['cdn', 'X-Token: a\nX-Auth-Token: b', 'CREDENTIAL_AMBIGUOUS', []],
  ['cdn', 'X-Token: a, b', 'CREDENTIAL_AMBIGUOUS', []],
  ['cdn', 'X-Token: a b', 'CREDENTIAL_MALFORMED', []],
  ['other', 'X-Token: a b', 'UNKNOWN_API', []],
])('%s, `%s`: %s', (api, text, reason, otherHeaders) => {
  expect(tried(api, text)).toMatchObject({ type: 'fault', decision: { reason }, otherHeaders })
})

test.each<[what: string, circumstances: Partial<Circumstances>, sent: object]>([
  ['the headers with credentials alone', { account: ' ' }, {}],
  ['the account of the request', { account: ' 123456 ' }, { target: { account: '123456', project: '' } }],
  [
    'its project and the address of its client',
    { account: '123456', project: 'alpha', clientAddress: '203.0.113.7' },
    { target: { account: '123456', project: 'alpha' }, clientAddress: '203.0.113.7' },
  ],
])('a sidecar is sent %s', (_what, circumstances, sent) => {
  const headers = credentialHeaders(engine, readPasted('Cookie: a=b\nX-Token: abc'))
  expect(JSON.parse(checkBody('cdn', headers, { ...NO_CIRCUMSTANCES, ...circumstances }))).toEqual({
    api: 'cdn',
    credentials: { headers: [{ name: 'X-Token', value: 'abc' }] },
    ...sent,
  })
})

test.each<[what: string, status: number, body: unknown, verdict: object]>([
  [
    'a permission',
    200,
    { allowed: true, reason: 'REASON_ALLOWED', message: 'yes', token: { kind: STATIC_KIND } },
    { type: 'decision', allowed: true, reason: 'ALLOWED', message: 'yes', kind: STATIC_KIND },
  ],
  [
    'a denial',
    200,
    { reason: 'REASON_CREDENTIAL_INVALID', message: 'no' },
    { type: 'decision', allowed: false, reason: 'CREDENTIAL_INVALID', message: 'no', kind: undefined },
  ],
  [
    'a permission with another reason',
    200,
    { allowed: true, reason: 'REASON_UNSPECIFIED' },
    { allowed: false },
  ],
  [
    'an error',
    401,
    { code: 'unauthenticated', message: 'a caller token' },
    { type: 'error', message: 'a caller token' },
  ],
  [
    'a permission with a status of an error',
    500,
    { allowed: true, reason: 'REASON_ALLOWED' },
    { type: 'error' },
  ],
  ['something else', 200, 'allowed', { type: 'error', message: '' }],
  ['nothing', 200, null, { type: 'error' }],
])('%s is understood, and never as more than it is', (_what, status, body, verdict) => {
  expect(verdictOf(status, body)).toMatchObject(verdict)
})

test('scheme and prefix distinguish kinds that share a header, and the example is one of them', () => {
  const library = readMatrix(join(import.meta.dirname, '../../examples/matrices/city-library.json'))
  const of = (text: string) => tryHeaders(compile(library), 'loans', readPasted(text))
  const { text = '' } = tryExample(library) ?? {}
  expect(of(text)).toMatchObject({
    ...{ type: 'found', header: 'Authorization: Bearer' },
    candidates: [{ kind: { id: 'staff_badge' } }],
  })
  expect(of('authorization: kiosk abc')).toMatchObject({
    ...{ type: 'found', header: 'Authorization: Kiosk' },
    candidates: [{ kind: { id: 'kiosk_key' }, decision: { reason: 'ALLOWED' } }],
  })
  expect(of('Authorization: Bearer of-no-kind')).toMatchObject({ type: 'found', candidates: [] })
  expect(of('Authorization: Basic abc')).toMatchObject({
    ...{ type: 'fault', decision: { reason: 'CREDENTIAL_MALFORMED' } },
  })
})
