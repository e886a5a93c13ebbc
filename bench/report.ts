/** A suite's report as a table for people, and as JSON for comparing over time. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { columns } from '../sidecar/columns.ts'
import { gateOf, verdictOf } from './gates.ts'
import type { Figure, Row, Size, SuiteReport } from './suite.ts'

const RESULTS = join(import.meta.dirname, 'results')

/** The table, and under it how each row was measured. At smoke size nothing is judged: the figures mean nothing. */
export function reportText(suite: string, report: SuiteReport, size: Size): string {
  const judged = size === 'full'
  const heading = ['what', 'A', 'B', 'median A / B', 'p10–p90', ...(judged ? ['bound', ''] : [])]
  const lines = report.rows.map((row) => [...tableLine(row), ...(judged ? judgement(suite, row) : [])])
  const methods = [...Map.groupBy(report.rows, (row) => row.method)].map(
    ([method, rows]) => `  ${rows.map((row) => row.what).join('; ')}:\n    ${method}`,
  )
  return `${suite}: ${report.answersChecked} answers checked; Node ${process.versions.node}, ${cpuModel()}

${columns([heading, ...lines])}

${[...methods, ...skippedLines(report)].join('\n')}
`
}

/** Writes `bench/results/<suite>.json` and returns its path. */
export function writeResults(suite: string, report: SuiteReport): string {
  mkdirSync(RESULTS, { recursive: true })
  const path = join(RESULTS, `${suite}.json`)
  const results = {
    suite,
    date: new Date().toISOString(),
    node: process.versions.node,
    cpu: cpuModel(),
    answersChecked: report.answersChecked,
    skipped: report.skipped ?? [],
    rows: report.rows.map((row) => {
      const gate = gateOf(suite, row)
      return { ...row, ...(gate && { gate }), verdict: verdictOf(gate, row) }
    }),
  }
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)
  return path
}

function skippedLines({ skipped = [] }: SuiteReport): string[] {
  return [...Map.groupBy(skipped, ({ why }) => why)].map(
    ([why, rows]) => `  skipped: ${rows.map(({ row }) => row).join(', ')}:\n    ${why}`,
  )
}

function tableLine(row: Row): string[] {
  const { ratio } = row
  return [
    row.what,
    figureText(row.a),
    row.b === undefined ? '' : `${figureText(row.b)} (${row.b.name})`,
    ratio === undefined ? '' : `${number(ratio.median)} (${ratio.pairs} pairs)`,
    ratio === undefined ? '' : `${number(ratio.p10)}–${number(ratio.p90)}`,
  ]
}

function judgement(suite: string, row: Row): string[] {
  const gate = gateOf(suite, row)
  return gate === undefined ? [] : [`≤ ${gate.bound}`, verdictOf(gate, row)]
}

function figureText({ value, unit }: Figure): string {
  return `${number(value)} ${unit}`
}

/** Three digits that count; more than that is noise. */
function number(value: number): string {
  return Math.abs(value) < 0.000005 ? '0' : String(Number(value.toPrecision(3)))
}

function cpuModel(): string {
  const [first] = cpus()
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}`
}
