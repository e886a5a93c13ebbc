/** Mutants that no test can kill, each with the reason: they change nothing that anybody could notice. */
import type { Mutant } from './report.ts'

/** A mutant in the words of the report: the line that it changes, and what of it becomes what. */
export interface Survivor extends Mutant {
  /** Why nothing is missing in the tests. */
  readonly reason: string
}

/** Mutants of one file that survive for one reason. */
function survivors(
  file: string,
  reason: string,
  ...mutants: readonly (readonly [line: string, from: string, to: string])[]
): readonly Survivor[] {
  return mutants.map(([line, from, to]) => ({ file, line, from, to, reason }))
}

const SOME_TEXT = '"Stryker was here!"'

export const SURVIVORS: readonly Survivor[] = [
  ...survivors(
    'engine/issuance.ts',
    'A fault is noted before, and a reading with faults has no values.',
    ["if (!scope.readable) return { account: '' }", "{ account: '' }", '{}'],
    ["if (!scope.readable) return { account: '' }", "''", SOME_TEXT],
    ["return { account: '' }", "{ account: '' }", '{}'],
    ["return { account: '' }", "''", SOME_TEXT],
    ["return ''", "''", SOME_TEXT],
  ),
]
