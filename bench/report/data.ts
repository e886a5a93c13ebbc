/** The content of the results files. */
import type { Figures, Skipped } from '../harness/suite.ts'

/**
 * The results of one run of a suite. It holds figures only, no bounds: a page that shows the figures takes
 * the current bounds from gates.ts. Results of earlier versions have no latency.
 */
export interface SuiteResults {
  readonly suite: string
  /** ISO 8601, in UTC. */
  readonly date: string
  /** Version of Node. */
  readonly node: string
  readonly cpu: string
  readonly answersChecked: number
  readonly rows: readonly Figures[]
  /** Rows that could not be measured on that machine, with the reason. */
  readonly skipped: readonly Skipped[]
}

/** The content of `docs/bench.json`: the latest results of every suite. */
export interface BenchDocs {
  /** The command that made the results. */
  readonly command: string
  readonly suites: readonly SuiteResults[]
}
