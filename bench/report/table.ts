/** A suite's report as text for the terminal. */
import { gateOf, verdictOf } from '../gates.ts'
import { LATENCY_METHOD } from '../harness/latency.ts'
import type { Figure, Row, Size, SuiteReport } from '../harness/suite.ts'
import { columns, cpuModel, durationText, figureText, number } from './text.ts'

/**
 * Makes the table of the rows, the table of the latencies, and below them how each row was measured. At smoke
 * size nothing is judged, because the figures mean nothing.
 */
export function reportText(suite: string, report: SuiteReport, size: Size): string {
  const judged = size === 'full'
  const heading = ['what', 'A', 'B', 'median A / B', 'p10–p90', ...(judged ? ['bound', ''] : [])]
  const lines = report.rows.map((row) => [...rowCells(row), ...(judged ? judgement(suite, row) : [])])
  return [
    `${suite}: ${report.answersChecked} answers checked; Node ${process.versions.node}, ${cpuModel()}`,
    columns([heading, ...lines]),
    ...latencyTable(report.rows),
    [...methodLines(report), ...skippedLines(report)].join('\n'),
  ]
    .map((part) => `${part}\n`)
    .join('\n')
}

/** How long the calls took, for the rows that are about calls, and how that is measured. */
function latencyTable(rows: readonly Row[]): string[] {
  const timed = rows.filter(({ a }) => a.latency !== undefined)
  if (timed.length === 0) return []
  const heading = ['latency of a call', 'p50', 'p99', 'in flight', 'calls', 'B', 'p50', 'p99']
  const lines = timed.map(({ what, a, b }) => [
    ...[what, ...percentiles(a)],
    ...[String(a.latency?.inFlight), a.latency?.calls.toLocaleString('en') ?? ''],
    ...(b?.latency === undefined ? [] : [b.name, ...percentiles(b)]),
  ])
  return [columns([heading, ...lines]), `  ${LATENCY_METHOD}`]
}

function percentiles({ latency }: Figure): string[] {
  if (latency === undefined) return []
  return [durationText(latency.p50Microseconds), durationText(latency.p99Microseconds)]
}

function methodLines({ rows }: SuiteReport): string[] {
  return [...Map.groupBy(rows, (row) => row.method)].map(
    ([method, alike]) => `  ${alike.map((row) => row.what).join('; ')}:\n    ${method}`,
  )
}

function skippedLines({ skipped = [] }: SuiteReport): string[] {
  return [...Map.groupBy(skipped, ({ why }) => why)].map(
    ([why, rows]) => `  skipped: ${rows.map(({ row }) => row).join(', ')}:\n    ${why}`,
  )
}

function rowCells(row: Row): string[] {
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
