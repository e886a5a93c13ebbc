/** Every suite there is, in the order in which they run. */
import { engineSuite } from './engine.ts'
import { sidecarSuite } from './sidecar.ts'
import type { Suite } from './suite.ts'
import { tokensSuite } from './tokens.ts'
import { workersSuite } from './workers.ts'

export const suites: readonly Suite[] = [engineSuite, sidecarSuite, tokensSuite, workersSuite]
