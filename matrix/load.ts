/** Reads a matrix from the text of its file, and refuses it where any detail is wrong. */
import {
  completeMatrix,
  finish,
  type Matrix,
  type MatrixInput,
  matrixProblems,
  type Steps,
} from '../engine/index.ts'
import { firstProblems, type Problem, problemsBy, problemText, readJson } from './document/index.ts'
import { validate } from './gen/support-matrix.ts'
import { lintMatrix } from './lint.ts'

/** Largest matrix file that is read, in bytes. */
export const MATRIX_BYTES_MAX = 32 * 1024 * 1024

/**
 * A matrix that is not valid. `problems` says where and what was expected, in the order of the parts of the
 * file: the first 100, and an entry that says how many more there are.
 */
export class MatrixError extends Error {
  override readonly name = 'MatrixError'
  readonly problems: readonly Problem[]

  /** @param file what the message calls the matrix, where it is in a file */
  constructor(problems: readonly Problem[], file?: string | undefined) {
    const first = `${file === undefined ? '' : `${file}: `}the matrix is not valid:`
    super([first, ...problems.map((problem) => `  ${problemText(problem)}`)].join('\n'))
    this.problems = problems
  }
}

/**
 * Reads a matrix. The file is JSON without duplicate keys and fits the schema. Its ids are unique, and each
 * id that it uses exists. It declares every conflict that follows from its rows and statements, and no other.
 * `statements` and `conflicts` may be absent: the matrix then has empty lists.
 *
 * @param file the bytes of the file (UTF-8), or its text
 * @throws MatrixError with the JSON path of each problem
 */
export function loadMatrix(file: string | Uint8Array): Matrix {
  return finish(loadInSteps(file))
}

/**
 * As {@link loadMatrix}, in steps of some tens of milliseconds at most for ten thousand APIs: for a page that
 * somebody uses meanwhile.
 */
export function* loadInSteps(file: string | Uint8Array): Steps<Matrix> {
  const matrix = yield* parseInSteps(file)
  const { problems } = lintMatrix(matrix)
  if (problems.length > 0) throw new MatrixError(problems)
  return matrix
}

/** As {@link loadMatrix}, without a look at the conflicts: the linter reports on them. */
export function parseMatrix(file: string | Uint8Array): Matrix {
  return finish(parseInSteps(file))
}

function* parseInSteps(file: string | Uint8Array): Steps<Matrix> {
  const reading = readJson(textOf(file))
  yield
  if (!reading.ok) throw new MatrixError(reading.problems)
  const misfits = problemsBy(validate, reading.value)
  yield
  if (misfits.length > 0) throw new MatrixError(misfits)
  const { $schema: _, ...matrix } = reading.value as MatrixInput & { readonly $schema?: string }
  const problems = firstProblems(matrixProblems(matrix))
  yield
  if (problems.length > 0) throw new MatrixError(problems)
  return completeMatrix(matrix)
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
