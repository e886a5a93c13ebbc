/** The linter for a matrix file: everything that is wrong with it at once, where, and what to do about it. */
import { completeMatrix, type MatrixInput } from '../engine/index.ts'
import { type DocumentForm, json, type Place } from './document/index.ts'
import { type Finding, findingOf, type MatrixProblem } from './findings.ts'
import { type LintReport, lintMatrix } from './lint.ts'
import { MatrixError, parseMatrix, placed, textOf } from './load.ts'
import { warningsOf } from './warnings.ts'

/** Each list has the first 100, and an entry without a code that says how many more there are. */
export interface FindingsReport extends Pick<LintReport, 'conflicts'> {
  /** For these the matrix is refused. Empty: it is valid. */
  readonly problems: readonly Finding[]
  /** Content that is allowed and probably not meant. */
  readonly warnings: readonly Finding[]
}

/**
 * Lints the bytes or the text of a matrix file. Findings are in the order of the text.
 *
 * @param form what it is written in; default: JSON
 */
export function lintFile(file: string | Uint8Array, form: DocumentForm = json): FindingsReport {
  try {
    const text = textOf(file, form)
    return findingsOf(parseMatrix(text, form), (problems) => placed(problems, text, form).sort(inOrder))
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    const problems = error.problems.toSorted(inOrder).map((problem) => findingOf(problem, 'error'))
    return { conflicts: [], problems, warnings: [] }
  }
}

/** Lints a matrix that is in no file, with the paths of its findings. */
export function findingsOf(
  input: MatrixInput,
  place: (problems: readonly MatrixProblem[]) => readonly MatrixProblem[] = (problems) => problems,
): FindingsReport {
  const matrix = completeMatrix(input)
  const { conflicts, problems } = lintMatrix(matrix)
  const warnings = warningsOf(matrix)
  return {
    conflicts,
    problems: place(problems).map((problem) => findingOf(problem, 'error')),
    warnings: place(warnings).map((warning) => findingOf(warning, 'warning')),
  }
}

/** Findings about the whole document come last, as the count of further problems does. */
function inOrder(one: Partial<Place>, other: Partial<Place>): number {
  const { line = Number.POSITIVE_INFINITY, column = 0 } = one
  const { line: otherLine = Number.POSITIVE_INFINITY, column: otherColumn = 0 } = other
  return line === otherLine ? column - otherColumn : line - otherLine
}
