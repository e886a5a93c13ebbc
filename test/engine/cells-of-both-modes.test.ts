/** The cells of a matrix without an engine: the answers of an engine of each mode about them. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CELL_ANSWERS, cellsInSteps, conflictsAt } from '../../engine/cells.ts'
import { type Conflict, compile, finish, type Matrix } from '../../engine/index.ts'
import { decideCell, supportMatrix } from '../../matrix/index.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'
import { planted, smallMatrix } from '../support/matrices/small-matrix.ts'

function holds(matrix: Matrix): void {
  const cells = finish(cellsInSteps(matrix))
  const [lenient, strict] = [compile(matrix), compile(matrix, { strict: true })]
  for (const [row, { id, accepts }] of cells.apis.entries())
    for (const [column, kind] of cells.kinds.entries()) {
      const answer = CELL_ANSWERS[cells.answers[row * cells.kinds.length + column] as number]
      const decision = decideCell(lenient, id, kind)
      expect(answer).toEqual({
        marked: accepts.includes(kind.id),
        contested: lenient.apis.get(id)?.contested.includes(kind.id),
        lenient: decision.reason,
        strict: decideCell(strict, id, kind).reason,
      })
      const bearing = conflictsAt(cells, row, column).map((conflict) => conflict.id)
      expect(bearing).toEqual(decision.conflicts.map((conflict) => conflict.id))
    }
}

test('the cells of the shipped matrix agree with its decisions', () => holds(supportMatrix))

test('the cells of any matrix agree with its decisions', () => {
  fc.assert(fc.property(matrices(), holds), { numRuns: 100 })
})

test('so do those of a matrix with a conflict about two cells without a common API or kind', () => {
  const [first, ...others] = smallMatrix().conflicts as readonly Conflict[] as [Conflict, ...Conflict[]]
  const cells = [...first.cells, { api: 'library', kind: 'day_pass' }]
  holds({ ...smallMatrix(), conflicts: [{ ...first, cells }, ...others] })
})

test('a matrix that does not compile has none', () => {
  const matrix = planted(smallMatrix(), 'apis[1].id', 'lobby')
  expect(() => finish(cellsInSteps(matrix))).toThrow(
    new TypeError('the matrix is not valid: apis[1].id: expected a unique id, `lobby` is taken'),
  )
})
