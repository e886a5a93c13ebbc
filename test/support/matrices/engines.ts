/** The shipped matrix compiled in both modes, and variants of it. */
import {
  type CompileOptions,
  type Conflict,
  compile,
  type Engine,
  type Matrix,
} from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'

export const ACCOUNT_KIND = 'iam_token_account_scoped'
export const PROJECT_KIND = 'iam_token_project_scoped'
export const STATIC_KIND = 'static_token'

/** Each conflict's resolution rules. */
export const engine: Engine = compile(supportMatrix)

/** Contested cells are denied. */
export const strictEngine: Engine = compile(supportMatrix, { strict: true })

/** The shipped matrix with one of its conflicts resolved for the prose. */
export function compileForProse(conflictId: string, options?: CompileOptions): Engine {
  return compile(withResolution(supportMatrix, conflictId, 'prose'), options)
}

function withResolution(matrix: Matrix, id: string, resolution: Conflict['resolution']): Matrix {
  const conflicts = matrix.conflicts.map((conflict) =>
    conflict.id === id ? { ...conflict, resolution } : conflict,
  )
  return { ...matrix, conflicts }
}
