/** The results of a run of policy tests, for every format. */
import type { CoveredPart, Failure, Mode, TestResult } from '../../../../../matrix/policy-tests/index.ts'
import type { TestFile } from './test-files.ts'

export interface FileResult {
  readonly file: TestFile
  readonly results: readonly TestResult[]
}

export interface Report {
  /** Of the matrix. */
  readonly digest: string
  /** Mode of the tests that name none. */
  readonly mode: Mode
  readonly files: readonly FileResult[]
  /** Name → how much of it was asked about; absent: it was not asked for. */
  readonly coverage: Readonly<Record<string, CoveredPart>> | undefined
  /** In percent. */
  readonly coverageMin: number | undefined
}

/** `policy-tests.yaml:14:5`, as compilers print it, so that terminals and editors go there. */
export function placeOf({ path, placeOf: find }: TestFile, { index }: TestResult): string {
  const { line = 1, column = 1 } = find(index)
  return `${path}:${line}:${column}`
}

/** The expected and the found values, line by line: a label and a text. */
export function failureLines({ differences, message }: Failure): [label: string, text: string][] {
  return [
    ...differences.flatMap(({ what, expected, found }): [string, string][] => {
      const of = what === 'answer' ? '' : `${what}: `
      return [
        ['expected', `${of}${expected}`],
        ['found', `${of}${found}`],
      ]
    }),
    ['message', message],
  ]
}

/** `balance × static_token, in lenient mode`. */
export function questionText({ question, mode }: Failure): string {
  return `${question}, in ${mode === 'both' ? 'both modes' : `${mode} mode`}`
}

/** How many questions a test has failed beside those that are described. */
export function moreOf({ failed, failures }: TestResult): number {
  return failures.reduce((rest, { mode }) => rest - (mode === 'both' ? 2 : 1), failed)
}

export function countsOf(files: readonly FileResult[]): {
  readonly tests: number
  readonly failed: number
  readonly questions: number
} {
  const all = files.flatMap(({ results }) => results)
  return {
    tests: all.length,
    failed: all.filter(({ failed }) => failed > 0).length,
    questions: all.reduce((sum, { questions }) => sum + questions, 0),
  }
}
