/** The operations that are counted: their groups, their repetitions, and the known values. */

/**
 * Each group is counted in a separate process, all its operations one after the other: earlier code decides
 * how V8 compiles later code. So a new operation comes last.
 */
export const GROUPS = ['engine', 'calls'] as const
export type Group = (typeof GROUPS)[number]

/** `full` counts. `smoke` only shows that everything runs. */
export type Size = 'full' | 'smoke'

export interface Effort {
  /** Calls before anything is counted, so that V8 has compiled what it will: more of what is short. */
  readonly warmUpCalls: Readonly<Record<Group, number>>
  /** Calls that are counted; and then twice as many. */
  readonly calls: number
  readonly rounds: number
}

export const EFFORTS: Readonly<Record<Size, Effort>> = {
  full: { warmUpCalls: { engine: 20_000, calls: 12_000 }, calls: 300, rounds: 5 },
  smoke: { warmUpCalls: { engine: 100, calls: 100 }, calls: 10, rounds: 1 },
}

/** An operation that was repeated. */
export interface Repeated {
  readonly id: string
  readonly what: string
  /** By how many calls the two counts of a round differ. */
  readonly calls: number
  readonly rounds: number
}

/** The instructions of an operation. */
export interface Counted {
  readonly id: string
  readonly what: string
  /** Median of the rounds. */
  readonly instructions: number
  /** The spread of the rounds, the highest and the lowest left out, as a part of the median. */
  readonly spread: number
}
