/**
 * The answer of the rule for every cell in both modes, without decisions: for tools that look at whole
 * matrices. An engine has messages, digests and a mode, which they do not need.
 */
import { completeMatrix, problemsInSteps } from './consistency.ts'
import type { Steps } from './large.ts'
import type { Api, Conflict, Matrix, MatrixInput, TokenKind } from './matrix.ts'
import type { Reason } from './reasons.ts'
import { type Facts, reasonOf } from './rule.ts'

/** The answer for a cell. Shared and frozen: cells with the same facts have the same object. */
export interface CellAnswer {
  /** Whether the row lists the kind. */
  readonly marked: boolean
  /** Whether a conflict puts the cell in doubt. */
  readonly contested: boolean
  /** `ALLOWED`, or why not: by the resolutions of the conflicts. */
  readonly lenient: Reason
  /** The same in strict mode, where contested cells are denied. */
  readonly strict: Reason
}

/** Every cell of a matrix. */
export interface Cells {
  readonly matrix: Matrix
  readonly kinds: readonly TokenKind[]
  readonly apis: readonly Api[]
  /** Id → place in `kinds`. */
  readonly columns: ReadonlyMap<string, number>
  /** Id → place in `apis`. */
  readonly rows: ReadonlyMap<string, number>
  /** Place of an API → the conflicts about it or about one of its cells. Absent: none. */
  readonly conflicts: ReadonlyMap<number, readonly Conflict[]>
  /** An index into {@link CELL_ANSWERS} for each cell, at `row * kinds.length + column`. */
  readonly answers: Uint8Array
}

const ACCEPTED = 1
/** The side that rules a contested cell; without one of the two it is not contested. */
const TABLE = 2
const PROSE = 4

/** The answer of the rule for each combination of facts that a cell can have. */
export const CELL_ANSWERS: readonly CellAnswer[] = Object.freeze(
  Array.from({ length: (ACCEPTED | PROSE) + 1 }, (_, facts) => answerOf(facts)),
)

/** @throws TypeError as `compile` does, from one of the steps */
export function* cellsInSteps(input: MatrixInput): Steps<Cells> {
  const [problem] = yield* problemsInSteps(input)
  if (problem !== undefined)
    throw new TypeError(`the matrix is not valid: ${problem.path}: ${problem.expected}`)
  const matrix = completeMatrix(input)
  const { tokenKinds: kinds, apis } = matrix
  const columns = new Map(kinds.map(({ id }, column) => [id, column]))
  const rows = new Map(apis.map(({ id }, row) => [id, row]))
  const answers = new Uint8Array(apis.length * kinds.length)
  for (const [row, { accepts }] of apis.entries()) {
    for (const kind of accepts) answers[row * kinds.length + (columns.get(kind) as number)] = ACCEPTED
    yield
  }
  const conflicts = new Map<number, Conflict[]>()
  for (const conflict of matrix.conflicts) {
    const side = conflict.resolution === 'prose' ? PROSE : TABLE
    const about = new Set(conflict.apis)
    for (const { api, kind } of conflict.cells) {
      about.add(api)
      const place = (rows.get(api) as number) * kinds.length + (columns.get(kind) as number)
      answers[place] = (answers[place] as number) | side
    }
    for (const api of about) {
      const row = rows.get(api) as number
      const earlier = conflicts.get(row)
      if (earlier === undefined) conflicts.set(row, [conflict])
      else earlier.push(conflict)
    }
    yield
  }
  return { matrix, kinds, apis, columns, rows, conflicts, answers }
}

/** The conflicts that bear on a cell, as a decision about it names them. */
export function conflictsAt(
  { conflicts, apis, kinds }: Cells,
  row: number,
  column: number,
): readonly Conflict[] {
  const bearing = conflicts.get(row)
  if (bearing === undefined) return NONE
  // Survives: `kinds[column]?.id` → `kinds[column].id`. Cells are asked about by their places, so the kind is
  // there.
  const [api, kind] = [apis[row]?.id as string, kinds[column]?.id]
  return bearing.filter(
    (conflict) =>
      conflict.apis.includes(api) || conflict.cells.some((cell) => cell.api === api && cell.kind === kind),
  )
}

const NONE: readonly never[] = Object.freeze([])

function answerOf(facts: number): CellAnswer {
  // Survives: `'table'` → `""`. The rule compares with the other values of the fact, and no other code sees
  // it.
  const conflict = (facts & PROSE) !== 0 ? 'prose' : (facts & TABLE) !== 0 ? 'table' : 'none'
  const known: Omit<Facts, 'strict'> = {
    // Survives: `'known'` → `""`, `'not_given'` → `""`. The rule compares with the other values of the fact,
    // and no other code sees it.
    ...{ api: 'known', credential: 'verified', target: 'not_given' },
    // Without a target only the matrix decides, so either kind of scope will do where it fits.
    ...{ kind: 'account', scope: 'account', conflict },
    // Survives: `'rejects'` → `""`. The rule compares with the other values of the fact, and no other code
    // sees it.
    table: (facts & ACCEPTED) === 0 ? 'rejects' : 'accepts',
  }
  return Object.freeze({
    marked: known.table === 'accepts',
    contested: conflict !== 'none',
    lenient: reasonOf({ ...known, strict: false }),
    strict: reasonOf({ ...known, strict: true }),
  })
}
