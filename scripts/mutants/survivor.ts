/** A mutant that no test can kill, and why. */
import type { Mutant } from './report.ts'

/** A mutant in the words of the report: the line that it changes, and the change. */
export interface Survivor extends Mutant {
  /** Why nothing is missing in the tests. */
  readonly reason: string
}

/** Mutants of one file that survive for one reason. */
export function survivors(
  file: string,
  reason: string,
  ...mutants: readonly (readonly [line: string, from: string, to: string])[]
): readonly Survivor[] {
  return mutants.map(([line, from, to]) => ({ file, line, from, to, reason }))
}

export const SOME_TEXT = '"Stryker was here!"'
