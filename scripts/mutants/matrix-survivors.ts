/** Those of `matrix/`. */
import { type Survivor, survivors } from './survivor.ts'

export const OF_MATRIX: readonly Survivor[] = []
