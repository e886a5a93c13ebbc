/** Kinds with several places, APIs that need no token, and notes of cells. */
import { describe, expect, test } from 'vitest'
import {
  type Api,
  carriageOf,
  compile,
  credentialHeaders,
  fieldValue,
  type Matrix,
  matrixProblems,
  type Place,
  placeFrom,
  placeName,
  placeNamed,
  placesExpected,
  type TokenKind,
} from '../../engine/index.ts'

const KIND: TokenKind = {
  ...{ id: 'pat', title: 'personal token', family: 'pat', scopeLevel: 'account', issuedTo: 'user' },
  places: [{ header: 'Private-Token' }, { header: 'Authorization', scheme: 'Bearer' }],
  ...{ obtained: { by: 'elsewhere' }, permissionScopes: [], lifetimeSeconds: null, section: '§1' },
}
const API: Api = { id: 'projects', title: 'Projects', accepts: ['pat'], section: '§2' }

const matrixOf = (kinds: readonly TokenKind[], ...apis: readonly Partial<Api>[]): Matrix => ({
  ...{ title: 'Places', tokenKinds: kinds, statements: [], conflicts: [] },
  apis: apis.map((api) => ({ ...API, ...api })),
})

test.each<[text: string, place: Place, name: string, value: string]>([
  ['X-Token', { header: 'X-Token' }, 'x-token', 'abc'],
  ['X-Token: a_…', { header: 'X-Token', prefix: 'a_' }, 'x-token', 'abc'],
  [
    'Authorization: Bearer',
    { header: 'Authorization', scheme: 'Bearer' },
    'authorization bearer',
    'Bearer abc',
  ],
  [
    'Authorization: Basic (user) sk_…',
    { header: 'Authorization', basic: 'user', prefix: 'sk_' },
    ...(['authorization basic user', 'Basic YWJjOg=='] as const),
  ],
  [
    'Authorization: Basic (password)',
    { header: 'Authorization', basic: 'password' },
    ...(['authorization basic password', 'Basic OmFiYw=='] as const),
  ],
  ['X-Auth-Key with X-Auth-Email', { header: 'X-Auth-Key', with: 'X-Auth-Email' }, 'x-auth-key', 'abc'],
])('`%s` is written and read', (text, place, name, value) => {
  expect(carriageOf(place)).toBe(text)
  expect(placeFrom(text)).toEqual(place)
  expect(placeName(place)).toBe(name)
  expect(fieldValue(place, 'abc')).toBe(value)
})

test.each(['', 'X Token', 'X-Token:', 'Authorization: Bearer (user)', 'X-Token with', ': Bearer'])(
  '`%s` is not the text of a place',
  (text) => expect(placeFrom(text)).toBeUndefined(),
)

const MANY: TokenKind = {
  ...KIND,
  places: [
    ...[{ header: 'Private-Token' }, { header: 'Authorization', scheme: 'Bearer', prefix: 'pat-' }],
    ...[
      { header: 'Authorization', basic: 'password' as const },
      { header: 'X-Key', with: 'X-Mail' },
    ],
  ],
}

test.each<[name: string | undefined, header: string | undefined, value?: string]>([
  [undefined, 'Private-Token', 'pat-1'],
  ['Private-Token', 'Private-Token', 'pat-1'],
  ['private-token', 'Private-Token', 'pat-1'],
  ['Authorization: Bearer', 'Authorization', 'Bearer pat-1'],
  ['authorization: bearer', 'Authorization', 'Bearer pat-1'],
  ['Authorization: Bearer pat-…', 'Authorization', 'Bearer pat-1'],
  ['Authorization: Basic (password)', 'Authorization', 'Basic OnBhdC0x'],
  ['Authorization: Bearer other-…', undefined],
  ['Authorization: Basic (user)', undefined],
  ['Authorization: Basic', undefined],
  ['Authorization', undefined],
  ['X-Token', undefined],
  ['', undefined],
  // A token alone is half of what belongs there.
  ['X-Key', undefined],
  ['X-Key with X-Mail', undefined],
  ['Private-Token with X-Mail', undefined],
])('the place that is called `%s`', (name, header, value) => {
  const place = placeNamed(MANY, name)
  expect(place?.header).toBe(header)
  if (place !== undefined) expect(fieldValue(place, 'pat-1')).toBe(value)
})

test('a refusal lists the places that a token can be sent in alone', () => {
  expect(placesExpected(MANY)).toBe(
    'a place of a personal token that needs no other header: `Private-Token`, `Authorization: Bearer pat-…` or `Authorization: Basic (password)`',
  )
})

test('a compiled kind has the facts of its first place, and all of them', () => {
  const { tokenKinds, apis } = compile(matrixOf([KIND], {}))
  expect(tokenKinds.get('pat')).toMatchObject({ header: 'Private-Token', places: KIND.places })
  expect(apis.get('projects')?.accepted).toEqual([
    { kind: 'pat', header: 'Private-Token', issuable: false, obtained: 'elsewhere' },
  ])
  expect([...credentialHeaders([KIND])]).toEqual(['private-token', 'authorization'])
})

test('a message names every place', () => {
  const engine = compile(matrixOf([KIND], {}))
  const scope = { account: '1' }
  expect(engine.decide({ api: 'projects', kind: 'pat', scope }).message).toBe(
    '`projects` accepts a personal token in `Private-Token` or `Authorization: Bearer`',
  )
})

const at = (...places: readonly Place[]): TokenKind => ({ ...KIND, places })
const basic = (part: 'user' | 'password', more?: Partial<Place>) => ({
  ...{ header: 'Authorization', basic: part, ...more },
})

test.each<[problem: string, kinds: readonly TokenKind[]]>([
  ['tokenKinds[0].header: expected the header', [{ ...KIND, places: undefined }]],
  ['tokenKinds[0].header: expected the header', [{ ...KIND, places: [] }]],
  ['tokenKinds[0].header: expected the header', [{ ...KIND, places: undefined, scheme: 'Bearer' }]],
  ['tokenKinds[0].places: expected no list', [{ ...KIND, header: 'X-Token' }]],
  [
    'tokenKinds[0].places[1].header: expected a header that can carry',
    [at({ header: 'A' }, { header: 'Cookie' })],
  ],
  ['tokenKinds[0].places[0].with: expected a header that can carry', [at({ header: 'A', with: 'Host' })]],
  ['tokenKinds[0].places[0].scheme: expected none', [at(basic('user', { scheme: 'Basic' }))]],
  [
    'tokenKinds[0].places[1].header: expected each place of a kind once',
    [at({ header: 'A' }, { header: 'a' })],
  ],
  [
    'tokenKinds[1].places[0].with: expected the same',
    [at({ header: 'A', with: 'B' }), { ...at({ header: 'A' }), id: 'other' }],
  ],
  [
    'tokenKinds[0].places[0].with: expected a header that carries no token',
    [at({ header: 'A', with: 'B' }), { ...at({ header: 'b' }), id: 'other' }],
  ],
  [
    'tokenKinds[1].places[0].basic: expected it of all',
    [at(basic('user')), { ...at({ header: 'Authorization', scheme: 'basic' }), id: 'other' }],
  ],
  [
    'tokenKinds[1].places[0].prefix: expected a prefix',
    [at(basic('user', { prefix: 'a' })), { ...at(basic('user', { prefix: 'ab' })), id: 'other' }],
  ],
  ['tokenKinds[0].places[0]: expected first', [{ ...at(basic('user')), obtained: { by: 'issue' } }]],
])('refused: %s', (problem, kinds) => {
  const found = matrixProblems(matrixOf(kinds)).map(({ path, expected }) => `${path}: ${expected}`)
  expect(found).toEqual([expect.stringContaining(problem)])
})

describe('an API that needs no token', () => {
  const engine = compile(
    matrixOf([KIND], { public: true, accepts: [] }, { id: 'search', public: true }, { id: 'closed' }),
  )

  test('is open to a request without one, and says so', () => {
    const decision = engine.deny('projects', 'CREDENTIAL_MISSING')
    expect(decision).toMatchObject({ allowed: true, reason: 'ALLOWED', message: '`projects` needs no token' })
    expect(decision).toMatchObject({ header: '', accepted: [], advice: [] })
    expect(engine.deny('projects', 'CREDENTIAL_MISSING', 'pat')).toBe(decision)
    expect([...engine.decisions()]).toContain(decision)
  })

  test.each(['CREDENTIAL_INVALID', 'CREDENTIAL_REVOKED', 'CREDENTIAL_AMBIGUOUS', 'WRONG_HEADER'] as const)(
    'is closed to a token that is %s',
    (reason) => expect(engine.deny('search', reason)).toMatchObject({ allowed: false, reason }),
  )

  test('judges a token as any other API does', () => {
    const scope = { account: '1' }
    expect(engine.decide({ api: 'projects', kind: 'pat', scope }).reason).toBe('TOKEN_KIND_NOT_ACCEPTED')
    expect(engine.decide({ api: 'search', kind: 'pat', scope }).reason).toBe('ALLOWED')
    expect(engine.apis.get('projects')?.accepted).toEqual([])
    expect(engine.deny('closed', 'CREDENTIAL_MISSING').reason).toBe('CREDENTIAL_MISSING')
  })
})

test('the note of a cell is advice of each decision about the cell, and of no other', () => {
  const advice = { type: 'advice', kinds: ['pat'], holder: 'robot', text: 'for tests only' } as const
  const engine = compile({
    ...matrixOf([KIND, { ...KIND, id: 'key', places: [{ header: 'X-Key' }] }], {
      notes: { pat: 'read only' },
    }),
    statements: [{ id: 'said', section: '§3', text: 'Only for tests.', claim: advice }],
  })
  const [scope, target] = [{ account: '1' }, { account: '2' }]
  const adviceOf = (more: object) => engine.decide({ api: 'projects', kind: 'pat', scope, ...more }).advice
  expect(adviceOf({})).toEqual(['read only'])
  expect(adviceOf({ holder: 'robot' })).toEqual(['read only', 'for tests only'])
  expect(adviceOf({ target })).toEqual(['read only'])
  expect(adviceOf({ kind: 'key' })).toEqual([])
  expect(engine.deny('projects', 'CREDENTIAL_EXPIRED', 'pat').advice).toEqual([])
})
