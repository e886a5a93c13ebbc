/**
 * Finding the one credential among request headers (§5.2), and refusing all that is not exactly one token.
 */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CredentialFinder } from '../../engine/credentials.ts'
import {
  type CredentialHeaders,
  carriageOf,
  carries,
  compile,
  credentialPlaces,
  fieldValue,
  placeName,
  type TokenKind,
} from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { credentialRows } from '../support/conformance/files.ts'
import { type Maker, makerOf, makersOfAnything } from '../support/inputs/hostile-values.ts'
import { engine } from '../support/matrices/engines.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

describe('headers of a request, as every client finds the credential among them', () => {
  test.each(credentialRows())('$name', ({ places, headers, found, fault }) => {
    const [header, value, scheme = '', part = ''] = found ?? []
    expect(new CredentialFinder([{ places }]).find(headers)).toEqual(
      found === undefined
        ? { ok: false, reason: fault }
        : { ok: true, header, scheme, place: `${header} ${scheme} ${part}`.trim(), value },
    )
  })
})

test.each<[claim: string, headers: CredentialHeaders, header: string, value: string]>([
  ['one value in a list, as Node gives it', [['x-token', ['abc']]], 'x-token', 'abc'],
  [
    'one header with a value and one undefined',
    [
      ['X-Token', undefined],
      ['X-Auth-Token', 'abc'],
    ],
    'x-auth-token',
    'abc',
  ],
  ['the headers of fetch', new Headers({ 'X-Auth-Token': 'abc', Accept: '*/*' }), 'x-auth-token', 'abc'],
  ['a map of headers', new Map([['X-Auth-Token', 'abc']]), 'x-auth-token', 'abc'],
])('%s: the credential is found', (_claim, headers, header, value) => {
  expect(engine.extract(headers)).toEqual({ ok: true, header, scheme: '', place: header, value })
})

/** Values that a caller without types may pass. */
test.each<[reason: string, claim: string, headers: unknown]>([
  ['CREDENTIAL_MISSING', 'a list without values', [['X-Token', []]]],
  ['CREDENTIAL_MISSING', 'a list with an empty value', [['X-Token', ['']]]],
  ['CREDENTIAL_AMBIGUOUS', 'a repeated header with empty values alone', [['X-Token', ['', ' ']]]],
  [
    'CREDENTIAL_MISSING',
    'an empty header beside a repeated one',
    [
      ['X-Token', ['', '']],
      ['X-Auth-Token', ''],
    ],
  ],
  ['CREDENTIAL_AMBIGUOUS', 'a list of two values', [['X-Token', ['abc', 'def']]]],
  ['CREDENTIAL_MALFORMED', 'half of a surrogate pair', [['X-Token', 'abc\ud83d']]],
  ['CREDENTIAL_MALFORMED', 'a value that is a number', [['X-Token', 7]]],
  ['CREDENTIAL_MALFORMED', 'a name that is a number', [[7, 'abc']]],
  ['CREDENTIAL_MALFORMED', 'a value that is null', [['X-Token', null]]],
  ['CREDENTIAL_MISSING', 'a value that is missing', [['X-Token']]],
  ['CREDENTIAL_MALFORMED', 'a list in a list', [['X-Token', [['abc']]]]],
  ['CREDENTIAL_MALFORMED', 'a value that only behaves like text', [['X-Token', [pretendedText()]]]],
  ['CREDENTIAL_MALFORMED', 'an object instead of pairs', { 'X-Token': 'abc' }],
  ['CREDENTIAL_MALFORMED', 'null instead of headers', null],
])('%s: %s', (reason, _claim, headers) => {
  expect(engine.extract(headers as CredentialHeaders)).toEqual({ ok: false, reason })
})

test('a name that is not a text is a mistake of the programmer’s', () => {
  const { names } = new CredentialFinder([{ header: 'X-Token' }])
  expect(() => names.find(7 as unknown as string)).toThrow(new TypeError('expected the name of a header'))
})

test('the headers looked at are those of the matrix, and no others', () => {
  const tokenKinds = supportMatrix.tokenKinds.map((kind) => ({ ...kind, header: 'X-Gate-Key' }))
  const other = compile({ ...supportMatrix, tokenKinds })
  expect(other.extract([['x-gate-key', 'abc']])).toEqual({
    ...{ ok: true, header: 'x-gate-key', scheme: '', place: 'x-gate-key', value: 'abc' },
  })
  expect(other.extract([['X-Token', 'abc']])).toEqual({ ok: false, reason: 'CREDENTIAL_MISSING' })
})

const BARE = { header: 'X-Token' }
const BEARER = { header: 'Authorization', scheme: 'Bearer' }
const PREFIXED = { header: 'Authorization', scheme: 'Bearer', prefix: 'a_' }

test.each([
  [BARE, 'X-Token', 'x-token'],
  [{ ...BARE, prefix: 'a_' }, 'X-Token: a_…', 'x-token'],
  [BEARER, 'Authorization: Bearer', 'authorization bearer'],
  [PREFIXED, 'Authorization: Bearer a_…', 'authorization bearer'],
])('%j is shown to people as `%s`, and its place is named `%s`', (kind, shown, place) => {
  expect(carriageOf(kind)).toBe(shown)
  expect(placeName(kind)).toBe(place)
})

test.each<[kind: Parameters<typeof carries>[0], field: string, carried: boolean]>([
  [BARE, 'x-token: abc', true],
  [BARE, 'x-auth-token: abc', false],
  [BARE, 'authorization: Bearer abc', false],
  [BEARER, 'authorization: Bearer abc', true],
  [BEARER, 'authorization: Basic abc', false],
  [BEARER, 'x-token: abc', false],
  [PREFIXED, 'authorization: Bearer a_c', true],
  [PREFIXED, 'authorization: Bearer ca_', false],
])('a token of %j may have come as `%s`: %s', (kind, field, carried) => {
  const finder = new CredentialFinder([
    BARE,
    { header: 'X-Auth-Token' },
    BEARER,
    { ...BEARER, scheme: 'Basic' },
  ])
  const [name = '', value = ''] = field.split(': ')
  const found = finder.find([[name, value]])
  expect(found.ok && carries(kind, found)).toBe(carried)
})

test.each([
  [[BARE], false],
  [[BEARER], true],
  [[BEARER, { ...BARE, header: 'AUTHORIZATION' }], true],
])('a header of %j may have a scheme: %s', (kinds, expected) => {
  const finder = new CredentialFinder(kinds)
  expect(finder.hasSchemes(kinds[0]?.header.toLowerCase() ?? '')).toBe(expected)
  expect(finder.hasSchemes('accept')).toBe(false)
})

test.each(['', ' abc'])(
  'the value of one header is trimmed before it is read: `%s` has no token',
  (value) => {
    const finder = new CredentialFinder([BARE])
    expect(finder.tokenIn('x-token', value)).toEqual({ ok: false, reason: 'CREDENTIAL_MALFORMED' })
  },
)

test.each(['%%%%', 'YQ', 'YTpiCg==', 'a b'])(
  'a text that is not Base64 is a fault, and throws no error: %s',
  (text) => {
    const finder = new CredentialFinder([{ header: 'Authorization', basic: 'user' }])
    expect(finder.tokenIn('authorization', `Basic ${text}`)).toEqual({
      ...{ ok: false, reason: 'CREDENTIAL_MALFORMED' },
    })
  },
)

test('a token in a header is behind its scheme, where there is one', () => {
  expect([fieldValue(BEARER, 'abc'), fieldValue({ scheme: '' }, 'abc'), fieldValue({}, 'abc')]).toEqual([
    'Bearer abc',
    'abc',
    'abc',
  ])
})

test('each place has the kinds that travel in it, how they are obtained, and their prefixes', () => {
  const [day, room] = smallMatrix().tokenKinds as readonly TokenKind[] as [TokenKind, TokenKind]
  const places = credentialPlaces([
    { ...day, ...BEARER },
    { ...room, ...PREFIXED },
    { ...day, ...BARE, id: 'night_pass' },
  ])
  const told = (kinds: [string, string][], ...obtainedBy: TokenKind['obtained']['by'][]) => ({
    obtainedBy: new Set(obtainedBy),
    prefixes: new Map(kinds),
  })
  expect(places).toEqual(
    new Map([
      [
        'authorization bearer',
        told(
          [
            ['day_pass', ''],
            ['room_key', 'a_'],
          ],
          'issue',
          'control_panel',
        ),
      ],
      ['x-token', told([['night_pass', '']], 'issue')],
    ]),
  )
})

test('any input whatever gets an answer, and a credential found is visible ASCII without commas', () => {
  const names = fc.constantFrom('X-Token', 'x-auth-token', 'Accept').map(makerOf)
  const values = fc.oneof(fc.string({ unit: 'binary' }).map(makerOf), makersOfAnything)
  const lists = fc.array(fc.tuple(fc.oneof(names, makersOfAnything), values), { maxLength: 3 })
  fc.assert(
    fc.property(fc.oneof(makersOfAnything, lists.map(makerOfPairs)), (make) => {
      const extraction = engine.extract(make() as CredentialHeaders)
      if (extraction.ok) expect(extraction.value).toMatch(/^[!-+\--~]+$/)
      else expect(extraction.reason).toMatch(/^CREDENTIAL_(MISSING|AMBIGUOUS|MALFORMED)$/)
    }),
    { numRuns: 1_000 },
  )
})

test('one forbidden character anywhere in a token is enough to refuse it', () => {
  const forbidden = fc.oneof(
    fc.constant(','),
    fc.integer({ min: 0, max: 0x20 }).map((code) => String.fromCharCode(code)),
    fc.integer({ min: 0x7f, max: 0xffff }).map((code) => String.fromCharCode(code)),
  )
  const visible = fc.string({ unit: fc.constantFrom(...visibleCharacters()), minLength: 1 })
  fc.assert(
    fc.property(visible, forbidden, visible, (before, character, after) => {
      expect(engine.extract([['X-Token', `${before}${character}${after}`]])).toEqual({
        ok: false,
        reason: character === ',' ? 'CREDENTIAL_AMBIGUOUS' : 'CREDENTIAL_MALFORMED',
      })
    }),
    { numRuns: 1_000 },
  )
})

function visibleCharacters(): string {
  const codes = Array.from({ length: 0x7e - 0x20 }, (_, index) => 0x21 + index)
  return String.fromCharCode(...codes).replace(',', '')
}

/** Has every method of a text that is used: code that accepts it has an object for a token. */
function pretendedText(): object {
  const text = { slice: () => pretendedText(), includes: () => false, charCodeAt: () => Number.NaN }
  return { ...text, length: 0, toString: () => 'abc' }
}

function makerOfPairs(pairs: readonly (readonly [Maker, Maker])[]): Maker {
  return () => pairs.map(([name, value]) => [name(), value()])
}
