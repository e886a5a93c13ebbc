/** Runs that broke a promise once, as `npm run simulate` prints them. Each is run again with the tests. */
import type { Run } from './outcome.ts'

export const KEPT: readonly Run[] = []
