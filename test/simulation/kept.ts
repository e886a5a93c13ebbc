/** Runs that broke a promise once, as `npm run simulate` prints them. Each is run again with the tests. */
import type { Run } from './outcome.ts'

export const KEPT: readonly Run[] = [
  // A change whose COMMIT failed left its number behind, which another change got that was then not read.
  { seed: 2114, steps: 44, skipped: Array.from({ length: 13 }, (_, index) => 31 + index) },
]
