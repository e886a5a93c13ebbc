/** A suite of benchmarks, and its report. */
import type { Ratio } from './compare.ts'

/** `full` gives figures. `smoke` takes a few seconds and only shows that everything still runs. */
export type Size = 'full' | 'smoke'

export interface Suite {
  /** The name on the command line and of the results file. */
  readonly name: string
  /**
   * Software that `npm test` does not have. `peers`: the suite measures foreign software beside ours, which
   * the first run installs (bench/peers). `browser`: Chromium; its rows are skipped without it.
   */
  readonly needs?: 'peers' | 'browser'
  /** Runs the whole suite. Rejects if an answer is wrong: the speed of wrong answers means nothing. */
  readonly run: (size: Size) => Promise<SuiteReport>
}

export interface SuiteReport {
  readonly rows: readonly Row[]
  /** Rows that could not be measured on this machine because foreign software is missing. */
  readonly skipped?: readonly Skipped[]
  /** How many answers were compared with the expected ones before the measurement. */
  readonly answersChecked: number
}

/** A row that was not measured, and the reason. */
export interface Skipped {
  /** Id of the row. */
  readonly row: string
  readonly why: string
}

/** One figure, alone or with what it is compared with. */
export interface Figures {
  /** Stable name of the row. Gates and the docs refer to it. */
  readonly id: string
  readonly what: string
  readonly a: Figure
  readonly b?: Figure
  /** A divided by B. */
  readonly ratio?: Ratio
}

export interface Row extends Figures {
  /** How it was measured, in a few sentences. */
  readonly method: string
}

export interface Figure {
  readonly name: string
  /** Median of the samples. */
  readonly value: number
  readonly unit: Unit
  /** Calls or decisions a second. Absent where the value alone says it. */
  readonly perSecond?: number
  /**
   * How long a call takes. Absent where the figure is not about calls, and in results of earlier versions.
   */
  readonly latency?: Latency
}

/** Empty: a number of things. */
export type Unit = '' | 'ns' | 'µs' | 'ms' | 'µs CPU' | 'ms CPU' | 'bytes' | 'queries' | 'allocations' | '×'

/** How long the calls of all samples took, each by itself (`LATENCY_METHOD` of latency.ts). */
export interface Latency {
  /** Half of the calls were faster. */
  readonly p50Microseconds: number
  /** 99 calls in 100 were faster. */
  readonly p99Microseconds: number
  readonly calls: number
  /** How many calls were in flight at once. */
  readonly inFlight: number
}
