/** Named parameters become numbered ones. Other text with a colon is not changed. */
import { expect, test } from 'vitest'
import { numberParameters } from '../../sidecar/directory/named-parameters.ts'

const given = { a: 'one', b: 2, c: null, A: 'capital', a_b: 'both' }

test.each([
  ['SELECT 1', 'SELECT 1', []],
  ['SELECT :a', 'SELECT $1', ['one']],
  ['SELECT :b, :a', 'SELECT $1, $2', [2, 'one']],
  ['SELECT :a, :b, :a', 'SELECT $1, $2, $1', ['one', 2]],
  ['SELECT :c', 'SELECT $1', [null]],
  ['SELECT :a_b,:A,:a', 'SELECT $1,$2,$3', ['both', 'capital', 'one']],
  ['SELECT :a::text', 'SELECT $1::text', ['one']],
  ["SELECT ':a', ''':a', :b", "SELECT ':a', ''':a', $1", [2]],
  ['SELECT ":a" AS ":b""", :b', 'SELECT ":a" AS ":b""", $1', [2]],
  ["SELECT 1 -- it's :a\n, :b", "SELECT 1 -- it's :a\n, $1", [2]],
  ["SELECT /* it's :a\n :x */ :b", "SELECT /* it's :a\n :x */ $1", [2]],
])('%j', (sql, text, values) => {
  const statement = numberParameters('$', sql, given)
  expect(statement).toEqual({ name: expect.any(String), text, values })
  expect(numberParameters('?', sql, given)).toEqual({
    name: expect.any(String),
    text: text.replace(/\$(\d)/g, '?$1'),
    values,
  })
  // A second time, from the cache of statements.
  expect(numberParameters('$', sql, given)).toEqual(statement)
})

test('each statement has a unique name', () => {
  const names = Array.from({ length: 100 }, (_, index) => numberParameters('$', `SELECT ${index}`, {}).name)
  expect(new Set(names).size).toBe(100)
})

test('a missing value is a TypeError, and an additional value is ignored', () => {
  expect(() => numberParameters('$', 'SELECT :missing', given)).toThrow(
    new TypeError("the statement's parameter :missing has no value"),
  )
  expect(numberParameters('$', 'SELECT :a', { ...given, more: 1 }).values).toEqual(['one'])
})
