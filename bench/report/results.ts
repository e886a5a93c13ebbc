/**
 * Reads and writes the results: JSON and a chart for each suite in `bench/results/`, and for the docs in
 * `docs/`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../harness/paths.ts'
import type { Figures, Suite, SuiteReport } from '../harness/suite.ts'
import { overviewChart, suiteChart } from './chart.ts'
import type { BenchDocs, SuiteResults } from './data.ts'
import { cpuModel, linesOf } from './text.ts'

/** The command that makes all results. */
const COMMAND = 'npm run bench'

/** The results of `npm run sizing`, which come after those of the suites. */
export const SIZING = 'sizing'

const RESULTS = join(ROOT, 'bench', 'results')
const DOCS = join(ROOT, 'docs')

/** The report of a suite, with when and on what it ran. */
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

/** Writes `bench/results/<suite>.json` and its chart. @returns their paths */
export function writeResults(results: SuiteResults): string[] {
  return writePair(RESULTS, results.suite, JSON.stringify(results, null, 2), suiteChart(results, COMMAND))
}

/** The latest results of these suites. Suites without results are left out. */
function readResults(suites: readonly Pick<Suite, 'name'>[]): SuiteResults[] {
  return suites
    .map(({ name }) => join(RESULTS, `${name}.json`))
    .filter((path) => existsSync(path))
    .map((path) => JSON.parse(readFileSync(path, 'utf8')) as SuiteResults)
    .map(({ rows, ...results }) => ({ ...results, rows: rows.map(figuresOnly) }))
}

/**
 * The pages' figures: not how they were measured, and not the bounds of their day in files of early versions.
 */
function figuresOnly({ id, what, a, b, ratio }: Figures): Figures {
  return { id, what, a, ...(b && { b }), ...(ratio && { ratio }) }
}

/** More digits than a page shows. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(9)) : value
}

/**
 * Writes the latest results of these suites to `docs/bench.json` and `docs/bench.svg`. Those of the others
 * stay.
 *
 * @param names of all suites, in their order
 * @returns the paths
 */
export function writeDocs(names: readonly string[], measured: readonly Pick<Suite, 'name'>[]): string[] {
  const all = [...readDocs().suites, ...readResults(measured)]
  const suites = [...names, SIZING].flatMap((name) => all.findLast(({ suite }) => suite === name) ?? [])
  const docs: BenchDocs = { command: COMMAND, suites }
  const json = `{"command":${JSON.stringify(COMMAND)},"suites":${linesOf(suites, rounded)}}`
  return writePair(DOCS, 'bench', json, docsChart(docs))
}

/** The content of `docs/bench.json`. If the file is missing, there are no suites. */
export function readDocs(): BenchDocs {
  const path = join(DOCS, 'bench.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { command: COMMAND, suites: [] }
}

/** The chart of `docs/bench.svg`: these figures with the current bounds. */
export function docsChart({ suites, command }: BenchDocs): string {
  return overviewChart(suites, command)
}

function writePair(folder: string, name: string, content: string, svg: string): string[] {
  mkdirSync(folder, { recursive: true })
  const [json, chart] = [join(folder, `${name}.json`), join(folder, `${name}.svg`)]
  writeFileSync(json, `${content}\n`)
  writeFileSync(chart, svg)
  return [json, chart]
}
