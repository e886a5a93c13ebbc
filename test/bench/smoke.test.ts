/**
 * Runs the suites of benchmarks at a tiny size, so that they keep working. Suites that need foreign software
 * run with the interoperability tests. Times are not judged here: `npm run bench` does that. The allocations
 * of a decision do not drift, so that is held to its bound.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { gateOf, gates, unmeasured, verdictOf } from '../../bench/gates.ts'
import { median, ratioOf } from '../../bench/harness/compare.ts'
import type { Row, SuiteReport } from '../../bench/harness/suite.ts'
import { reportText } from '../../bench/report/table.ts'
import { suites } from '../../bench/suites/index.ts'
import { EXPECTED, runAtSmokeSize } from './expected.ts'
import { benchHere } from './here.ts'

test('the expected rows of every suite are listed, and every gate belongs to a suite', () => {
  const names = suites.map((suite) => suite.name)
  expect(names).toEqual([...EXPECTED.keys()])
  for (const gate of gates) expect(names).toContain(gate.suite)
})

/** Suites about processes, and those that take seconds: test/nightly/bench/smoke.test.ts has them. */
const NIGHTLY = ['fleet', 'start', 'clients', 'growth', 'signals']
const here = suites.filter(({ name, needs }) => needs === undefined && !NIGHTLY.includes(name))

describe('in this process', () => {
  beforeAll(benchHere)
  afterAll(() => vi.restoreAllMocks())

  test.each(here)('the $name suite runs, checks its answers and produces its rows', async (suite) => {
    const skipped = (await runAtSmokeSize(suite)).map(({ row }) => row)
    const { optional = [] } = EXPECTED.get(suite.name) ?? {}
    expect(skipped.filter((row) => !optional.includes(row))).toEqual([])
  })
})

const BOUND = gates.find(({ row }) => row === 'grpc-js-claims')?.bound ?? 0

test.each([
  { median: BOUND, p10: 1, verdict: 'ok' },
  { median: BOUND + 0.01, p10: BOUND, verdict: 'unclear' },
  { median: BOUND + 0.1, p10: BOUND + 0.01, verdict: 'over' },
  { median: Number.NaN, p10: Number.NaN, verdict: 'over' },
])(
  `$median, and $p10 at the 10th percentile, against a bound of ${BOUND}: $verdict`,
  ({ verdict, ...ratio }) => {
    const row: Row = {
      id: 'grpc-js-claims',
      what: '',
      a: { name: '', value: 1, unit: 'ns' },
      ratio: { ...ratio, p90: 2, pairs: 9 },
      method: '',
    }
    expect(verdictOf(gateOf('transport', row), row)).toBe(verdict)
    expect(verdictOf(gateOf('engine', row), row)).toBe('not gated')
    // The figure of A has no spread.
    const memory = { ...row, id: 'memory' }
    expect(verdictOf(gateOf('growth', memory), memory)).toBe('ok')
  },
)

test('a row without its figure fails', () => {
  const row: Row = { id: 'grpc-js-claims', what: '', a: { name: '', value: 1, unit: 'ns' }, method: '' }
  expect(verdictOf(gateOf('transport', row), row)).toBe('over')
  const memory: Row = { ...row, id: 'memory', a: { ...row.a, value: Number.NaN } }
  expect(verdictOf(gateOf('growth', memory), memory)).toBe('over')
})

test('the ratio is the median over the pairs, not the ratio of the medians', () => {
  // The machine was ten times slower during the second pair.
  expect(ratioOf([2, 20, 2], [1, 10, 4])).toMatchObject({ median: 2, pairs: 3 })
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(() => ratioOf([1, 2], [1])).toThrow(TypeError)
})

test('a gated row that was skipped is reported as skipped, and one that is missing counts as over its bound', () => {
  const report: SuiteReport = {
    rows: [],
    skipped: [{ row: 'cerbos-cpu', why: 'not available for this platform' }],
    answersChecked: 0,
  }
  expect(unmeasured('servers', report)).toEqual([
    ...[
      'opa-cpu',
      'cerbos-time',
      'json-cerbos-cpu',
      'json-opa-cpu',
      'authorize-cerbos-cpu',
      'authorize-opa-cpu',
    ],
  ])
  expect(reportText('servers', report, 'full')).toContain(
    'skipped: cerbos-cpu:\n    not available for this platform',
  )
})
