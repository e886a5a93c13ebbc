/**
 * What is believed of an upstream's answers about tokens, to the letter. What an upstream that misbehaves on
 * the wire gets is in `wire.test.ts`.
 */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { kindOfScope } from '../../sidecar/authority/kind-of-scope.ts'
import {
  AnswerFault,
  readIssuedToken,
  readValidatedToken,
} from '../../sidecar/authority/upstream/token-answer.ts'
import { NO_NAMES } from '../support/inputs/names.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND } from '../support/matrices/engines.ts'

const NOW = Date.parse('2026-11-23T00:00:00Z')
const VALUE = 'gAAAAA-one'
const DOMAIN = { id: 'd', name: '123456' }
const PROJECT = { id: 'p', name: 'web café', domain: DOMAIN }
const ID = 'Aa0_-Aa0_-Aa0_-Aa0_-Aa'
const TOKEN = {
  audit_ids: [ID, 'of the token before it'],
  user: { id: 'u', name: 'колобок 🥐' },
  project: PROJECT,
  roles: [{ name: 'member' }, { name: 'reader' }],
  issued_at: '2026-11-22T23:00:00Z',
  expires_at: '2026-11-23T12:00:00Z',
  catalog: [{ type: 'identity' }],
}
const OF_ACCOUNT = { project: undefined, domain: DOMAIN }

/** An answer of another status, with another header or body, or one whose token differs in that. */
interface Change {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string
  readonly token?: object
}

const answer = ({ status = 200, headers = {}, body, token }: Change) => ({
  ...{ status, headers },
  body: body ?? JSON.stringify({ token: { ...TOKEN, ...token } }),
})
const validated = (change: Change) => readValidatedToken(answer(change), VALUE, NOW)

const ASKED = { userName: 'robot', scope: { account: '123456', project: 'web café' } }
const issued = (change: Change, asked: Parameters<typeof readIssuedToken>[1] = ASKED) =>
  readIssuedToken(
    answer({ status: 201, ...change, headers: { 'x-subject-token': VALUE, ...change.headers } }),
    asked,
    NOW,
  )

/** The whole message, or what it matches, of the fault that an answer is. */
function expectFault(read: () => unknown, expected: string): void {
  expect(read).toThrow(AnswerFault)
  expect(read).toThrow(expect.objectContaining({ message: expected }))
}

const digest = createHash('sha256').update(VALUE).digest('base64url').slice(0, 22)
const DESCRIBED = {
  id: ID,
  scope: { account: '123456', project: 'web café' },
  projectId: 'p',
  subject: { id: 'u', name: 'колобок 🥐' },
  issuedAtMs: NOW - 3_600_000,
  expiresAtMs: NOW + 43_200_000,
  roles: ['member', 'reader'],
  catalog: [{ type: 'identity' }],
}

const LONG = 'a'.repeat(255)

describe('of a token that was asked about is believed', () => {
  test.each<[what: string, change: Change, described: Partial<typeof DESCRIBED> | object]>([
    ['everything', {}, {}],
    ['an answer that names the token', { headers: { 'x-subject-token': VALUE } }, {}],
    ['an answer of somebody between', { status: 203 }, {}],
    ['an account', { token: OF_ACCOUNT }, { scope: { account: '123456' }, projectId: undefined }],
    ['a project that is said to be one', { token: { is_domain: false } }, {}],
    ['the same of the project', { token: { project: { ...PROJECT, is_domain: false } } }, {}],
    ['an application credential', { token: { application_credential: { id: 'c' } } }, {}],
    ['no time of issue: now', { token: { issued_at: undefined } }, { issuedAtMs: NOW }],
    [
      'a time with its zone and all digits',
      { token: { issued_at: '2026-11-22T12:00:00.123456789+02:30' } },
      { issuedAtMs: Date.parse('2026-11-22T09:30:00.123Z') },
    ],
    [
      'a time west of Greenwich',
      { token: { issued_at: '2026-11-22T12:00:00.5-01:00' } },
      { issuedAtMs: Date.parse('2026-11-22T13:00:00.500Z') },
    ],
    [
      'an end in this very moment',
      { token: { expires_at: '2026-11-23T00:00:00.001Z' } },
      { expiresAtMs: NOW + 1 },
    ],
    ['no roles', { token: { roles: undefined } }, { roles: [] }],
    [
      '1,000 roles',
      { token: { roles: Array(1_000).fill({ name: 'r' }) } },
      { roles: Array(1_000).fill('r') },
    ],
    ['the longest name', { token: { user: { id: 'u', name: LONG } } }, { subject: { id: 'u', name: LONG } }],
    ['no catalog that is none', { token: { catalog: {} } }, { catalog: undefined }],
    ...[
      ...[undefined, [], ID, [[ID]], [ID.slice(1)], [`${ID}A`]],
      ...[[`${ID.slice(1)}+`], ['+'.repeat(22)], [null], [ID.replace('0', 'é')]],
    ].map((audit_ids): [string, Change, object] => [
      `the token’s own id in place of ${JSON.stringify(audit_ids)}`,
      { token: { audit_ids } },
      { id: digest },
    ]),
  ])('%s', (_what, change, described) => {
    expect(validated(change)).toEqual({ ...DESCRIBED, ...described })
  })
})

const JSON_BODY = 'a body of JSON with each key once'
const NOT_A_TIME = [
  ...[undefined, null, 1_795_478_400, '', 'tomorrow', ['2026-11-24T00:00:00Z'], '2026-13-24T00:00:00Z'],
  ...['2026-11-24T00:00:00', '2026-11-24 00:00:00Z', '2026-11-24T00:00:00Z\u0000', '+002026-11-24T00:00:00Z'],
  ...['2026-11-24T00:00:00.1234567890Z', '2026-11-24T00:00:00.Z', '2027-02-30T00:00:00Z'],
  ...['2027-11-31T00:00:00+01:00', '9999-12-31T23:59:59-00:01', '1969-12-31T23:59:59Z'],
]
const LONG_TEXT = (path: string) => `a text of 1 to 255 characters in \`${path}\``

describe('an answer about a token is refused', () => {
  test.each<[what: string, change: Change, expected: string]>([
    ['of another status', { status: 201 }, 'status 200 or 404, found 201'],
    [
      'about another token',
      { headers: { 'x-subject-token': 'gAAAAA-other' } },
      'an answer about the token that was asked about, found another one',
    ],
    ['without a body', { body: '' }, JSON_BODY],
    ['with a key that repeats', { body: '{"token":{},"token":{}}' }, JSON_BODY],
    ...['[]', 'null', '1', '"token"'].map((body): [string, Change, string] => [
      `that is ${body}`,
      { body },
      'a JSON object',
    ]),
    ...['{}', '{"token":null}', '{"token":[]}', '{"token":"x"}'].map((body): [string, Change, string] => [
      `that is ${body}`,
      { body },
      'an object in `token`',
    ]),
    ...(
      [
        [{ user: undefined }, 'an object in `token.user`'],
        [{ user: { id: 'u' } }, LONG_TEXT('token.user.name')],
        [{ user: { id: 'u', name: 7 } }, LONG_TEXT('token.user.name')],
        [{ user: { id: '', name: 'robot' } }, LONG_TEXT('token.user.id')],
        [{ user: { id: `${LONG}a`, name: 'robot' } }, LONG_TEXT('token.user.id')],
        [{ system: { all: true } }, 'a token for an account or a project, found one for the system'],
        [{ project: undefined }, 'exactly one of `token.domain` and `token.project`, found neither'],
        [{ domain: DOMAIN }, 'exactly one of `token.domain` and `token.project`, found both'],
        [{ ...OF_ACCOUNT, domain: 'd' }, 'an object in `token.domain`'],
        [{ ...OF_ACCOUNT, domain: { id: 'd' } }, LONG_TEXT('token.domain.name')],
        [{ project: 'p' }, 'an object in `token.project`'],
        [{ project: { ...PROJECT, domain: null } }, 'an object in `token.project.domain`'],
        [{ is_domain: true }, 'a project in `token.project`, found an account'],
        [{ project: { ...PROJECT, is_domain: true } }, 'a project in `token.project`, found an account'],
        [{ application_credential: { access_rules: [] } }, 'a token without access rules'],
        [{ roles: {} }, 'a list of at most 1000 in `token.roles`'],
        [{ roles: Array(1_001).fill({ name: 'r' }) }, 'a list of at most 1000 in `token.roles`'],
        [{ roles: [{ name: 'member' }, 'reader'] }, 'an object in `token.roles[1]`'],
        [{ roles: [{ name: 'member' }, {}] }, LONG_TEXT('token.roles[1].name')],
        ...NOT_A_TIME.map((expires_at) => [
          { expires_at },
          'a time with its zone between the years 1970 and 9999, in `token.expires_at`',
        ]),
        [
          { issued_at: 'yesterday' },
          'a time with its zone between the years 1970 and 9999, in `token.issued_at`',
        ],
        [
          { expires_at: '2026-11-23T00:00:00Z' },
          'a token that expires later than now, found one that expired 0 s ago by the clock of this host',
        ],
        [
          { expires_at: '2026-11-22T23:58:29.600Z' },
          'a token that expires later than now, found one that expired 90 s ago by the clock of this host',
        ],
      ] as [object, string][]
    ).map(([token, expected]): [string, Change, string] => [
      `whose token has ${JSON.stringify(token).slice(0, 60)}`,
      { token },
      expected,
    ]),
  ])('%s', (_what, change, expected) => {
    expectFault(() => validated(change), expected)
  })
})

describe.each(NO_NAMES)('a name %s', (_what, name) => {
  test.each<[path: string, change: object]>([
    ['token.user.name', { user: { id: 'u', name } }],
    ['token.user.id', { user: { id: name, name: 'robot' } }],
    ['token.domain.name', { project: undefined, domain: { id: 'd', name } }],
    ['token.project.name', { project: { ...PROJECT, name } }],
    ['token.project.id', { project: { ...PROJECT, id: name } }],
    ['token.project.domain.name', { project: { ...PROJECT, domain: { id: 'd', name } } }],
    ['token.roles[1].name', { roles: [{ name: 'member' }, { name }] }],
  ])('is refused as %s', (path, token) => {
    expect(() => validated({ token })).toThrow(
      `NFC), without blanks around it and other blanks than the space in it, in \`${path}\``,
    )
  })
})

const DATE = 'Sun, 22 Nov 2026 12:00:00 GMT'
const DATE_MS = Date.parse(DATE)
const DAY_MS = 86_400_000
/** An answer that is only a header. */
const ALONE = {
  id: digest,
  scope: ASKED.scope,
  projectId: undefined,
  subject: { id: '', name: 'robot' },
  issuedAtMs: NOW,
  expiresAtMs: NOW + DAY_MS,
  roles: [],
  catalog: undefined,
}

describe('of a token that was issued is believed', () => {
  test.each<[what: string, change: Change, described: object]>([
    ['everything', {}, DESCRIBED],
    [
      'no end in the body: 24 hours (§1)',
      { token: { expires_at: undefined } },
      { ...DESCRIBED, expiresAtMs: NOW + DAY_MS },
    ],
    [
      'the same from the date of the answer',
      { token: { expires_at: undefined }, headers: { date: DATE } },
      { ...DESCRIBED, expiresAtMs: DATE_MS + DAY_MS },
    ],
    [
      'what is null as absent',
      {
        token: {
          ...{ domain: null, system: null, roles: null, catalog: null, is_domain: null, issued_at: null },
          ...{ application_credential: null, audit_ids: null, expires_at: null },
        },
      },
      {
        ...{ ...DESCRIBED, id: digest, roles: [], catalog: undefined },
        ...{ issuedAtMs: NOW, expiresAtMs: NOW + DAY_MS },
      },
    ],
    [
      'the last time that there is',
      { token: { expires_at: '9999-12-31T23:59:59.999999Z' } },
      { ...DESCRIBED, expiresAtMs: 253_402_300_799_999 },
    ],
    ['no body', { body: '' }, ALONE],
    [
      'no body, with a date that leaves no day',
      { body: '', headers: { date: 'Fri, 31 Dec 9999 23:59:59 GMT' } },
      ALONE,
    ],
    [
      'no body, with a date',
      { body: '', headers: { date: DATE } },
      { ...ALONE, issuedAtMs: DATE_MS, expiresAtMs: DATE_MS + DAY_MS },
    ],
    ['no body, with a date that is none', { body: '', headers: { date: 'today' } }, ALONE],
  ])('%s', (_what, change, described) => {
    expect(issued(change)).toEqual({ value: VALUE, described })
  })

  test('the scope that the body names, for an application credential', () => {
    expect(issued({}, { ...ASKED, userName: undefined })).toEqual({ value: VALUE, described: DESCRIBED })
  })

  test('the longest token, of every character', () => {
    const value = '!~'.repeat(65_536)
    expect(issued({ headers: { 'x-subject-token': value } }).value).toBe(value)
  })
})

const ANOTHER_SCOPE = 'a token for the scope that was asked for, found another scope'

describe('an answer to a login is refused', () => {
  test.each<[what: string, change: Change, expected: string]>([
    ['of another status', { status: 200 }, 'status 201, found 200'],
    [
      'of a token for another account',
      { token: { project: { ...PROJECT, domain: { id: 'd', name: '7' } } } },
      ANOTHER_SCOPE,
    ],
    ['of a token for another project', { token: { project: { ...PROJECT, name: 'beta' } } }, ANOTHER_SCOPE],
    ['of a token for its account', { token: OF_ACCOUNT }, ANOTHER_SCOPE],
    [
      'without a body, of a day ago',
      { body: '', headers: { date: 'Sun, 22 Nov 2026 00:00:00 GMT' } },
      'a token that expires later than now, found one that expired 0 s ago by the clock of this host',
    ],
    ['with a body that is no JSON', { body: ' ' }, JSON_BODY],
    ...(
      [
        ['', 'a token in X-Subject-Token, found none'],
        [['gAAAAA-one', 'gAAAAA-two'], 'one token in X-Subject-Token, found several'],
        ['gAAAAA-one, gAAAAA-two', 'one token in X-Subject-Token, found several'],
        ['a'.repeat(131_073), 'a token of at most 131072 characters in X-Subject-Token, found 131073'],
        [' gAAAAA', 'visible ASCII in X-Subject-Token'],
        ['gAAAAA\u007f', 'visible ASCII in X-Subject-Token'],
      ] as [string, string][]
    ).map(([value, expected]): [string, Change, string] => [
      `whose header is ${JSON.stringify(value).slice(0, 40)}`,
      { headers: { 'x-subject-token': value } },
      expected,
    ]),
  ])('%s', (_what, change, expected) => {
    expectFault(() => issued(change), expected)
  })

  test('without the header', () => {
    expectFault(
      () => readIssuedToken({ status: 201, headers: {}, body: '' }, ASKED, NOW),
      'a token in X-Subject-Token, found none',
    )
  })

  test('without a body, of an application credential', () => {
    expectFault(() => issued({ body: '' }, { ...ASKED, userName: undefined }), JSON_BODY)
  })
})

test('the kind of a token is the one that is issued for scopes like its own', () => {
  const kinds = engine.tokenKinds
  const [account, project] = [{ account: '1' }, { account: '1', project: 'alpha' }]
  for (const order of [[...kinds.values()], [...kinds.values()].reverse()]) {
    expect(kindOfScope(account, order)?.id).toBe(ACCOUNT_KIND)
    expect(kindOfScope(project, order)?.id).toBe(PROJECT_KIND)
  }
  expect(kindOfScope(account, [])).toBeUndefined()
})
