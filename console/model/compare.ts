/** Comparing: what another matrix opens and closes, in the mode that somebody looks at. */
import { compileInSteps, type Engine, type Matrix, type Steps } from '../../engine/index.ts'
import { type Comparison, compareInSteps } from '../../matrix/compare.ts'

export interface Compared {
  /** The other matrix. */
  readonly matrix: Matrix
  readonly before: Engine
  readonly after: Engine
  readonly comparison: Comparison
}

export function* comparedInSteps(before: Engine, matrix: Matrix): Steps<Compared> {
  const after = yield* compileInSteps(matrix, { strict: before.strict })
  return { matrix, before, after, comparison: yield* compareInSteps(before, after) }
}
