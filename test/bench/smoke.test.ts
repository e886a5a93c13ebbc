/**
 * Runs every suite of benchmarks at a tiny size, so that none rots. Times are printed by `npm run bench` and judged
 * nowhere here; what a decision allocates does not drift, so that is held to its bound.
 */
import { expect, test } from 'vitest'
import { median, ratioOf } from '../../bench/compare.ts'
import { gateOf, gates, unmeasured, verdictOf } from '../../bench/gates.ts'
import { reportText } from '../../bench/report.ts'
import type { Row } from '../../bench/suite.ts'
import { suites } from '../../bench/suites.ts'

/** Suite → the rows that it has to produce, and how many answers it has to check first. */
const EXPECTED = new Map([
  [
    'engine',
    {
      // Every cell, without and with a target.
      answersChecked: 90 + 90,
      compared: ['decide'],
      alone: [
        'decide-with-target',
        'deny',
        'extract',
        'compile',
        'decide-allocation',
        'decide-with-target-allocation',
        'deny-allocation',
        'copy-allocation',
      ],
    },
  ],
  [
    'sidecar',
    {
      // Every cell as claims, as a credential, and on a stream; and a batch of 100.
      answersChecked: 90 + 90 + 90 + 100,
      compared: [
        'check-claims',
        'check-iam-token',
        'check-iam-token-claims',
        'check-static-token',
        'check-batch',
        'check-stream',
      ],
      alone: [],
    },
  ],
  ['tokens', { answersChecked: 1, compared: ['unseen-token'], alone: [] }],
  ['issue', { answersChecked: 4, compared: ['issue', 'issue-http'], alone: [] }],
  [
    'growth',
    {
      // Every cell at 30 and 100 APIs, and at 5 kinds; and a token made here.
      answersChecked: (30 + 100) * 3 + 30 * 5 + 1,
      compared: [
        'decide-30-apis',
        'decide-100-apis',
        'slowdown-apis',
        'decide-5-kinds',
        'slowdown-kinds',
        'compile-large',
        'remembered-tokens',
        'many-tokens',
      ],
      alone: ['compiled-memory', 'remembered-memory', 'memory'],
    },
  ],
  [
    'start',
    {
      // As in the sidecar suite.
      answersChecked: 90 + 90 + 90 + 100,
      compared: ['ready', 'ready-dev', 'idle-memory', 'used-memory'],
      alone: [],
    },
  ],
  [
    'workers',
    {
      // As for the sidecar, with one process and with two.
      answersChecked: 2 * (90 + 90 + 90 + 100),
      compared: ['claims-cpu', 'claims-clock'],
      alone: [],
    },
  ],
])

test('every suite is expected here, and every gate speaks of one of them', () => {
  const names = suites.map((suite) => suite.name)
  expect(names).toEqual([...EXPECTED.keys()])
  for (const gate of gates) expect(names).toContain(gate.suite)
})

test.each(suites)('the $name suite runs, checks its answers and produces its rows', async ({ name, run }) => {
  const report = await run('smoke')
  const { rows, answersChecked } = report
  const expected = EXPECTED.get(name)
  expect(answersChecked).toBe(expected?.answersChecked)
  expect(rows.filter((row) => row.ratio).map((row) => row.id)).toEqual(expected?.compared)
  expect(rows.filter((row) => !row.ratio).map((row) => row.id)).toEqual(expected?.alone)
  for (const { a, b, method } of rows) {
    expect(a.value).toBeGreaterThanOrEqual(0)
    expect(b?.value ?? 1).toBeGreaterThan(0)
    expect(method).not.toBe('')
  }
  expect(unmeasured(name, report)).toEqual([])
  expect(reportText(name, report, 'smoke')).toContain(`${name}: ${answersChecked} answers checked`)

  for (const row of rows.filter(({ id }) => id.endsWith('-allocation'))) {
    if (row.id === 'copy-allocation') expect(row.a.value).toBeGreaterThan(8)
    else expect(row.a.value, row.id).toBeLessThan(0.01)
  }
})

test.each([
  { value: 1.4, verdict: 'ok' },
  { value: 1.41, verdict: 'over' },
  { value: Number.NaN, verdict: 'over' },
])('a ratio of $value against a bound of 1.4 is $verdict', ({ value, verdict }) => {
  const row: Row = {
    id: 'check-claims',
    what: '',
    a: { name: '', value: 1, unit: 'ns' },
    ratio: { median: value, p10: value, p90: value, pairs: 1 },
    method: '',
  }
  expect(verdictOf(gateOf('sidecar', row), row)).toBe(verdict)
  expect(verdictOf(gateOf('engine', row), row)).toBe('not gated')
})

test('the ratio is the median over the pairs, not the ratio of the medians', () => {
  // The machine was ten times slower during the second pair.
  expect(ratioOf([2, 20, 2], [1, 10, 4])).toMatchObject({ median: 2, pairs: 3 })
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(() => ratioOf([1, 2], [1])).toThrow(TypeError)
})
