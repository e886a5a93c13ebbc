/** The parts for the operations on the matrix in force. */
import type { Matrix } from '../../engine/index.ts'
import type { KeptMatrix } from '../authority/promoted-matrices.ts'
import type { Rules } from '../rules/rules.ts'
import type { Shadow } from './shadow.ts'

export interface MatrixRollout {
  readonly rules: Pick<Rules, 'engine' | 'matrix' | 'configured' | 'configuredDigest' | 'overruled'>
  /** `undefined`: the configuration names none. */
  readonly shadow: Shadow | undefined
  /** Puts in force here what is in force in the directory now. @throws CallError or Error */
  readonly follow: () => Promise<void>
  /** The matrix as JSON. */
  readonly jsonOf: (matrix: Matrix) => Promise<string>
  /** The same of one that the directory keeps. @throws Error where it cannot be decompressed */
  readonly jsonOfKept: (kept: KeptMatrix) => Promise<string>
  /** As the directory keeps it. @throws MatrixError where it is too long */
  readonly contentOf: (matrix: Matrix) => Promise<Buffer>
}
