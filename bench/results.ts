/** Results as files: of each suite JSON and a chart in `bench/results/`, and what the README shows of them in `docs/`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { overviewChart, suiteChart } from './chart.ts'
import type { Row, Skipped, SuiteReport } from './suite.ts'

/** What one run of a suite found, and where: figures alone. Whoever shows them takes the bounds of today (gates.ts). */
export interface SuiteResults {
  readonly suite: string
  /** ISO 8601, in UTC. */
  readonly date: string
  /** Version of Node. */
  readonly node: string
  readonly cpu: string
  readonly answersChecked: number
  readonly rows: readonly Row[]
  /** Rows that could not be measured here, with the reason. */
  readonly skipped: readonly Skipped[]
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
    rows: report.rows,
  }
}

/** Writes `bench/results/<suite>.json` and its chart, and returns their paths. */
export function writeResults(results: SuiteResults): string[] {
  return writePair(RESULTS, results.suite, results, suiteChart(results, COMMAND))
}

/** The latest results of these suites, in this order; a suite that was never run is left out. */
export function readResults(suites: readonly string[]): SuiteResults[] {
  return suites
    .map((suite) => join(RESULTS, `${suite}.json`))
    .filter((path) => existsSync(path))
    .map((path) => JSON.parse(readFileSync(path, 'utf8')) as SuiteResults)
    .map(({ rows, ...results }) => ({ ...results, rows: rows.map(figuresAlone) }))
}

/** Files of earlier runs hold the bounds of their day too. */
function figuresAlone({ id, what, a, b, ratio, method }: Row): Row {
  return { id, what, a, ...(b && { b }), ...(ratio && { ratio }), method }
}

/** Writes `docs/bench.json` and `docs/bench.svg`, and returns their paths. */
export function writeDocs(suites: readonly SuiteResults[]): string[] {
  const docs: BenchDocs = { command: COMMAND, suites }
  return writePair(DOCS, 'bench', docs, docsChart(docs))
}

/** What `docs/bench.json` holds; nothing where it is not there. */
export function readDocs(): BenchDocs {
  const path = join(DOCS, 'bench.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { command: COMMAND, suites: [] }
}

/** What `docs/bench.svg` shows: these figures with the bounds of today. */
export function docsChart({ suites, command }: BenchDocs): string {
  return overviewChart(suites, command)
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
