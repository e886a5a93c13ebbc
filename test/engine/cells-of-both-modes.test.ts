/** The cells of a matrix without an engine: what an engine of each mode says of them. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CELL_ANSWERS, cellsInSteps, conflictsAt } from '../../engine/cells.ts'
import { compile, finish, type Matrix } from '../../engine/index.ts'
import { decideCell, supportMatrix } from '../../matrix/index.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'

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

test('of the shipped matrix', () => holds(supportMatrix))

test('of any matrix', () => {
  fc.assert(fc.property(matrices(), holds), { numRuns: 100 })
})
