/** Reads a matrix from the text of its file, and refuses it where any detail is wrong. */
import {
  completeMatrix,
  finish,
  type Matrix,
  type MatrixInput,
  matrixProblems,
  type Steps,
} from '../engine/index.ts'
import {
  type DocumentForm,
  firstProblems,
  json,
  type Problem,
  problemsBy,
  problemText,
  REPEATS,
  segmentsOf,
} from './document/index.ts'
import { coded, type MatrixProblem } from './findings.ts'
import { validate } from './gen/support-matrix.ts'
import { lintMatrix } from './lint.ts'
import { idProblems } from './loose-rows.ts'

export { formOfName, forms } from './document/index.ts'

/** Largest matrix file that is read, in bytes. One in YAML is smaller. */
export const MATRIX_BYTES_MAX = json.bytesMax

/**
 * A matrix that is not valid. `problems` says where and the expected value, first of the form and then of the
 * ids: the first 100, and an entry that says how many more there are.
 */
export class MatrixError extends Error {
  override readonly name = 'MatrixError'
  readonly problems: readonly MatrixProblem[]

  /** @param file what the message calls the matrix, where it is in a file */
  constructor(problems: readonly MatrixProblem[], file?: string | undefined) {
    const first = `${file === undefined ? '' : `${file}: `}the matrix is not valid:`
    super([first, ...problems.map((problem) => `  ${placeText(problem)}${problemText(problem)}`)].join('\n'))
    this.problems = problems
  }
}

/** Problems about the text as a whole say their place themselves. */
function placeText({ path, line, column }: Problem): string {
  return line === undefined || path === '' ? '' : `${line}:${column}: `
}

/**
 * Reads a matrix. The file has no key twice and fits the schema. Its ids are unique, and each id that it uses
 * exists. It declares every conflict that follows from its rows and statements, and no other. `statements`
 * and `conflicts` may be absent: the matrix then has empty lists.
 *
 * @param file the bytes of the file (UTF-8), or its text
 * @param form what it is written in; default: JSON
 * @throws MatrixError with the JSON path of each problem, and with its line and column
 */
export function loadMatrix(file: string | Uint8Array, form?: DocumentForm): Matrix {
  return finish(loadInSteps(file, form))
}

/**
 * As {@link loadMatrix}, in steps of some tens of milliseconds at most for ten thousand APIs: for a page that
 * a person uses meanwhile. YAML is read in one step, and takes some twenty times as long.
 */
export function* loadInSteps(file: string | Uint8Array, form: DocumentForm = json): Steps<Matrix> {
  const { matrix, problems } = yield* draftInSteps(file, form)
  if (problems.length > 0) throw new MatrixError(problems)
  return matrix
}

/** A matrix that may not be finished: its form and its ids are right. */
export interface Draft {
  readonly matrix: Matrix
  /** Why `loadMatrix` would refuse it: conflicts that are not declared as they must be. Empty: not. */
  readonly problems: readonly Problem[]
}

/**
 * As {@link loadInSteps}, for programs that show an unfinished matrix.
 *
 * @throws MatrixError where the form or an id is wrong
 */
export function* draftInSteps(file: string | Uint8Array, form: DocumentForm = json): Steps<Draft> {
  const text = textOf(file, form)
  const matrix = yield* parseInSteps(text, form)
  return { matrix, problems: placed(lintMatrix(matrix).problems, text, form) }
}

/** As {@link loadMatrix}, without a look at the conflicts: the linter reports on them. */
export function parseMatrix(file: string | Uint8Array, form: DocumentForm = json): Matrix {
  return finish(parseInSteps(textOf(file, form), form))
}

/**
 * The same for a matrix that a program has made.
 *
 * @throws MatrixError with the JSON path of each problem
 */
export function checkedMatrix(value: MatrixInput): Matrix {
  const matrix = finish(checkInSteps(value, (problems) => problems))
  const { problems } = lintMatrix(matrix)
  if (problems.length > 0) throw new MatrixError(problems)
  return matrix
}

function* parseInSteps(text: string, form: DocumentForm): Steps<Matrix> {
  const reading = form.read(text)
  yield
  if (!reading.ok) throw new MatrixError(reading.problems.map(withCode))
  return yield* checkInSteps(reading.value, (problems) => placed(problems, text, form))
}

/** The form and the ids. */
function* checkInSteps(
  value: unknown,
  place: (problems: readonly MatrixProblem[]) => readonly MatrixProblem[],
): Steps<Matrix> {
  const misfits = problemsBy(validate, value).map(withReason)
  yield
  if (misfits.length > 0) {
    const problems = firstProblems([
      ...coded('malformed', misfits),
      ...idProblems(value, misfits).map(withIdCode),
    ])
    throw new MatrixError(place(problems))
  }
  const { $schema: _, ...matrix } = value as MatrixInput & { readonly $schema?: string }
  const problems = firstProblems(matrixProblems(matrix).map(withIdCode))
  yield
  if (problems.length > 0) throw new MatrixError(place(problems))
  return completeMatrix(matrix)
}

function withCode(problem: Problem): MatrixProblem {
  return { code: problem.expected === REPEATS ? 'repeated-key' : 'unreadable', ...problem }
}

/** An id of a row is taken; anywhere else an id is unknown. */
function withIdCode(problem: Problem): MatrixProblem {
  return { code: problem.path.endsWith('.id') ? 'id-taken' : 'id-unknown', ...problem }
}

/** Fields that an author may expect for a token that travels in no header. */
const NO_HEADER = /^(?:cookies?|quer(?:y|ies)|(?:query|url)[_-]?param(?:eter)?s?|param(?:eter)?s?)$/i

function withReason(problem: Problem): Problem {
  const [list, , field] = segmentsOf(problem.path)
  if (list !== 'tokenKinds' || !NO_HEADER.test(String(field))) return problem
  const why = /cookie/i.test(problem.path)
    ? 'a browser sends cookies with every request that another site makes it send'
    : 'addresses are written to logs and histories'
  return { ...problem, expected: `expected a \`header\` instead: ${why}` }
}

/** The problems with their places in the text. */
export function placed<T extends Problem>(problems: readonly T[], text: string, form: DocumentForm): T[] {
  const paths = problems.map(({ path }) => path)
  const places = form.placesOf(text, paths)
  return problems.map((problem, index) => ({ ...problem, ...places[index] }))
}

/** The text of a matrix file. @throws MatrixError where it is too long, or not in UTF-8 */
export function textOf(file: string | Uint8Array, { id, bytesMax }: DocumentForm): string {
  const bytes = typeof file === 'string' ? new TextEncoder().encode(file).length : file.byteLength
  if (bytes > bytesMax)
    throw new MatrixError([{ code: 'unreadable', path: '', expected: tooLong(id, bytesMax, bytes) }])
  const text = typeof file === 'string' ? file : decoded(file)
  if (text.startsWith('\ufeff'))
    throw new MatrixError([
      { code: 'unreadable', path: '', expected: `${NO_MARK} at line 1, column 1`, line: 1, column: 1 },
    ])
  return text
}

/** The message for a file that is too long. */
export function tooLong(id: DocumentForm['id'], bytesMax: number, bytes: number): string {
  const hint = id === 'yaml' ? '; write so large a matrix in JSON' : ''
  return `expected at most ${bytesMax} bytes, found ${bytes}${hint}`
}

const NO_MARK = 'expected UTF-8 text without a byte order mark'

function decoded(file: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file)
  } catch {
    throw new MatrixError([
      { code: 'unreadable', path: '', expected: `expected UTF-8 text${otherEncoding(file)}` },
    ])
  }
}

/** Some editors write UTF-16: it begins with FF FE or FE FF. */
function otherEncoding(file: Uint8Array): string {
  const isMarked = ['255,254', '254,255'].includes(file.subarray(0, 2).join())
  return isMarked ? ', found the byte order mark of UTF-16' : ''
}
