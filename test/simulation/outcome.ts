/** The runs and their results: the lines between the search and the processes that run seeds. */
import type { Findings } from './simulation.ts'

/** Steps of a seed where nothing else is said: some seconds of the fleet. */
export const STEPS = 800

/** Within this many seeds each known defect is found. */
export const DEFECT_SEEDS = 500

export interface Run {
  readonly seed: number
  readonly steps: number
  /** Steps in which nothing is done. */
  readonly skipped?: readonly number[]
  /** Whether each event is reported on standard error. */
  readonly narrates?: boolean
}

export interface Outcome {
  readonly seed: number
  /** Where all promises were kept. */
  readonly found?: Findings
  /** The promise that was broken, after how many steps. */
  readonly broken?: { readonly what: string; readonly steps: number }
}
