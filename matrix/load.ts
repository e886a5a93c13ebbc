/** Reads a matrix from its file's text, and refuses what is not right in every detail. */
import type { Cell, Matrix } from '../engine/index.ts'
import { validate } from './gen/support-matrix.ts'
import { readJson } from './json.ts'
import { lintMatrix } from './lint.ts'
import { type Problem, pathOf, problemText } from './problems.ts'
import { problemsBy } from './schema.ts'

/** Largest matrix file that is read, in bytes. */
export const MATRIX_BYTES_MAX = 32 * 1024 * 1024

/** How many problems the message of an error lists. */
const PROBLEMS_SHOWN_MAX = 50

/** A matrix that is not right. `problems` says where and what was expected, in the order of the file's parts. */
export class MatrixError extends Error {
  override readonly name = 'MatrixError'
  readonly problems: readonly Problem[]

  /** @param file what the message calls it, where it is a file */
  constructor(problems: readonly Problem[], file?: string) {
    const shown = problems.slice(0, PROBLEMS_SHOWN_MAX).map((problem) => `  ${problemText(problem)}`)
    const more = problems.length - shown.length
    const first = `${file === undefined ? '' : `${file}: `}the matrix is not valid:`
    super([first, ...shown, ...(more > 0 ? [`  … and ${more} more`] : [])].join('\n'))
    this.problems = problems
  }
}

/**
 * Reads a matrix: JSON without duplicate keys, the schema, ids that are unique and refer to something,
 * and every conflict declared that rows and statements have, and no other.
 *
 * @param file the file's bytes (UTF-8) or text
 * @throws MatrixError with the JSON path of each problem
 */
export function loadMatrix(file: string | Uint8Array): Matrix {
  const matrix = parseMatrix(file)
  const { problems } = lintMatrix(matrix)
  if (problems.length > 0) throw new MatrixError(problems)
  return matrix
}

/** As {@link loadMatrix}, but the conflicts are not compared: for the linter, which reports on them. */
export function parseMatrix(file: string | Uint8Array): Matrix {
  const reading = readJson(textOf(file))
  if (!reading.ok) throw new MatrixError(reading.problems)
  const misfits = problemsBy(validate, reading.value)
  if (misfits.length > 0) throw new MatrixError(misfits)
  const { $schema: _, ...matrix } = reading.value as Matrix & { $schema?: string }
  const problems = referenceProblems(matrix)
  if (problems.length > 0) throw new MatrixError(problems)
  return matrix
}

function textOf(file: string | Uint8Array): string {
  const bytes = typeof file === 'string' ? new TextEncoder().encode(file).length : file.byteLength
  if (bytes > MATRIX_BYTES_MAX)
    throw new MatrixError([
      { path: '', expected: `expected at most ${MATRIX_BYTES_MAX} bytes, found ${bytes}` },
    ])
  if (typeof file === 'string') return file
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file)
  } catch {
    throw new MatrixError([{ path: '', expected: 'expected UTF-8 text' }])
  }
}

/** Ids that repeat, and ids that refer to nothing. */
function referenceProblems(matrix: Matrix): Problem[] {
  const problems: Problem[] = []
  const ids = (part: 'tokenKinds' | 'apis' | 'statements' | 'conflicts') => {
    const known = new Set<string>()
    for (const [index, { id }] of matrix[part].entries()) {
      if (known.has(id))
        problems.push({
          path: pathOf([part, index, 'id']),
          expected: `expected an id of its own, \`${id}\` is taken`,
        })
      known.add(id)
    }
    return known
  }
  const kinds = ids('tokenKinds')
  const apis = ids('apis')
  const statements = ids('statements')
  ids('conflicts')

  const refer = (
    path: (string | number)[],
    what: string,
    found: readonly string[],
    known: ReadonlySet<string>,
  ) => {
    for (const [index, id] of found.entries())
      if (!known.has(id))
        problems.push({
          path: pathOf([...path, index]),
          expected: `expected the id of ${what}, \`${id}\` is none`,
        })
  }
  const referCells = (path: (string | number)[], cells: readonly Cell[]) => {
    for (const [index, { api, kind }] of cells.entries()) {
      if (!apis.has(api))
        problems.push({
          path: pathOf([...path, index, 'api']),
          expected: `expected the id of an api, \`${api}\` is none`,
        })
      if (!kinds.has(kind))
        problems.push({
          path: pathOf([...path, index, 'kind']),
          expected: `expected the id of a token kind, \`${kind}\` is none`,
        })
    }
  }

  for (const [index, api] of matrix.apis.entries())
    refer(['apis', index, 'accepts'], 'a token kind', api.accepts, kinds)
  for (const [index, { claim }] of matrix.statements.entries()) {
    const at = ['statements', index, 'claim']
    if ('kind' in claim && !kinds.has(claim.kind))
      problems.push({
        path: pathOf([...at, 'kind']),
        expected: `expected the id of a token kind, \`${claim.kind}\` is none`,
      })
    if ('api' in claim && !apis.has(claim.api))
      problems.push({
        path: pathOf([...at, 'api']),
        expected: `expected the id of an api, \`${claim.api}\` is none`,
      })
    if ('kinds' in claim) refer([...at, 'kinds'], 'a token kind', claim.kinds, kinds)
    if ('apis' in claim) refer([...at, 'apis'], 'an api', claim.apis, apis)
    if ('accepts' in claim) refer([...at, 'accepts'], 'a token kind', claim.accepts, kinds)
  }
  for (const [index, conflict] of matrix.conflicts.entries()) {
    refer(['conflicts', index, 'apis'], 'an api', conflict.apis, apis)
    refer(['conflicts', index, 'kinds'], 'a token kind', conflict.kinds, kinds)
    refer(['conflicts', index, 'statements'], 'a statement', conflict.statements, statements)
    referCells(['conflicts', index, 'cells'], conflict.cells)
  }
  return problems
}
