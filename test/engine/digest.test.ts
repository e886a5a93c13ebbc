/** The digest against the platform's SHA-256 over another library's canonical JSON (RFC 8785). */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, digestInSteps, digestOf } from '../../engine/digest.ts'
import { compile, finish, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { engine } from '../support/matrices/engines.ts'
import { cells } from '../support/matrices/oracle.ts'

const reference = (value: unknown): string => sha256(canonicalize(value) as string)

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`

// FIPS 180-4 §5.1.1: where the padding begins a new block depends on the length; every length of the first
// three is tried.
test('texts of every length around the block boundaries have the digest of the platform', () => {
  for (let length = 0; length <= 200; length++) {
    const text = 'a'.repeat(length)
    expect(digestOf(text)).toBe(sha256(`"${text}"`))
  }
})

test('a megabyte of text in every width of UTF-8 has the digest of the platform', () => {
  const text = 'aé€😀'.repeat(100_000)
  expect(digestOf(text)).toBe(sha256(`"${text}"`))
})

test('the first and the last character of each width have the digest of the platform', () => {
  for (const text of '\u0000\u007f\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff}')
    expect(digestOf(text)).toBe(sha256(JSON.stringify(text)))
})

test.each<[value: object, steps: number]>([
  [{}, 0],
  [{ a: [] }, 0],
  [{ a: [1, 'b'], c: [null], d: {} }, 3],
  [{ a: 'b', c: { d: [1, 2] } }, 0],
])('the digest of %j is made in steps, one for each item of its lists: %d', (value, steps) => {
  expect([...digestInSteps(value)]).toHaveLength(steps)
  expect(finish(digestInSteps(value))).toBe(digestOf(value))
})

test('any JSON value has the digest that the reference computes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }), (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value))
      expect(digestOf(value)).toBe(reference(value))
    }),
    { numRuns: 500 },
  )
})

test.each<[claim: string, value: unknown, canonical: string]>([
  // RFC 8785 §3.2.2: the sample of the standard.
  [
    'numbers and strings are written as the standard shows',
    {
      numbers: [333333333.3333333, 1e30, 4.5, 0.002, 1e-27],
      string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    },
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  ],
  // RFC 8785 §3.2.3: keys are sorted by UTF-16 code units, so the emoji stands before U+FB33.
  [
    'keys are sorted by UTF-16 code units',
    { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 },
    '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
  ],
  ['minus zero is zero', [-0], '[0]'],
  ['members without a value are left out', { a: undefined, b: 1 }, '{"b":1}'],
])('%s', (_claim, value, canonical) => {
  expect(canonicalJson(value)).toBe(canonical)
  expect(digestOf(value)).toBe(sha256(canonical))
})

test('a digest computed elsewhere is found again, in any order of the keys', () => {
  // printf '{"a":[true,null],"b":1}' | sha256sum
  const known = 'sha256:51705a2c9eb3e7e410a58f696a770c3ac3885a0cf43eb7fc88f5e47c11d4d30d'
  expect(digestOf({ a: [true, null], b: 1 })).toBe(known)
  expect(digestOf({ b: 1, a: [true, null] })).toBe(known)
})

test.each<[what: string, value: unknown, message: string]>([
  ['not a number', Number.NaN, 'a number that is not finite has no JSON form'],
  ['an infinite number', [Number.NEGATIVE_INFINITY], 'a number that is not finite has no JSON form'],
  ['nothing', undefined, 'a value of type undefined has no JSON form'],
  ['nothing in a list', [undefined], 'a value of type undefined has no JSON form'],
  ['a function', { a: () => 1 }, 'a value of type function has no JSON form'],
  ['a symbol', Symbol('a'), 'a value of type symbol has no JSON form'],
  ['a big integer', 1n, 'a value of type bigint has no JSON form'],
  ['half of a surrogate pair', 'a\ud83d', 'a string with a lone surrogate has no canonical JSON form'],
  [
    'half of a surrogate pair in a key',
    { '\ude00': 1 },
    'a string with a lone surrogate has no canonical JSON form',
  ],
])('%s has no digest', (_what, value, message) => {
  expect(() => digestOf(value)).toThrow(new TypeError(message))
})

test('the engine’s digest is the reference’s over the parts of the matrix', () => {
  const { $schema: _, ...matrix } = supportMatrix as Matrix & { $schema?: string }
  expect(engine.digest).toBe(reference(matrix))
})

test('`$schema`, which is for editors, does not bear on the digest', () => {
  const matrix = { ...supportMatrix, $schema: './elsewhere.json' } as Matrix
  expect(compile(matrix).digest).toBe(engine.digest)
})

test('the order of keys does not bear on the digest', () => {
  expect(compile(withKeysReversed(supportMatrix)).digest).toBe(engine.digest)
})

test('the digest of the rules is the reference’s over the digest of the matrix and the mode', () => {
  for (const strict of [false, true]) {
    const { digest, rulesDigest } = compile(supportMatrix, { strict })
    expect(digest).toBe(engine.digest)
    expect(rulesDigest).toBe(reference({ digest, strict }))
  }
})

test('a strict and a lenient engine give no answer with the same names of its rules, and each names its own', () => {
  const named = [false, true].map((strict) => {
    const { rulesDigest, decisions } = compile(supportMatrix, { strict })
    const names = new Set(Array.from(decisions(), (each) => JSON.stringify([each.strict, each.rulesDigest])))
    expect([...names]).toEqual([JSON.stringify([strict, rulesDigest])])
    return rulesDigest
  })
  expect(new Set(named)).toHaveLength(2)
})

test('a change of any cell changes the digest, each to another one', () => {
  const digests = cells().map(({ api, kind }) => compile(withCellReversed(api, kind)).digest)
  expect(new Set([...digests, engine.digest])).toHaveLength(91)
})

test.each<[what: string, change: Partial<Matrix>]>([
  ['the title', { title: 'another' }],
  ['the order of the APIs', { apis: [...supportMatrix.apis].reverse() }],
  ['a token kind', { tokenKinds: supportMatrix.tokenKinds.map((kind) => ({ ...kind, section: '§2' })) }],
  [
    'a statement',
    {
      statements: supportMatrix.statements.slice(1).map((row) => ({ ...row, text: 'another' })),
      conflicts: [],
    },
  ],
  [
    'a resolution',
    { conflicts: supportMatrix.conflicts.map((row) => ({ ...row, resolution: 'prose' as const })) },
  ],
])('a change of %s changes the digest', (_what, change) => {
  expect(compile({ ...supportMatrix, ...change }).digest).not.toBe(engine.digest)
})

function withCellReversed(api: string, kind: string): Matrix {
  const apis = supportMatrix.apis.map((row) => {
    if (row.id !== api) return row
    const others = row.accepts.filter((accepted) => accepted !== kind)
    return { ...row, accepts: others.length < row.accepts.length ? others : [...others, kind] }
  })
  return { ...supportMatrix, apis }
}

function withKeysReversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withKeysReversed) as T
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).reverse()
  return Object.fromEntries(members.map(([key, member]) => [key, withKeysReversed(member)])) as T
}
