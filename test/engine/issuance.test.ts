/** The body of a token issuance request (§2.2): built, read back, and every fault named without its value. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildIssuanceBody, type Issuance, readIssuanceBody } from '../../engine/index.ts'
import { makersOfAnything } from '../support/inputs/hostile-values.ts'

const CANARY = 'canary-8f14e45f'

/** The body of §2.2 for account scope; every fault is planted in a copy of it. */
const accountBody = () => ({
  auth: {
    identity: {
      methods: ['password'],
      password: { user: { name: 'robot', domain: { name: '123456' }, password: 'secret' } },
    },
    scope: { domain: { name: '123456' } },
  },
})

/** The same for project scope. */
const projectBody = () => ({
  auth: {
    ...accountBody().auth,
    scope: { project: { name: 'alpha', domain: { name: '123456' } } },
  },
})

const USER = { userName: 'robot', account: '123456', password: 'secret' }

test.each<[claim: string, issuance: Issuance, body: object]>([
  ['account scope sends `auth.scope.domain`', { ...USER, scope: { account: '123456' } }, accountBody()],
  [
    'project scope sends `auth.scope.project`',
    { ...USER, scope: { account: '123456', project: 'alpha' } },
    projectBody(),
  ],
])('%s, in exactly the JSON of §2.2', (_claim, issuance, body) => {
  expect(JSON.parse(JSON.stringify(buildIssuanceBody(issuance)))).toEqual(body)
  expect(readIssuanceBody(body)).toEqual({ ok: true, issuance })
})

test('a built body is read back as it was, whatever the names', () => {
  const names = fc.string({ unit: 'binary', minLength: 1 })
  const scopes = fc.oneof(fc.record({ account: names }), fc.record({ account: names, project: names }))
  fc.assert(
    fc.property(
      fc.record({ userName: names, account: names, password: names, scope: scopes }),
      (issuance) => {
        const sent = JSON.stringify(buildIssuanceBody(issuance))
        expect(readIssuanceBody(JSON.parse(sent))).toEqual({ ok: true, issuance })
      },
    ),
  )
})

test('fields that §2.2 does not name are passed over', () => {
  const body = { ...accountBody(), trace: 1, auth: { ...accountBody().auth, extra: [] } }
  expect(readIssuanceBody(body)).toMatchObject({ ok: true })
})

/** A body with a value at a path, fit for the scope that the path is in; `undefined` takes the field away. */
function planted(path: string, value: unknown): unknown {
  const body = path.startsWith('auth.scope.project') ? projectBody() : accountBody()
  const names = path.split('.')
  const last = names.pop() as string
  let parent = body as Record<string, unknown>
  for (const name of names) parent = parent[name] as Record<string, unknown>
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return body
}

const OBJECT = 'an object'
const TEXT = 'a non-empty string'
const METHODS = 'the array ["password"]'
const NEITHER = 'exactly one of domain (account scope) and project (project scope), not neither'
const BOTH = 'exactly one of domain (account scope) and project (project scope), not both'

/** Every field of §2.2, in its order, and its rule. */
const FIELDS: readonly (readonly [path: string, expected: string])[] = [
  ['auth', OBJECT],
  ['auth.identity', OBJECT],
  ['auth.identity.methods', METHODS],
  ['auth.identity.password', OBJECT],
  ['auth.identity.password.user', OBJECT],
  ['auth.identity.password.user.name', TEXT],
  ['auth.identity.password.user.domain', OBJECT],
  ['auth.identity.password.user.domain.name', TEXT],
  ['auth.identity.password.user.password', TEXT],
  ['auth.scope', OBJECT],
  ['auth.scope.domain', OBJECT],
  ['auth.scope.domain.name', TEXT],
  ['auth.scope.project', OBJECT],
  ['auth.scope.project.name', TEXT],
  ['auth.scope.project.domain', OBJECT],
  ['auth.scope.project.domain.name', TEXT],
]

/** Values that fit no field; each that can hold the canary does, as a password may slip to any place. */
const UNFIT: readonly (readonly [what: string, value: unknown])[] = [
  ['null', null],
  ['a number', 1234567],
  ['true', true],
  ['a list', [CANARY]],
  ['a list of two methods', ['password', CANARY]],
  ['a list in a list', [[CANARY]]],
  ['nothing', undefined],
]

function unfitFor(path: string, expected: string): readonly (readonly [what: string, value: unknown])[] {
  // Without either of the two, the fault is one of `auth.scope`: it has a separate row.
  if (path === 'auth.scope.domain' || path === 'auth.scope.project')
    return [...UNFIT.filter(([what]) => what !== 'nothing'), ['text', CANARY]]
  if (expected !== TEXT) return [...UNFIT, ['text', CANARY]]
  return [...UNFIT, ['empty text', ''], ['an object', { [CANARY]: CANARY }]]
}

const FAULTS: readonly (readonly [path: string, expected: string, what: string, body: unknown])[] = [
  ...FIELDS.flatMap(([path, expected]) =>
    unfitFor(path, expected).map(([what, value]) => [path, expected, what, planted(path, value)] as const),
  ),
  ['auth.identity.methods', METHODS, 'an empty list', planted('auth.identity.methods', [])],
  ['auth.identity.methods', METHODS, 'repeated', planted('auth.identity.methods', ['password', 'password'])],
  ['auth.identity.methods', METHODS, 'another method', planted('auth.identity.methods', [CANARY])],
  ['auth.scope', NEITHER, 'neither scope', planted('auth.scope', {})],
  ['auth.scope', BOTH, 'both scopes', planted('auth.scope', { domain: { name: CANARY }, project: {} })],
  ['auth.scope', BOTH, 'both, one of them null', planted('auth.scope', { domain: null, project: {} })],
  ['', OBJECT, 'null for the whole body', null],
  ['', OBJECT, 'a list for the whole body', [accountBody()]],
  ['', OBJECT, 'text for the whole body', CANARY],
]

test.each(FAULTS)('at "%s" the body must have %s, not %s', (path, expected, _what, body) => {
  const reading = readIssuanceBody(body)
  // One fault planted, one fault named: a field below an unreadable one is not reported again.
  expect(reading).toEqual({ ok: false, faults: [{ path, expected }] })
  expect(JSON.stringify(reading)).not.toContain(CANARY)
})

test('every fault of a body is named at once, in the order of §2.2', () => {
  const body = { auth: { identity: { methods: [], password: { user: { name: '' } } }, scope: {} } }
  expect(readIssuanceBody(body)).toEqual({
    ok: false,
    faults: [
      { path: 'auth.identity.methods', expected: METHODS },
      { path: 'auth.identity.password.user.name', expected: TEXT },
      { path: 'auth.identity.password.user.domain', expected: OBJECT },
      { path: 'auth.identity.password.user.password', expected: TEXT },
      { path: 'auth.scope', expected: NEITHER },
    ],
  })
})

test('an own `__proto__` key, which JSON.parse keeps, is not taken for a field', () => {
  const hidden = JSON.stringify(accountBody()).replace('"auth"', '"__proto__"')
  expect(readIssuanceBody(JSON.parse(hidden))).toMatchObject({ ok: false, faults: [{ path: 'auth' }] })
  const wrapped = `{"__proto__": {"auth": 1}, ${JSON.stringify(accountBody()).slice(1)}`
  expect(readIssuanceBody(JSON.parse(wrapped))).toMatchObject({ ok: true })
  expect(({} as { auth?: unknown }).auth).toBeUndefined()
})

test('inherited fields are not fields', () => {
  expect(readIssuanceBody(Object.create(accountBody()))).toEqual({
    ok: false,
    faults: [{ path: 'auth', expected: OBJECT }],
  })
})

test('any value whatever is read or named at fault', () => {
  fc.assert(
    fc.property(makersOfAnything, (make) => {
      const reading = readIssuanceBody(make())
      expect(reading.ok).toBe(false)
      if (!reading.ok) expect(reading.faults).not.toHaveLength(0)
    }),
    { numRuns: 300 },
  )
})

test('any value whatever in any field yields faults from a closed list, so that none can repeat a value', () => {
  const paths = new Set(['', ...FIELDS.map(([path]) => path)])
  const sentences = new Set([OBJECT, TEXT, METHODS, NEITHER, BOTH, 'a plain JSON object'])
  fc.assert(
    fc.property(fc.constantFrom(...FIELDS), makersOfAnything, ([path], make) => {
      const reading = readIssuanceBody(planted(path, make() ?? null))
      const faults = reading.ok ? [] : reading.faults
      return faults.every((fault) => paths.has(fault.path) && sentences.has(fault.expected))
    }),
    { numRuns: 300 },
  )
})

test.each<[field: string, change: Partial<Issuance>]>([
  ['auth.identity.password.user.name', { userName: '' }],
  ['auth.identity.password.user.domain.name', { account: '' }],
  ['auth.identity.password.user.password', { password: '' }],
  ['auth.scope.domain.name', { scope: { account: '' } }],
  ['auth.scope.project.name', { scope: { account: '123456', project: '' } }],
  ['auth.scope.project.domain.name', { scope: { account: '', project: 'alpha' } }],
  ['auth.identity.password.user.password', { password: [CANARY] as unknown as string }],
])('building without a text for %s is a mistake of the programmer’s', (field, change) => {
  const build = () => buildIssuanceBody({ ...USER, scope: { account: '123456' }, ...change })
  expect(build).toThrow(new TypeError(`${field}: expected a non-empty string`))
})

test('building names every field without a text', () => {
  expect(() => buildIssuanceBody({ ...USER, userName: '', password: '', scope: { account: '1' } })).toThrow(
    new TypeError(
      'auth.identity.password.user.name: expected a non-empty string; auth.identity.password.user.password: expected a non-empty string',
    ),
  )
})
