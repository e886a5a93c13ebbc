/** Findings of the linter, by its code. Codes are stable: programs and the settings of projects name them. */
import type { Problem } from './document/index.ts'

export type Severity = 'error' | 'warning'

interface FindingType {
  /** `error`: the matrix is refused. `warning`: it is allowed, and probably not meant. */
  readonly severity: Severity
  /** The fault; a sentence. */
  readonly means: string
  /** The remedy; a sentence. */
  readonly fix: string
}

/** Every code. The page of the matrix lists them, and a test compares it. */
export const FINDINGS = {
  unreadable: {
    severity: 'error',
    means: 'The text is not JSON, or not the YAML that is read here; or it is too long or nested too deep.',
    fix: 'Write what was expected at this place. Comments need a file whose name ends in `.jsonc`.',
  },
  'repeated-key': {
    severity: 'error',
    means: 'An object has a key twice.',
    fix: 'Remove one of the two.',
  },
  malformed: {
    severity: 'error',
    means: 'A field is missing, unknown, or not as the schema describes it; the form of an id as well.',
    fix: 'Write what was expected; `$schema` in the file lets an editor help.',
  },
  'id-taken': {
    severity: 'error',
    means: 'Two rows of one list have the same id.',
    fix: 'Give one of the two another id.',
  },
  'id-unknown': {
    severity: 'error',
    means: 'An id that no row has.',
    fix: 'Write the id of a row, or add the row: `portcullis matrix add`.',
  },
  'undeclared-conflict': {
    severity: 'error',
    means: 'Rows and statements contradict each other, and no conflict declares it.',
    fix: 'Declare it: `portcullis matrix resolve`. Or change the row, or the statement.',
  },
  'dead-conflict': {
    severity: 'error',
    means: 'A conflict is declared that does not follow from the rows and the statements.',
    fix: 'Remove the declaration.',
  },
  'wrong-statements': {
    severity: 'error',
    means: 'A conflict names other statements than those that take part.',
    fix: 'Write the ids that were expected.',
  },
  'conflict-declared-twice': {
    severity: 'error',
    means: 'Two conflicts declare the same.',
    fix: 'Remove one of the two.',
  },
  'opposed-resolutions': {
    severity: 'error',
    means: 'The table rules a cell by one conflict, and the prose by another one.',
    fix: 'Resolve both in the same way: `portcullis matrix resolve`.',
  },
  'unaccepted-kind': {
    severity: 'warning',
    means: 'No API accepts the kind of token.',
    fix: 'Accept it somewhere: `portcullis matrix accept`. Or remove the kind.',
  },
  'unopened-api': {
    severity: 'warning',
    means: 'No kind of token opens the API.',
    fix: 'Accept a kind: `portcullis matrix accept`. Or leave it, if the API is closed to all.',
  },
  'no-source-section': {
    severity: 'warning',
    means: 'A statement names no section of the source, although others do, by the section sign.',
    fix: 'Write the section where the source says it.',
  },
  'title-in-capitals': {
    severity: 'warning',
    means: 'The title of a kind of token begins with a capital letter, and stands inside sentences.',
    fix: 'Write it as in the middle of a sentence. An abbreviation stays: `API key`.',
  },
  'similar-ids': {
    severity: 'warning',
    means:
      'Two ids of one list differ in one letter of a word, or only in the marks between words. Other digits and endings do not count, nor `get` beside `set`.',
    fix: 'Leave both, if both are meant. Otherwise remove one: `portcullis matrix rename`.',
  },
} as const satisfies Readonly<Record<string, FindingType>>

export type FindingCode = keyof typeof FINDINGS

/** A problem of a matrix. The entry that says how many more problems there are has no code. */
export interface MatrixProblem extends Problem {
  readonly code?: FindingCode
}

/** A problem, with what to do about it. */
export interface Finding extends MatrixProblem {
  readonly severity: Severity
  readonly fix?: string
}

/** @param severity of the list that the problem is in */
export function findingOf(problem: MatrixProblem, severity: Severity): Finding {
  const { code } = problem
  return { ...problem, severity, ...(code !== undefined && { fix: FINDINGS[code].fix }) }
}

/** Gives a code to problems that have none yet. */
export function coded<T extends Problem>(code: FindingCode, problems: readonly T[]): MatrixProblem[] {
  return problems.map((problem) => ({ code, ...problem }))
}
