/** What a suite of benchmarks is, and what it hands back. */
import type { Ratio } from './compare.ts'

/** `full` gives figures; `smoke` only shows, in a few seconds, that everything still runs. */
export type Size = 'full' | 'smoke'

export interface Suite {
  /** As the command line and the results file name it. */
  readonly name: string
  /** `peers`: measures foreign software beside ours, which is installed on the first run (bench/peers). */
  readonly needs?: 'peers'
  /** Runs it whole. Rejects where an answer is wrong: speed of wrong answers is of no interest. */
  readonly run: (size: Size) => Promise<SuiteReport>
}

export interface SuiteReport {
  readonly rows: readonly Row[]
  /** Rows that could not be measured here, because foreign software cannot be had. */
  readonly skipped?: readonly Skipped[]
  /** How many answers were compared with what they should be, before anything was measured. */
  readonly answersChecked: number
}

/** A row that was not measured, and the reason. */
export interface Skipped {
  /** Id of the row. */
  readonly row: string
  readonly why: string
}

/** One figure, alone or beside what it is compared with. */
export interface Row {
  /** Names the row for gates and over time. */
  readonly id: string
  readonly what: string
  readonly a: Figure
  readonly b?: Figure
  /** A in terms of B. */
  readonly ratio?: Ratio
  /** How it was measured, in a sentence or two. */
  readonly method: string
}

export interface Figure {
  readonly name: string
  /** Median of the samples. */
  readonly value: number
  readonly unit: Unit
  /** The same as a rate, several at once, where that is not simply the inverse that anyone can see. */
  readonly perSecond?: number
}

export type Unit = 'ns' | 'µs' | 'ms' | 'µs CPU' | 'ms CPU' | 'bytes' | '×'
