/** The printed report of a suite: figures, bounds, latencies and how they were measured. */
import { expect, test } from 'vitest'
import { gateOf } from '../../bench/gates.ts'
import type { Row, SuiteReport } from '../../bench/harness/suite.ts'
import { reportText } from '../../bench/report/table.ts'

const LATENCY = { p50Microseconds: 850, p99Microseconds: 4_100, calls: 15_000, inFlight: 128 }
const CLAIMS: Row = {
  id: 'grpc-js-claims',
  what: 'Check of claims',
  a: { name: 'Check of claims', value: 34.9, unit: 'µs CPU', latency: LATENCY },
  b: { name: 'constant', value: 29, unit: 'µs CPU', latency: { ...LATENCY, p50Microseconds: 700 } },
  ratio: { median: 1.22, p10: 1.1, p90: 1.5, pairs: 15 },
  method: 'how it was measured',
}
const MEMORY: Row = {
  id: 'x',
  what: 'memory',
  a: { name: 'x', value: 100, unit: 'bytes' },
  method: 'otherwise',
}

/** The lines of the text, with one space between cells. */
function linesOf(...rows: Row[]): string[] {
  const report: SuiteReport = { rows, answersChecked: 90 }
  return reportText('transport', report, 'full')
    .split('\n')
    .map((line) => line.replaceAll(/ {2,}/g, ' '))
}

test('a row is printed with its figures, ratio, spread, bound, verdict and method', () => {
  const lines = linesOf(CLAIMS, MEMORY)
  const { bound } = gateOf('transport', CLAIMS) ?? {}
  expect(lines).toContain(
    `Check of claims 34.9 µs CPU 29 µs CPU (constant) 1.22 (15 pairs) 1.1–1.5 ≤ ${bound} ok`,
  )
  expect(lines).toContain('memory 100 bytes')
  for (const method of [' how it was measured', ' otherwise']) expect(lines).toContain(method)
})

test('the latency of calls has a separate table, with both sides and how it is measured', () => {
  const lines = linesOf(CLAIMS, MEMORY)
  const heading = lines.indexOf('latency of a call p50 p99 in flight calls B p50 p99')
  expect(lines.slice(heading + 1, heading + 3)).toEqual([
    'Check of claims 850 µs 4.1 ms 128 15,000 constant 700 µs 4.1 ms',
    '',
  ])
  expect(lines[heading + 3]).toMatch(/^ The latency of a call runs from .* The loop is closed/)
})

test('a suite without calls has no table of latencies', () => {
  expect(linesOf(MEMORY).join('\n')).not.toMatch(/latency|p50/)
})
