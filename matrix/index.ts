/**
 * `portcullis/matrix`: the shipped matrix, and the tools over matrices: load, lint, plan.
 *
 * @module
 */

import { deepFreeze } from '../engine/freeze.ts'
import type { Matrix } from '../engine/index.ts'
import shipped from './support-matrix.json' with { type: 'json' }

export { type DerivedConflict, deriveConflicts, type LintReport, lintMatrix } from './lint.ts'
export { loadMatrix, MATRIX_BYTES_MAX, MatrixError, parseMatrix } from './load.ts'
export { type Plan, type PlannedToken, planTokens } from './plan.ts'
export { type Problem, problemText } from './problems.ts'

/** The matrix of the source: 30 APIs, 3 kinds of token, and its conflicts; frozen. A test holds it to `loadMatrix`. */
export const supportMatrix: Matrix = withoutSchema(shipped as unknown as Matrix & { $schema: string })

function withoutSchema({ $schema: _, ...matrix }: Matrix & { readonly $schema: string }): Matrix {
  return deepFreeze(matrix)
}
