/** Asking a matrix: which cells, APIs or kinds of token an expression fits. */
import { CELL_ANSWERS, type Cells, cellsInSteps, conflictsAt } from '../../engine/cells.ts'
import { finish, type MatrixInput, type Reason } from '../../engine/index.ts'
import { bindQuery, type Matcher } from './evaluate.ts'
import { parseQuery } from './parse.ts'

export { QUERY_DEPTH_MAX, QUERY_LENGTH_MAX, QueryError } from './parse.ts'

/** A cell that a query fits. */
export interface FoundCell {
  readonly api: string
  readonly kind: string
  readonly contested: boolean
  /** `ALLOWED`, or why not: by the resolutions of the conflicts. */
  readonly lenient: Reason
  readonly strict: Reason
  /** Ids of the conflicts that bear on it. */
  readonly conflicts: readonly string[]
}

/** All that fits, in the order of the matrix. */
export type QueryAnswer =
  | { readonly about: 'cells'; readonly cells: readonly FoundCell[] }
  | { readonly about: 'apis'; readonly apis: readonly string[] }
  | { readonly about: 'kinds'; readonly kinds: readonly string[] }

/**
 * Finds what an expression fits. One about APIs alone finds APIs, one about kinds alone finds kinds, and any
 * other finds cells. `docs/use/matrix.md` has the language.
 *
 * @throws QueryError with the column, and the expected value there; TypeError where the input is not a matrix
 */
export function queryMatrix(matrix: MatrixInput, expression: string): QueryAnswer {
  const cells = finish(cellsInSteps(matrix))
  const { about, fits } = bindExpression(cells, expression)
  const { apis, kinds } = cells
  if (about === 'api') return { about: 'apis', apis: apis.filter((_, row) => fits(row, 0)).map(idOf) }
  if (about === 'kind')
    return { about: 'kinds', kinds: kinds.filter((_, column) => fits(0, column)).map(idOf) }
  const found: FoundCell[] = []
  for (const row of apis.keys())
    for (const column of kinds.keys()) if (fits(row, column)) found.push(foundCell(cells, row, column))
  return { about: 'cells', cells: found }
}

/** As {@link queryMatrix}, for callers that ask about single cells. @throws QueryError as it does */
export function bindExpression(cells: Cells, expression: string): Matcher {
  return bindQuery(cells, parseQuery(expression))
}

const idOf = ({ id }: { readonly id: string }): string => id

function foundCell(cells: Cells, row: number, column: number): FoundCell {
  const { answers, apis, kinds } = cells
  const answer = CELL_ANSWERS[answers[row * kinds.length + column] as number] as (typeof CELL_ANSWERS)[number]
  const { contested, lenient, strict } = answer
  const conflicts = conflictsAt(cells, row, column)
  return {
    ...{ api: apis[row]?.id as string, kind: kinds[column]?.id as string },
    ...{ contested, lenient, strict },
    // Survives: `conflicts.length === 0` → `false`. It only spares a list that is empty.
    conflicts: conflicts.length === 0 ? NONE : conflicts.map(idOf),
  }
}

const NONE: readonly never[] = Object.freeze([])
