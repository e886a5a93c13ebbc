/** The problems that can be found in the ids of a document whose form is wrong. */
import { type MatrixInput, matrixProblems } from '../engine/index.ts'
import { PROBLEMS_MAX, type Problem, segmentsOf } from './document/index.ts'

/** The noun for an unknown id, by the part that has the ids. */
const NAMED = { tokenKinds: 'token kind', apis: 'api', statements: 'statement' } as const

/** The end of what stands for an id that cannot be read. */
const NO_TEXT = ' is not a text'

type Row = Readonly<Record<string, unknown>>

/**
 * The problems of ids beside those of the form: an id that is taken, and one that no row has. Where the id of
 * a row cannot be read, an unknown one may be meant for it, and is not a problem.
 *
 * @param misfits the problems of the form
 */
export function idProblems(document: unknown, misfits: readonly Problem[]): readonly Problem[] {
  // There is more to do than can be shown, and the list does not say all that is wrong with ids.
  if (misfits.length > PROBLEMS_MAX) return []
  const named = new Set(misfits.map(({ path }) => path))
  const unsure = Object.entries(NAMED)
    .filter(([part]) => misfits.some(({ path }) => isOfIds(path, part)))
    .map(([, what]) => `there is no ${what} `)
  return matrixProblems(readable(rowOf(document)) as MatrixInput).filter(
    ({ path, expected }) => !named.has(path) && ![...unsure, NO_TEXT].some((text) => expected.includes(text)),
  )
}

/** Whether ids of the part cannot be read: those of all rows, of a row, or one. */
function isOfIds(path: string, part: string): boolean {
  const [list, , field] = segmentsOf(path)
  return list === part && (field === undefined || field === 'id')
}

/**
 * The rows with nothing of their own but ids, each where it was. An id that is not a text is one that no row
 * has.
 */
function readable(document: Row): object {
  let unread = 0
  // Survives: `++unread` → `--unread`. Any number does that no other row has.
  const id = (value: unknown) => (typeof value === 'string' ? value : `${++unread}${NO_TEXT}`)
  const ids = (value: unknown) => listOf(value).map(id)
  const rows = (part: string, of: (row: Row) => object) =>
    listOf(document[part]).map((row) => ({ id: id(rowOf(row).id), ...of(rowOf(row)) }))
  const claimOf = ({ kind, api, kinds, apis, accepts }: Row) => ({
    ...{ kind: id(kind), api: id(api), kinds: ids(kinds), apis: ids(apis), accepts: ids(accepts) },
  })
  return {
    tokenKinds: rows('tokenKinds', () => ({ header: 'X', obtained: { by: 'issue' } })),
    apis: rows('apis', ({ accepts }) => ({ accepts: ids(accepts) })),
    statements: rows('statements', ({ claim }) => ({
      claim: claimOf(rowOf(claim)),
    })),
    conflicts: rows('conflicts', ({ cells, ...row }) => ({
      ...{ apis: ids(row.apis), kinds: ids(row.kinds), statements: ids(row.statements) },
      cells: listOf(cells).map((cell) => ({ api: id(rowOf(cell).api), kind: id(rowOf(cell).kind) })),
    })),
  }
}

function rowOf(value: unknown): Row {
  return typeof value === 'object' && value !== null ? (value as Row) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
