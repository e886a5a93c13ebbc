/** The mutants of Stryker's report, as far as a person needs it to find one in the text. */

/** The parts that are read of a report (the schema of mutation-testing-elements). */
export interface Report {
  readonly files: Readonly<
    Record<string, { readonly source: string; readonly mutants: readonly ReportedMutant[] }>
  >
}

interface ReportedMutant {
  readonly replacement: string
  readonly status: string
  readonly location: { readonly start: Position; readonly end: Position }
}

/** Both begin with 1. */
interface Position {
  readonly line: number
  readonly column: number
}

/** A change of the code. No number of a line names it: other lines may come before it. */
export interface Mutant {
  readonly file: string
  /** The line that it begins in, without white space around it. */
  readonly line: string
  /** The text that is changed, up to the end of that line. */
  readonly from: string
  readonly to: string
}

export interface Judged extends Mutant {
  /** Whether a test has failed or did not end. */
  readonly killed: boolean
  readonly isOutOfTime: boolean
}

/** The mutants that could run. */
export function mutantsOf({ files }: Report): Judged[] {
  return Object.entries(files).flatMap(([file, { source, mutants }]) => {
    const lines = source.split('\n')
    return mutants
      .filter(({ status }) => ['Killed', 'Timeout', 'Survived', 'NoCoverage'].includes(status))
      .map(({ replacement, status, location: { start, end } }) => {
        const line = lines[start.line - 1] ?? ''
        const until = end.line === start.line ? end.column - 1 : line.length
        return {
          ...{ file, line: line.trim(), from: line.slice(start.column - 1, until), to: replacement },
          killed: status === 'Killed' || status === 'Timeout',
          isOutOfTime: status === 'Timeout',
        }
      })
  })
}

/** Two mutants of the same text in equal lines are one. */
export function keyOf({ file, line, from, to }: Mutant): string {
  return JSON.stringify([file, line, from, to])
}

export interface Verdict {
  readonly figures: { readonly mutants: number; readonly killed: number; readonly named: number }
  /** The mutants that survived, and are not named. */
  readonly others: readonly Mutant[]
  /** The named mutants that were killed or are not there. */
  readonly gone: readonly Mutant[]
  /** Percent that were killed, named survivors not counted. */
  readonly share: number
  readonly passes: boolean
}

/** @param named mutants that no test can kill */
export function verdictOf(mutants: readonly Judged[], named: readonly Mutant[], least: number): Verdict {
  const survived = mutants.filter(({ killed }) => !killed)
  const others = without(survived, named)
  // On a busy machine a mutant may run out of time that would survive.
  const gone = without(
    named,
    mutants.filter(({ killed, isOutOfTime }) => !killed || isOutOfTime),
  )
  const killed = mutants.length - survived.length
  const share = (100 * killed) / (killed + others.length)
  return {
    figures: { mutants: mutants.length, killed, named: survived.length - others.length },
    ...{ others, gone, share, passes: share >= least && gone.length === 0 },
  }
}

/** Those of the first that are not among the others. */
function without<T extends Mutant>(some: readonly T[], others: readonly Mutant[]): readonly T[] {
  const keys = new Set(others.map(keyOf))
  return some.filter((each) => !keys.has(keyOf(each)))
}
