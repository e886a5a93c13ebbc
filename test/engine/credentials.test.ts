/**
 * Finding the one credential among request headers (§5.2), and refusing all that is not exactly one token.
 */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CREDENTIAL_LENGTH_MAX, type CredentialHeaders, compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { type Maker, makerOf, makersOfAnything } from '../support/inputs/hostile-values.ts'
import { engine } from '../support/matrices/engines.ts'

const MEBIBYTE = 1024 * 1024

test.each<[claim: string, headers: CredentialHeaders, header: string, value: string]>([
  ['an IAM token in its header', [['X-Auth-Token', 'abc']], 'x-auth-token', 'abc'],
  ['a static token in its header', [['X-Token', 'abc']], 'x-token', 'abc'],
  ['a header name in lower case', [['x-auth-token', 'abc']], 'x-auth-token', 'abc'],
  ['a header name in mixed case', [['x-AUTH-tOkEn', 'abc']], 'x-auth-token', 'abc'],
  ['one value in a list, as Node gives it', [['x-token', ['abc']]], 'x-token', 'abc'],
  ['white space around the value (RFC 9110 §5.5)', [['X-Token', ' \t abc \t ']], 'x-token', 'abc'],
  [
    'every visible ASCII character but the comma',
    [['X-Token', visibleCharacters()]],
    'x-token',
    visibleCharacters(),
  ],
  [
    'a value at the length limit',
    [['X-Token', 'a'.repeat(CREDENTIAL_LENGTH_MAX)]],
    'x-token',
    'a'.repeat(CREDENTIAL_LENGTH_MAX),
  ],
  [
    'a value at the length limit between spaces',
    [['X-Token', ` ${'a'.repeat(CREDENTIAL_LENGTH_MAX)} `]],
    'x-token',
    'a'.repeat(CREDENTIAL_LENGTH_MAX),
  ],
  [
    'a megabyte of spaces around the value',
    [['X-Token', `${' '.repeat(MEBIBYTE)}abc${' '.repeat(MEBIBYTE)}`]],
    'x-token',
    'abc',
  ],
  [
    'other headers, which are none of its business',
    [
      ['Authorization', 'Bearer, x'],
      ['Cookie', ''],
      ['Host', 'é'],
      ['X-Token', 'abc'],
      ['X-Subject-Token', 'a b'],
    ],
    'x-token',
    'abc',
  ],
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
  expect(engine.extract(headers)).toEqual({ ok: true, header, value })
})

/** Every request without a readable token, by the reason that it gives. */
test.each<[reason: string, claim: string, headers: unknown]>([
  ['CREDENTIAL_MISSING', 'no headers', []],
  [
    'CREDENTIAL_MISSING',
    'only other headers',
    [
      ['Authorization', 'Bearer abc'],
      ['X-Subject-Token', 'abc'],
    ],
  ],
  ['CREDENTIAL_MISSING', 'an empty value', [['X-Token', '']]],
  ['CREDENTIAL_MISSING', 'a blank value', [['X-Token', ' \t ']]],
  ['CREDENTIAL_MISSING', 'a megabyte of spaces', [['X-Token', ' '.repeat(MEBIBYTE)]]],
  ['CREDENTIAL_MISSING', 'a list without values', [['X-Token', []]]],
  ['CREDENTIAL_MISSING', 'a list with an empty value', [['X-Token', ['']]]],
  ['CREDENTIAL_MISSING', 'a name with white space, which is no header name', [[' X-Token', 'abc']]],
  // `toLowerCase` folds the Kelvin sign into `k`; header names are ASCII and are not folded so.
  ['CREDENTIAL_MISSING', 'the Kelvin sign for the letter K in the name', [['X-To\u212aen', 'abc']]],
  [
    'CREDENTIAL_MISSING',
    'one header empty and the other not',
    [
      ['X-Token', 'abc'],
      ['X-Auth-Token', ''],
    ],
  ],
  [
    'CREDENTIAL_MISSING',
    'an empty header beside one with white space inside',
    [
      ['X-Token', ''],
      ['X-Auth-Token', 'a b'],
    ],
  ],
  [
    'CREDENTIAL_AMBIGUOUS',
    'both headers',
    [
      ['X-Auth-Token', 'abc'],
      ['X-Token', 'abc'],
    ],
  ],
  [
    'CREDENTIAL_AMBIGUOUS',
    'a repeated header',
    [
      ['X-Token', 'abc'],
      ['x-token', 'def'],
    ],
  ],
  [
    'CREDENTIAL_AMBIGUOUS',
    'a repeated header with the same value',
    [
      ['X-Token', 'abc'],
      ['X-Token', 'abc'],
    ],
  ],
  // Joined by a comma it would not be empty.
  [
    'CREDENTIAL_AMBIGUOUS',
    'a repeated header with an empty value',
    [
      ['X-Token', ''],
      ['x-token', 'abc'],
    ],
  ],
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
  ['CREDENTIAL_AMBIGUOUS', 'two values joined by a comma', [['X-Token', 'abc, def']]],
  ['CREDENTIAL_AMBIGUOUS', 'a comma at the end', [['X-Token', 'abc,']]],
  ['CREDENTIAL_AMBIGUOUS', 'nothing but a comma', [['X-Token', ',']]],
  ['CREDENTIAL_AMBIGUOUS', 'a comma in a value that is malformed as well', [['X-Token', 'a\0,b']]],
  [
    'CREDENTIAL_AMBIGUOUS',
    'a comma in a value that is too long as well',
    [['X-Token', `${'a'.repeat(CREDENTIAL_LENGTH_MAX)},`]],
  ],
  [
    'CREDENTIAL_AMBIGUOUS',
    'a malformed value beside a good one',
    [
      ['X-Token', 'a b'],
      ['X-Auth-Token', 'abc'],
    ],
  ],
  ['CREDENTIAL_MALFORMED', 'a space inside', [['X-Token', 'a b']]],
  ['CREDENTIAL_MALFORMED', 'a tab inside', [['X-Token', 'a\tb']]],
  ['CREDENTIAL_MALFORMED', 'a line break inside', [['X-Token', 'a\r\nX-Auth-Token: b']]],
  ['CREDENTIAL_MALFORMED', 'a line break at the end', [['X-Token', 'abc\n']]],
  ['CREDENTIAL_MALFORMED', 'a null character', [['X-Token', 'a\0']]],
  ['CREDENTIAL_MALFORMED', 'the delete character', [['X-Token', 'a\x7f']]],
  ['CREDENTIAL_MALFORMED', 'a no-break space around the value', [['X-Token', '\u00a0abc']]],
  ['CREDENTIAL_MALFORMED', 'a letter outside ASCII', [['X-Token', 'abcé']]],
  ['CREDENTIAL_MALFORMED', 'half of a surrogate pair', [['X-Token', 'abc\ud83d']]],
  [
    'CREDENTIAL_MALFORMED',
    'one character beyond the length limit',
    [['X-Token', 'a'.repeat(CREDENTIAL_LENGTH_MAX + 1)]],
  ],
  ['CREDENTIAL_MALFORMED', 'a megabyte of spaces inside', [['X-Token', `a${' '.repeat(MEBIBYTE)}b`]]],
  ['CREDENTIAL_MALFORMED', 'a value that is a number', [['X-Token', 7]]],
  ['CREDENTIAL_MALFORMED', 'a value that is null', [['X-Token', null]]],
  ['CREDENTIAL_MISSING', 'a value that is missing', [['X-Token']]],
  ['CREDENTIAL_MALFORMED', 'a list in a list', [['X-Token', [['abc']]]]],
  ['CREDENTIAL_MALFORMED', 'a value that only behaves like text', [['X-Token', [pretendedText()]]]],
  ['CREDENTIAL_MALFORMED', 'an object instead of pairs', { 'X-Token': 'abc' }],
  ['CREDENTIAL_MALFORMED', 'null instead of headers', null],
])('%s: %s', (reason, _claim, headers) => {
  expect(engine.extract(headers as CredentialHeaders)).toEqual({ ok: false, reason })
})

test('the length limit is 8192 characters', () => {
  expect(CREDENTIAL_LENGTH_MAX).toBe(8192)
})

test('the headers looked at are those of the matrix, and no others', () => {
  const tokenKinds = supportMatrix.tokenKinds.map((kind) => ({ ...kind, header: 'X-Gate-Key' }))
  const other = compile({ ...supportMatrix, tokenKinds })
  expect(other.extract([['x-gate-key', 'abc']])).toEqual({ ok: true, header: 'x-gate-key', value: 'abc' })
  expect(other.extract([['X-Token', 'abc']])).toEqual({ ok: false, reason: 'CREDENTIAL_MISSING' })
})

test('any input whatever gets an answer, and a credential found is visible ASCII without commas', () => {
  const names = fc.constantFrom('X-Token', 'x-auth-token', 'Accept').map(makerOf)
  const values = fc.oneof(fc.string({ unit: 'binary' }).map(makerOf), makersOfAnything)
  const lists = fc.array(fc.tuple(fc.oneof(names, makersOfAnything), values), { maxLength: 3 })
  fc.assert(
    fc.property(fc.oneof(makersOfAnything, lists.map(makerOfPairs)), (make) => {
      const extraction = engine.extract(make() as CredentialHeaders)
      if (extraction.ok) expect(extraction.value).toMatch(/^[!-+\--~]{1,8192}$/)
      else expect(extraction.reason).toMatch(/^CREDENTIAL_(MISSING|AMBIGUOUS|MALFORMED)$/)
    }),
    { numRuns: 3_000 },
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
    { numRuns: 2_000 },
  )
})

function visibleCharacters(): string {
  const codes = Array.from({ length: 0x7e - 0x20 }, (_, index) => 0x21 + index)
  return String.fromCharCode(...codes).replace(',', '')
}

/** Has every method that text is asked for, and is none: code that accepts it has an object for a token. */
function pretendedText(): object {
  return { length: 0, slice: () => pretendedText(), includes: () => false, toString: () => 'abc' }
}

function makerOfPairs(pairs: readonly (readonly [Maker, Maker])[]): Maker {
  return () => pairs.map(([name, value]) => [name(), value()])
}
