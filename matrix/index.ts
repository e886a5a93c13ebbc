/**
 * `@portcullis/matrix`: the shipped matrix, and the tools for matrices: load, lint, explain, compare, plan.
 *
 * @module
 */

import type { Matrix } from '../engine/index.ts'
import type { SupportMatrixApiId, SupportMatrixKindId } from './gen/support-matrix-ids.ts'
import shipped from './support-matrix.json' with { type: 'json' }

export {
  type AllowedFlip,
  type Flip,
  flipsOfRenames,
  isOfCell,
  type Judged,
  judgeFlips,
  type SignedOff,
} from './allowed-flips.ts'
export {
  type CellFlip,
  type CellSide,
  type Changed,
  type Comparison,
  compareMatrices,
  EVERYONE,
  type FieldChange,
  type ListChange,
  type Mode,
  type Rename,
} from './compare.ts'
export { type DerivedConflict, deriveConflicts } from './derive.ts'
export { type DocumentForm, json, jsonc, PROBLEMS_MAX, type Problem, problemText } from './document/index.ts'
export { type CellExplanation, decideCell, explainCell, leavesOut } from './explain.ts'
export { FINDINGS, type Finding, type FindingCode, type MatrixProblem, type Severity } from './findings.ts'
export { bearsOn, type Direction, type KindDirection } from './flip-sides.ts'
export type { SupportMatrixApiId, SupportMatrixKindId } from './gen/support-matrix-ids.ts'
export { factTexts, type KindField, type KindFlip } from './kind-flips.ts'
export { type LintReport, lintMatrix } from './lint.ts'
export { type FindingsReport, findingsOf, lintFile } from './lint-file.ts'
export { loadMatrix, MATRIX_BYTES_MAX, MatrixError, parseMatrix } from './load.ts'
export { contestedCells, type Plan, type PlannedToken, planTokens, preferredKinds } from './plan.ts'
export { type FoundCell, type QueryAnswer, QueryError, queryMatrix } from './query/index.ts'
export { warningsOf } from './warnings.ts'

/**
 * The matrix of the source, frozen: 30 APIs, 3 kinds of token, and the conflicts. Its types know the ids, so
 * that a misspelt id does not compile. A test compares it with what `loadMatrix` reads.
 */
export const supportMatrix: Matrix<SupportMatrixKindId, SupportMatrixApiId> = withoutSchema(shipped)

function withoutSchema({ $schema: _, ...matrix }: typeof shipped): typeof supportMatrix {
  return deepFreeze(matrix) as unknown as typeof supportMatrix
}

/** All programs share the object: a caller who could change it would change it for all. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
