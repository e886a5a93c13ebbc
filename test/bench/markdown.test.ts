/** The Markdown of the docs, from given results: the ten rows that matter. */
import { expect, test } from 'vitest'
import type { Latency, Row } from '../../bench/harness/suite.ts'
import type { BenchDocs } from '../../bench/report/data.ts'
import { COSTS, HEADLINES } from '../../bench/report/headlines.ts'
import { headlineBlock } from '../../bench/report/markdown.ts'
import { EXPECTED } from './expected.ts'

const OURS: Latency = { p50Microseconds: 850.4, p99Microseconds: 4_123, calls: 100, inFlight: 128 }
const THEIRS: Latency = { p50Microseconds: 700, p99Microseconds: 3_000, calls: 100, inFlight: 128 }

const CLAIMS: Row = {
  id: 'check-claims',
  what: 'Check of claims',
  a: { name: 'Check of claims', value: 34.9, unit: 'µs CPU', perSecond: 24_000, latency: OURS },
  b: { name: 'constant', value: 29, unit: 'µs CPU', perSecond: 30_000, latency: THEIRS },
  ratio: { median: 1.222, p10: 1, p90: 2, pairs: 3 },
  method: '',
}
const DECIDE: Row = {
  id: 'decide',
  what: 'decide, 90 cells',
  a: { name: 'decide', value: 17.9, unit: 'ns' },
  b: { name: 'two Map.get', value: 11.3, unit: 'ns' },
  ratio: { median: 1.58, p10: 1.4, p90: 1.7, pairs: 3 },
  method: '',
}
const UNIMPORTANT: Row = { ...CLAIMS, id: 'check-stream' }

function docs(...suites: readonly (readonly [suite: string, rows: readonly Row[]])[]): BenchDocs {
  const made = { date: '2026-11-21T10:00:00.000Z', node: '24.21.0', cpu: '2 × a processor' }
  return {
    command: 'npm run bench',
    suites: suites.map(([suite, rows]) => ({ ...made, suite, rows, answersChecked: 1, skipped: [] })),
  }
}

/** The same row as an earlier version wrote it. */
function withoutLatency({ a, b, ...row }: Row): Row {
  const { latency: _a, ...figureOfA } = a
  if (b === undefined) return { ...row, a: figureOfA }
  const { latency: _b, ...figureOfB } = b
  return { ...row, a: figureOfA, b: figureOfB }
}

test('there are a dozen rows that matter at most, each once and of a suite that produces it', () => {
  expect(HEADLINES.length).toBeLessThanOrEqual(12)
  expect(new Set(HEADLINES.map(({ suite, row }) => `${suite}/${row}`)).size).toBe(HEADLINES.length)
  for (const { suite, row } of HEADLINES) expect(EXPECTED.get(suite)?.compared, row).toContain(row)
})

test('the sentence of the README compares rows that matter, which its link shows first', () => {
  for (const { suite, row } of Object.values(COSTS))
    expect(HEADLINES.map((headline) => `${headline.suite}/${headline.row}`)).toContain(`${suite}/${row}`)
})

test('suites with calls have a latency', () => {
  const withoutCalls = HEADLINES.filter(({ suite, row }) => !EXPECTED.get(suite)?.timed?.includes(row))
  expect(withoutCalls.map(({ row }) => row)).toEqual(['decide'])
})

test('the rows show ratio, figure, p50 and p99 in their own order, and how all of it was measured', () => {
  const block = headlineBlock(docs(['sidecar', [UNIMPORTANT, CLAIMS]], ['engine', [DECIDE]]))
  expect(block.split('\n').slice(0, 5)).toEqual([
    '| what | compared with | ratio | p50 | p99 | in flight |',
    '|---|---|---|---|---|---|',
    '| a decision in your process (`decide`): 17.9 ns | two Map.get: 11.3 ns | 1.58 × |  |  |  |',
    '| `Check` of claims, under load: 34.9 µs CPU (24,000/s) | constant: 29 µs CPU (30,000/s) | 1.22 × | 850 µs / 700 µs | 4.12 ms / 3 ms | 128 |',
    '',
  ])
  expect(block).toContain('`npm run bench`, 2026-11-21, Node 24.21.0 on 2 × a processor.')
  expect(block).toContain('The loop is closed')
})

test('results without latency are shown without it', () => {
  const old = docs(['sidecar', [withoutLatency(CLAIMS)]])
  expect(headlineBlock(old)).toContain('| 1.22 × |  |  |  |')
})

test.each([
  { what: 'no suite', empty: docs() },
  { what: 'a suite without rows', empty: docs(['engine', []]) },
  { what: 'no row that matters', empty: docs(['engine', [alone('deny')]]) },
])('there is no block where there is $what', ({ empty }) => {
  expect(headlineBlock(empty)).toBe('')
})

function alone(id: string): Row {
  return { id, what: id, a: { name: id, value: 14, unit: 'ns' }, method: '' }
}
