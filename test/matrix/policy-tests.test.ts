/** Policy tests: their questions, their failures, and the messages of these. */
import { expect, test } from 'vitest'
import { compile, type Reason, type TokenKind } from '../../engine/index.ts'
import {
  nameOf,
  type PolicyTest,
  type PolicyTests,
  type TestToken,
} from '../../matrix/policy-tests/document.ts'
import { testProblems } from '../../matrix/policy-tests/problems.ts'
import { type FindRoute, type Routed, runTests } from '../../matrix/policy-tests/run.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND, strictEngine } from '../support/matrices/engines.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const engines = { lenient: engine, strict: strictEngine }

const TOKENS: Readonly<Record<string, TestToken>> = {
  ours: { kind: ACCOUNT_KIND, scope: { account: '1' } },
  panel: { kind: STATIC_KIND },
  old: { kind: ACCOUNT_KIND, fault: 'CREDENTIAL_EXPIRED' },
  nameless: { fault: 'CREDENTIAL_REVOKED' },
}

/** Finds `balance` below `/billing/`, of the account that the path names, and at `/open`; nothing else. */
const findRoute: FindRoute = (method, url): Routed => {
  if (method === 'GET' && url.startsWith('/billing/'))
    return { refused: undefined, api: 'balance', target: { account: url.slice('/billing/'.length) } }
  if (url === '/open') return { refused: undefined, api: 'balance', target: undefined }
  return { refused: 'NO_ROUTE', detail: 'no route has this path' }
}

/** Runs one test against the shipped matrix, in lenient mode unless it says otherwise. */
function resultOf(one: PolicyTest, tests: Partial<PolicyTests> = {}) {
  const document = { tokens: TOKENS, ...tests, tests: [one] }
  expect(testProblems(document, engine, true)).toEqual([])
  const [result] = runTests(document, { engines, mode: 'lenient', findRoute })
  if (result === undefined) throw new Error('expected a result')
  return result
}

const CELL = { api: 'iam', kind: STATIC_KIND }
const CONTESTED = { api: 'cdn', kind: PROJECT_KIND }
const headers = (value: string | string[], name = 'X-Auth-Token') => ({ headers: { [name]: value } })

test.each<[claim: string, one: PolicyTest, questions: number]>([
  ['a cell that opens', { api: 'reports', kind: STATIC_KIND, allowed: true }, 1],
  ['a cell that does not', { ...CELL, allowed: false, reason: 'TOKEN_KIND_NOT_ACCEPTED' }, 1],
  ['lists', { apis: ['iam', 'cdn'], kinds: [STATIC_KIND], allowed: false }, 2],
  ['a row of the table', { api: 'balance', accepted: [STATIC_KIND, ACCOUNT_KIND] }, 3],
  ['the kinds that a denial lists', { ...CELL, accepted: [ACCOUNT_KIND] }, 1],
  ['the kinds that open what is allowed', { api: 'reports', kind: STATIC_KIND, accepted: [STATIC_KIND] }, 1],
  ['no kind at all', { ...CONTESTED, mode: 'strict', accepted: [], reason: 'CONTESTED' }, 1],
  ['both modes', { ...CELL, mode: 'both', allowed: false }, 2],
  [
    'a scope',
    { api: 'iam', kind: ACCOUNT_KIND, scope: { account: '1', project: 'a' }, reason: 'INVALID_SCOPE' },
    1,
  ],
  [
    'a target',
    {
      api: 'iam',
      kind: ACCOUNT_KIND,
      scope: { account: '1' },
      target: { account: '2' },
      reason: 'ACCOUNT_MISMATCH',
    },
    1,
  ],
  ['an unknown API', { api: 'none', kind: STATIC_KIND, reason: 'UNKNOWN_API' }, 1],
  ['an unknown kind', { api: 'iam', kind: 'none', reason: 'UNKNOWN_TOKEN_KIND' }, 1],
  ['every kind', { api: 'iam', reason: 'ALLOWED', mode: 'both', kinds: [ACCOUNT_KIND] }, 2],
  ['no credential', { api: 'iam', headers: { Accept: '*/*' }, reason: 'CREDENTIAL_MISSING' }, 1],
  ['two credentials', { api: 'iam', ...headers(['a', 'b']), reason: 'CREDENTIAL_AMBIGUOUS' }, 1],
  [
    'credentials in two headers',
    { api: 'iam', headers: { 'X-Token': 'a', 'x-auth-token': 'b' }, reason: 'CREDENTIAL_AMBIGUOUS' },
    1,
  ],
  ['a credential that is not a token', { api: 'iam', ...headers('a b'), reason: 'CREDENTIAL_MALFORMED' }, 1],
  ['an unknown token', { api: 'iam', ...headers('constructor'), reason: 'CREDENTIAL_INVALID' }, 1],
  ['a token in another header', { api: 'iam', ...headers('panel'), reason: 'WRONG_HEADER' }, 1],
  ['even where it has a fault', { api: 'iam', ...headers('old', 'X-Token'), reason: 'WRONG_HEADER' }, 1],
  ['a token with a fault', { api: 'iam', ...headers('old'), reason: 'CREDENTIAL_EXPIRED' }, 1],
  ['a fault of an unknown token', { api: 'iam', ...headers('nameless'), reason: 'CREDENTIAL_REVOKED' }, 1],
  ['a token', { api: 'iam', ...headers(' ours '), target: { account: '1' }, reason: 'ALLOWED' }, 1],
  [
    'a request',
    {
      request: 'GET /billing/1',
      ...headers('ours'),
      api: 'balance',
      target: { account: '1' },
      allowed: true,
    },
    1,
  ],
  [
    'a request for another account',
    { request: 'GET /billing/2', ...headers('ours'), reason: 'ACCOUNT_MISMATCH' },
    1,
  ],
  ['a request without a credential', { request: 'GET /billing/1', reason: 'CREDENTIAL_MISSING' }, 1],
  ['a request without a route', { request: 'GET /', refused: 'NO_ROUTE' }, 1],
  ['any denial of a request', { request: 'GET /', allowed: false, mode: 'both' }, 2],
])('%s: passes', (_claim, one, questions) => {
  expect(resultOf(one)).toMatchObject({ questions, failed: 0, failures: [] })
})

test.each<[claim: string, one: PolicyTest, differences: object[], message: string]>([
  [
    'a cell that opens',
    { api: 'reports', kind: STATIC_KIND, allowed: false },
    [{ what: 'answer', expected: 'denied', found: 'allowed' }],
    '`reports` accepts a static token in `X-Token`',
  ],
  [
    'a cell that does not',
    { ...CELL, allowed: true },
    [{ what: 'answer', expected: 'allowed', found: 'denied: TOKEN_KIND_NOT_ACCEPTED' }],
    '`iam` does not accept a static token; it accepts an account-scoped IAM token in `X-Auth-Token`',
  ],
  [
    'another reason and other kinds',
    { ...CELL, reason: 'CONTESTED', accepted: [STATIC_KIND] },
    [
      { what: 'answer', expected: 'denied: CONTESTED', found: 'denied: TOKEN_KIND_NOT_ACCEPTED' },
      { what: 'accepted', expected: STATIC_KIND, found: ACCOUNT_KIND },
    ],
    expect.any(String),
  ],
  [
    'no kind where there is one',
    { ...CELL, accepted: [] },
    [{ what: 'accepted', expected: 'no kind', found: ACCOUNT_KIND }],
    expect.any(String),
  ],
  [
    'a credential',
    { api: 'iam', ...headers('unheard-of'), reason: 'ALLOWED' },
    [{ what: 'answer', expected: 'allowed', found: 'denied: CREDENTIAL_INVALID' }],
    'no authority verified the credential; obtain a new one',
  ],
  [
    'another API and another target than the routes find',
    { request: 'GET /billing/1', ...headers('ours'), api: 'iam', target: { account: '2', project: 'a' } },
    [
      { what: 'api', expected: 'iam', found: 'balance' },
      { what: 'target', expected: 'account 2, project a', found: 'account 1' },
    ],
    expect.any(String),
  ],
  [
    'another project, and a target where the routes find none',
    { request: 'GET /billing/1', ...headers('ours'), target: { account: '1', project: 'a' } },
    [{ what: 'target', expected: 'account 1, project a', found: 'account 1' }],
    expect.any(String),
  ],
  [
    'another account',
    { request: 'GET /billing/1', ...headers('ours'), target: { account: '2' } },
    [{ what: 'target', expected: 'account 2', found: 'account 1' }],
    expect.any(String),
  ],
  [
    'a target where the routes find none',
    { request: 'GET /open', ...headers('ours'), target: { account: '1' } },
    [{ what: 'target', expected: 'account 1', found: 'none' }],
    expect.any(String),
  ],
  [
    'another answer, with the right kinds',
    { ...CELL, allowed: true, accepted: [ACCOUNT_KIND] },
    [{ what: 'answer', expected: 'allowed', found: 'denied: TOKEN_KIND_NOT_ACCEPTED' }],
    expect.any(String),
  ],
  [
    'more kinds than there are',
    { ...CELL, accepted: [STATIC_KIND, ACCOUNT_KIND] },
    [{ what: 'accepted', expected: `${ACCOUNT_KIND}, ${STATIC_KIND}`, found: ACCOUNT_KIND }],
    expect.any(String),
  ],
  [
    'a denial for a reason where the routes refuse',
    { request: 'GET /', allowed: false, reason: 'CREDENTIAL_MISSING' },
    [{ what: 'answer', expected: 'denied: CREDENTIAL_MISSING', found: 'refused by the routes: NO_ROUTE' }],
    expect.any(String),
  ],
  [
    'a denial by an API where the routes refuse',
    { request: 'GET /', allowed: false, api: 'balance' },
    [{ what: 'answer', expected: 'denied', found: 'refused by the routes: NO_ROUTE' }],
    expect.any(String),
  ],
  [
    'a request that the routes refuse',
    { request: 'GET /', allowed: true },
    [{ what: 'answer', expected: 'allowed', found: 'refused by the routes: NO_ROUTE' }],
    'no route has this path',
  ],
  [
    'a request that they refuse otherwise',
    { request: 'GET /', refused: 'NOT_CANONICAL' },
    [
      {
        what: 'answer',
        expected: 'refused by the routes: NOT_CANONICAL',
        found: 'refused by the routes: NO_ROUTE',
      },
    ],
    'no route has this path',
  ],
  [
    'a request that they refuse, with a reason that decisions have',
    { request: 'GET /', reason: 'CREDENTIAL_MISSING' },
    [{ what: 'answer', expected: 'denied: CREDENTIAL_MISSING', found: 'refused by the routes: NO_ROUTE' }],
    'no route has this path',
  ],
  [
    'a request that they refuse, with an API',
    { request: 'GET /', api: 'balance' },
    [{ what: 'answer', expected: 'an API', found: 'refused by the routes: NO_ROUTE' }],
    'no route has this path',
  ],
  [
    'a request that they do not refuse',
    { request: 'GET /billing/1', refused: 'NO_ROUTE' },
    [{ what: 'answer', expected: 'refused by the routes: NO_ROUTE', found: 'routed to balance' }],
    'the routes find an API',
  ],
])('%s: fails, and says what was found', (_claim, one, differences, message) => {
  expect(resultOf(one)).toMatchObject({ failed: 1, failures: [{ differences, message, mode: 'lenient' }] })
})

test('a row of the table fails for each cell that is otherwise', () => {
  const {
    failed,
    failures,
    test: asked,
  } = resultOf({
    apis: ['balance', 'iam'],
    accepted: [PROJECT_KIND, STATIC_KIND],
  })
  expect(nameOf(asked)).toBe('balance, iam × every kind')
  expect(failed).toBe(5)
  expect(failures.map(({ question }) => question)).toEqual([
    `balance × ${ACCOUNT_KIND}`,
    `balance × ${PROJECT_KIND}`,
    ...[ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND].map((kind) => `iam × ${kind}`),
  ])
})

test('a row of the table with an answer is asked for the answer of each cell', () => {
  const { failures } = resultOf({ api: 'iam', accepted: [ACCOUNT_KIND], allowed: false })
  expect(failures.map(({ question }) => question)).toEqual([`iam × ${ACCOUNT_KIND}`])
})

test('a question about a credential is named by its headers', () => {
  const { failures } = resultOf({ api: 'iam', ...headers('unheard-of'), reason: 'ALLOWED' })
  expect(failures.map(({ question }) => question)).toEqual(['iam × X-Auth-Token'])
})

test('a question that is asked twice fails twice', () => {
  const { failures } = resultOf({ apis: ['iam', 'iam'], kind: STATIC_KIND, allowed: true })
  expect(failures.map(({ mode }) => mode)).toEqual(['lenient', 'lenient'])
})

test.each<[what: string, one: PolicyTest]>([
  ['message', { api: 'audit-logs', kind: STATIC_KIND, mode: 'both', allowed: true }],
  ['difference', { api: 'mobile-farm', kind: ACCOUNT_KIND, mode: 'both', accepted: [STATIC_KIND] }],
])('failures with another %s in each mode are described separately', (_what, one) => {
  expect(resultOf(one).failures.map(({ mode }) => mode)).toEqual(['lenient', 'strict'])
})

test('a request is not asked without routes', () => {
  const tests: PolicyTest[] = [{ request: 'GET /billing/1', allowed: true }]
  expect(() => runTests({ tests }, { engines, mode: 'lenient' })).toThrow(
    new TypeError('expected routes to find the requests by'),
  )
})

test('a token of which nothing is known is invalid', () => {
  const tests: PolicyTest[] = [{ api: 'iam', ...headers('blank'), reason: 'CREDENTIAL_INVALID' }]
  expect(runTests({ tokens: { blank: {} }, tests }, { engines, mode: 'lenient' })).toMatchObject([
    { failed: 0 },
  ])
})

test.each<[what: string, value: string, header: string, reason: Reason]>([
  ['its prefix', 'a_1', 'X-Day-Pass', 'ALLOWED'],
  ['another prefix', 'b_a_', 'X-Day-Pass', 'WRONG_HEADER'],
  ['a name like that of no prefix', 'undefined-1', 'X-Room-Key', 'WRONG_HEADER'],
  ['its prefix, in the header of another kind', 'a_1', 'X-Room-Key', 'WRONG_HEADER'],
])('a token with %s', (_what, value, header, reason) => {
  const [pass, key] = smallMatrix().tokenKinds
  const tokenKinds = [
    { ...pass, prefix: 'a_' },
    { ...key, obtained: { by: 'issue' } },
  ] as TokenKind[]
  const own = compile({ ...smallMatrix(), tokenKinds })
  const tests: PolicyTest[] = [{ api: 'lobby', headers: { [header]: value }, reason }]
  const tokens = { [value]: { kind: 'day_pass' } }
  const both = { lenient: own, strict: own }
  expect(runTests({ tokens, tests }, { engines: both, mode: 'lenient' })).toMatchObject([{ failures: [] }])
})

test.each<[name: string, one: PolicyTest]>([
  ['iam × no headers', { api: 'iam', headers: {} }],
  ['iam × X-Token, Accept', { api: 'iam', headers: { 'X-Token': 'a', Accept: 'b' } }],
  ['a, b, c × every kind', { apis: ['a', 'b', 'c'] }],
  ['a, b, c and 2 more × x', { apis: ['a', 'b', 'c', 'd', 'e'], kind: 'x' }],
])('a test without a name is called %s', (name, one) => {
  expect(nameOf(one)).toBe(name)
})

test('a failure that both modes share is described once, and counted twice', () => {
  const alike = resultOf({ ...CELL, mode: 'both', allowed: true })
  expect(alike).toMatchObject({ questions: 2, failed: 2, failures: [{ mode: 'both' }] })
  const apart = resultOf({ ...CONTESTED, mode: 'both', reason: 'INVALID_SCOPE' })
  expect(apart.failures.map(({ mode }) => mode)).toEqual(['lenient', 'strict'])
})

test('a test of many questions describes the first ten that fail', () => {
  const apis = [...engine.apis.keys()]
  const { failed, failures } = resultOf({ apis, reason: 'CONTESTED', mode: 'both' })
  expect({ failed, described: failures.length }).toEqual({ failed: 177, described: 10 })
  expect(failures.at(-1)?.mode).toBe('both')
  // The tenth is otherwise in each mode.
  const others = apis.filter((api) => !['cdn', 'audit-logs', 'mobile-farm'].includes(api)).slice(0, 9)
  const last = resultOf({
    apis: [...others, 'cdn'],
    kind: PROJECT_KIND,
    reason: 'INVALID_SCOPE',
    mode: 'both',
  })
  expect(last.failures.map(({ mode }) => mode)).toEqual([...others.map(() => 'both'), 'lenient'])
})

test.each<
  [
    mode: string,
    tests: Partial<PolicyTests>,
    one: Partial<PolicyTest>,
    fallback: 'lenient' | 'strict',
    found: string[],
  ]
>([
  ['of the command line', {}, {}, 'strict', ['strict']],
  ['of the file before it', { mode: 'lenient' }, {}, 'strict', ['lenient']],
  ['of the test before that', { mode: 'lenient' }, { mode: 'both' }, 'strict', ['lenient', 'strict']],
])('the mode is that %s', (_mode, tests, one, fallback, found) => {
  const document = { ...tests, tests: [{ ...CONTESTED, reason: 'INVALID_SCOPE', ...one } as PolicyTest] }
  const [result] = runTests(document, { engines, mode: fallback })
  expect(result?.failures.map(({ mode }) => mode)).toEqual(found)
})

test.each([
  ['its name', 'NAMED', ['named']],
  ['one of its APIs', 'cdn', ['cdn × static_token']],
  ['one of its kinds', 'static', ['named', 'cdn × static_token']],
  ['its request', '/billing', ['GET /billing/1', 'asked']],
  ['the API of its request', 'BALANCE', ['asked']],
  ['nothing', 'nothing', []],
])('a filter chooses tests by %s', (_what, filter, names) => {
  const tests: PolicyTest[] = [
    { ...CELL, name: 'named', allowed: false },
    { api: 'cdn', kind: STATIC_KIND, allowed: false },
    { request: 'GET /billing/1', allowed: false },
    { name: 'asked', request: 'GET /billing/1', api: 'balance' },
  ]
  const results = runTests({ tests }, { engines, mode: 'lenient', findRoute, filter })
  expect(results.map(({ test: one }) => nameOf(one))).toEqual(names)
})
