/** Policy tests: what is asked, when a test fails, and what it says then. */
import { describe, expect, test } from 'vitest'
import {
  nameOf,
  type PolicyTest,
  type PolicyTests,
  type TestToken,
} from '../../matrix/policy-tests/document.ts'
import { testProblems } from '../../matrix/policy-tests/problems.ts'
import { type FindRoute, type Routed, runTests } from '../../matrix/policy-tests/run.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND, strictEngine } from '../support/matrices/engines.ts'

const engines = { lenient: engine, strict: strictEngine }

const TOKENS: Readonly<Record<string, TestToken>> = {
  ours: { kind: ACCOUNT_KIND, scope: { account: '1' } },
  panel: { kind: STATIC_KIND },
  old: { kind: ACCOUNT_KIND, fault: 'CREDENTIAL_EXPIRED' },
  nameless: { fault: 'CREDENTIAL_REVOKED' },
}

/** Finds `balance` below `/billing/`, of the account that the path names, and nothing else. */
const findRoute: FindRoute = (_method, url): Routed =>
  url.startsWith('/billing/')
    ? { refused: undefined, api: 'balance', target: { account: url.slice('/billing/'.length) } }
    : { refused: 'NO_ROUTE', detail: 'no route has this path' }

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
  ['a credential that is no token', { api: 'iam', ...headers('a b'), reason: 'CREDENTIAL_MALFORMED' }, 1],
  ['a token that nobody knows', { api: 'iam', ...headers('constructor'), reason: 'CREDENTIAL_INVALID' }, 1],
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
    'no authority vouches for the credential; obtain a new one',
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

test('what fails alike in both modes is described once, and counted twice', () => {
  const alike = resultOf({ ...CELL, mode: 'both', allowed: true })
  expect(alike).toMatchObject({ questions: 2, failed: 2, failures: [{ mode: 'both' }] })
  const apart = resultOf({ ...CONTESTED, mode: 'both', reason: 'INVALID_SCOPE' })
  expect(apart.failures.map(({ mode }) => mode)).toEqual(['lenient', 'strict'])
})

test('a test of many questions describes the first ten that fail', () => {
  const apis = [...engine.apis.keys()]
  const { failed, failures } = resultOf({ apis, reason: 'CONTESTED', mode: 'both' })
  expect({ failed, described: failures.length }).toEqual({ failed: 177, described: 10 })
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
  ['its request', '/billing', ['GET /billing/1']],
  ['nothing', 'nothing', []],
])('a filter chooses tests by %s', (_what, filter, names) => {
  const tests: PolicyTest[] = [
    { ...CELL, name: 'named', allowed: false },
    { api: 'cdn', kind: STATIC_KIND, allowed: false },
    { request: 'GET /billing/1', allowed: false },
  ]
  const results = runTests({ tests }, { engines, mode: 'lenient', findRoute, filter })
  expect(results.map(({ test: one }) => nameOf(one))).toEqual(names)
})

describe('a test is refused that', () => {
  test.each<[claim: string, one: PolicyTest, path: string, expected: string]>([
    [
      'asks about an unknown API',
      { ...CELL, api: 'iams', allowed: false },
      '.api',
      'there is no API `iams` in the matrix; did you mean `iam`?',
    ],
    [
      'lists one',
      { apis: ['iam', 'cdm'], allowed: false },
      '.apis[1]',
      'there is no API `cdm` in the matrix; did you mean `cdn`?',
    ],
    [
      'asks about an unknown kind',
      { api: 'iam', kind: 'static_tokn', allowed: false },
      '.kind',
      'there is no kind `static_tokn` in the matrix; did you mean `static_token`?',
    ],
    [
      'expects one',
      { ...CELL, accepted: ['api_key'] },
      '.accepted[0]',
      `there is no kind \`api_key\` in the matrix; expected one of ${ACCOUNT_KIND}, ${PROJECT_KIND}, ${STATIC_KIND}`,
    ],
    [
      'expects an unknown API of the routes',
      { request: 'GET /', api: 'iams' },
      '.api',
      'there is no API `iams` in the matrix; did you mean `iam`?',
    ],
    ['expects nothing', CELL, '', 'expected one of allowed, reason and accepted'],
    [
      'expects nothing of a request',
      { request: 'GET /' },
      '',
      'expected one of allowed, reason, accepted, api, target and refused',
    ],
    [
      'asks about no API',
      { kind: STATIC_KIND, allowed: true },
      '',
      'expected exactly one of api, apis and request',
    ],
    [
      'has both api and apis',
      { api: 'iam', apis: ['iam'], allowed: true },
      '',
      'expected exactly one of api, apis and request',
    ],
    [
      'has both kind and kinds',
      { ...CELL, kinds: [STATIC_KIND], allowed: true },
      '.kinds',
      'expected one of kind and kinds',
    ],
    [
      'is allowed with a reason for a denial',
      { ...CELL, allowed: true, reason: 'CONTESTED' },
      '.allowed',
      'expected false, as the reason says',
    ],
    [
      'is denied with the reason ALLOWED',
      { ...CELL, allowed: false, reason: 'ALLOWED' },
      '.allowed',
      'expected true, as the reason says',
    ],
    [
      'has a target without a scope',
      { ...CELL, target: { account: '1' }, allowed: true },
      '.target',
      'expected a scope beside it, which says whose token asks',
    ],
    [
      'names the kind of what tokens describe',
      { ...CELL, headers: {}, allowed: false },
      '.kind',
      'expected nothing here, because `tokens` says it of the credential',
    ],
    [
      'expects a decision of a refused request',
      { request: 'GET /', refused: 'NO_ROUTE', reason: 'CONTESTED' },
      '.reason',
      'expected nothing here, because the routes find no API',
    ],
    [
      'expects that a refused request passes',
      { request: 'GET /', refused: 'NO_ROUTE', allowed: true },
      '.allowed',
      'expected false, because the routes find no API',
    ],
  ])('%s', (_claim, one, path, expected) => {
    const document = { tests: [{ ...CELL, allowed: false } as PolicyTest, one] }
    expect(testProblems(document, engine, true)).toEqual([{ path: `tests[1]${path}`, expected }])
  })

  test('asks about a request without routes', () => {
    const document = { tests: [{ request: 'GET /', allowed: false }] }
    expect(testProblems(document, engine, false)).toEqual([
      { path: 'tests[0].request', expected: 'expected `routes` in this file, or --config with the routes' },
    ])
  })

  test('has a token of no kind and without a fault, or of an unknown kind', () => {
    const tokens = { a: {}, b: { kind: 'none' } }
    expect(testProblems({ tokens, tests: [] }, engine, false).map(({ path }) => path)).toEqual([
      'tokens.a',
      'tokens.b.kind',
    ])
  })
})
