/** Explaining a cell: its decision, and the statements of the prose about it. */
import { expect, test } from 'vitest'
import { type Claim, compile } from '../../engine/index.ts'
import { explainCell, leavesOut } from '../../matrix/index.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const matrix = smallMatrix()
const engine = compile(matrix)

test.each<[api: string, kind: 'day_pass' | 'room_key', reason: string, statements: string[]]>([
  ['lobby', 'day_pass', 'ALLOWED', ['pass-manages', 'lobby-repeated']],
  ['lobby', 'room_key', 'ALLOWED', ['key-manages-not', 'lobby-repeated']],
  ['library', 'room_key', 'TOKEN_KIND_NOT_ACCEPTED', ['key-manages-not']],
  // A complete list says it of kinds that it leaves out; other lists do not.
  ['cellar', 'day_pass', 'TOKEN_KIND_NOT_ACCEPTED', ['pass-manages']],
  ['cellar', 'room_key', 'ALLOWED', ['key-only-option']],
  ['attic', 'room_key', 'UNKNOWN_API', []],
])('%s × %s: %s, and what the prose says', (api, id, reason, statements) => {
  const scopeLevel = id === 'room_key' ? 'project' : 'account'
  const explained = explainCell(matrix, engine, api, { id, scopeLevel })
  expect(explained).toMatchObject({ kind: id, decision: { reason } })
  expect(explained.statements.map((statement) => statement.id)).toEqual(statements)
})

test('a list that is not complete says nothing of what it leaves out', () => {
  const statements = matrix.statements.map((statement) => ({
    ...statement,
    claim: { ...statement.claim, complete: false } as Claim,
  }))
  const { statements: found } = explainCell({ statements }, engine, 'cellar', {
    ...{ id: 'day_pass', scopeLevel: 'account' },
  })
  expect(found).toEqual([])
})

test.each<[statement: string, api: string, left: boolean]>([
  ['pass-manages', 'cellar', true],
  ['pass-manages', 'lobby', false],
  ['pass-most', 'cellar', false],
  ['lobby-repeated', 'cellar', false],
])('whether %s leaves out %s: %s', (id, api, left) => {
  const claim = matrix.statements.find((statement) => statement.id === id)?.claim as Claim
  expect(leavesOut(claim, api)).toBe(left)
})
