/** The clock of what this program remembers. */
import { performance } from 'node:perf_hooks'
import { Elapsed } from '../../engine/elapsed.ts'

export const CLOCK = new Elapsed(
  () => performance.now(),
  () => Date.now(),
)
