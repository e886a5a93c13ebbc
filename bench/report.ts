/** A suite's report as a table for people. */
import { columns } from '../sidecar/base/text-table.ts'
import { gateOf, verdictOf } from './gates.ts'
import { cpuModel } from './results.ts'
import type { Row, Size, SuiteReport } from './suite.ts'
import { figureText, number } from './text.ts'

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
