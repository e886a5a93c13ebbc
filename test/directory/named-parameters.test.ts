/** Parameters by name become parameters by number, and nothing else that has a colon does. */
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
  expect(numberParameters('?', sql, given)).toEqual({ ...statement, text: text.replace(/\$(\d)/g, '?$1') })
  // Once more, from what is remembered.
  expect(numberParameters('$', sql, given)).toEqual(statement)
})

test('each statement has a name of its own', () => {
  const names = Array.from({ length: 100 }, (_, index) => numberParameters('$', `SELECT ${index}`, {}).name)
  expect(new Set(names).size).toBe(100)
})

test('a parameter that is not given is a mistake of the programmer, and what is given too much is not', () => {
  expect(() => numberParameters('$', 'SELECT :missing', given)).toThrow(
    new TypeError("the statement's parameter :missing has no value"),
  )
  expect(numberParameters('$', 'SELECT :a', { ...given, more: 1 }).values).toEqual(['one'])
})
