/** Results as files: of each suite JSON and a chart in `bench/results/`, and what the README shows of them in `docs/`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { overviewChart, suiteChart } from './chart.ts'
import { type Gate, gateOf, type Verdict, verdictOf } from './gates.ts'
import type { Row, Skipped, SuiteReport } from './suite.ts'

/** What one run of a suite found, and where. */
export interface SuiteResults {
  readonly suite: string
  /** ISO 8601, in UTC. */
  readonly date: string
  /** Version of Node. */
  readonly node: string
  readonly cpu: string
  readonly answersChecked: number
  readonly rows: readonly JudgedRow[]
  /** Rows that could not be measured here, with the reason. */
  readonly skipped: readonly Skipped[]
}

export interface JudgedRow extends Row {
  readonly gate?: Gate
  readonly verdict: Verdict
}

/** What `docs/bench.json` holds: the latest results of every suite that was run. */
export interface BenchDocs {
  readonly command: string
  readonly suites: readonly SuiteResults[]
}

/** The command that makes all of it. */
export const COMMAND = 'npm run bench'

const ROOT = join(import.meta.dirname, '..')
const RESULTS = join(ROOT, 'bench', 'results')
const DOCS = join(ROOT, 'docs')

export function resultsOf(suite: string, report: SuiteReport): SuiteResults {
  return {
    suite,
    date: new Date().toISOString(),
    node: process.versions.node,
    cpu: cpuModel(),
    answersChecked: report.answersChecked,
    skipped: report.skipped ?? [],
    rows: report.rows.map((row) => judged(suite, row)),
  }
}

function judged(suite: string, row: Row): JudgedRow {
  const gate = gateOf(suite, row)
  return { ...row, ...(gate && { gate }), verdict: verdictOf(gate, row) }
}

/** Writes `bench/results/<suite>.json` and its chart, and returns their paths. */
export function writeResults(results: SuiteResults): string[] {
  return writePair(RESULTS, results.suite, results, suiteChart(results, COMMAND))
}

/** The latest results of these suites, in this order, by the bounds of today; a suite that was never run is left out. */
export function readResults(suites: readonly string[]): SuiteResults[] {
  return suites
    .map((suite) => join(RESULTS, `${suite}.json`))
    .filter((path) => existsSync(path))
    .map((path) => JSON.parse(readFileSync(path, 'utf8')) as SuiteResults)
    .map(({ suite, rows, ...results }) => ({
      suite,
      ...results,
      // A bound that was taken away since must not stay.
      rows: rows.map(({ gate: _gate, ...row }) => judged(suite, row)),
    }))
}

/** Writes `docs/bench.json` and `docs/bench.svg`, and returns their paths. */
export function writeDocs(suites: readonly SuiteResults[]): string[] {
  const docs: BenchDocs = { command: COMMAND, suites }
  return writePair(DOCS, 'bench', docs, overviewChart(suites, COMMAND))
}

export function cpuModel(): string {
  const [first] = cpus()
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}`
}

function writePair(folder: string, name: string, value: object, svg: string): string[] {
  mkdirSync(folder, { recursive: true })
  const [json, chart] = [join(folder, `${name}.json`), join(folder, `${name}.svg`)]
  writeFileSync(json, `${JSON.stringify(value, null, 2)}\n`)
  writeFileSync(chart, svg)
  return [json, chart]
}
