/** The rules that the page shows: a matrix, with an engine for each of the two modes. */
import { compile, type Engine, type Matrix } from '../../engine/index.ts'

/** Whether contested cells are denied. */
export type Mode = 'resolved' | 'strict'

export interface Rules {
  readonly matrix: Matrix
  /** The mode of the source of the matrix: a sidecar, or the command that wrote the file. */
  readonly mode: Mode
  /** The engine of a mode, the same one each time. */
  engine(mode: Mode): Engine
}

/** @throws TypeError where the matrix is not valid */
export function rulesOf(matrix: Matrix, mode: Mode): Rules {
  const engines = new Map<Mode, Engine>()
  const engine = (asked: Mode): Engine => {
    const known = engines.get(asked) ?? compile(matrix, { strict: asked === 'strict' })
    engines.set(asked, known)
    return known
  }
  // A fault is found now and not at the first look at a cell.
  engine(mode)
  return { matrix, mode, engine }
}
