/** The gate: a suite with a row over its bound runs again, and a row that exceeds it both times fails. */
import { expect, test } from 'vitest'
import { gates } from '../../bench/gates.ts'
import type { Row, Suite, SuiteReport } from '../../bench/harness/suite.ts'
import { judge } from '../../bench/judge.ts'

// Two gated rows of one suite, with bounds between 1 and 9.
const IDS = ['grpc-js-claims', 'grpc-js-iam-token'] as const
const OTHERS = gates
  .filter(({ suite, row }) => suite === 'transport' && !IDS.some((id) => id === row))
  .map(({ row }) => rowOf(row, 0))
const GOOD = [1, 1]

test.each([
  { what: 'nothing over', runs: [GOOD], confirm: true, over: [] },
  { what: 'over once', runs: [[9, 1], GOOD], confirm: true, over: [] },
  {
    what: 'over twice',
    runs: [
      [9, 1],
      [9, 1],
    ],
    confirm: true,
    over: ['grpc-js-claims'],
  },
  {
    what: 'first one, then the other',
    runs: [
      [9, 1],
      [1, 9],
    ],
    confirm: true,
    over: [],
  },
  {
    what: 'a row that stays over beside one that does not',
    runs: [
      [9, 9],
      [1, 9],
    ],
    confirm: true,
    over: ['grpc-js-iam-token'],
  },
  {
    what: 'a row that is missing both times',
    runs: [[1], [1]],
    confirm: true,
    over: ['grpc-js-iam-token'],
  },
  { what: 'over once, without a second run', runs: [[9, 1]], confirm: false, over: ['grpc-js-claims'] },
])('$what', async ({ runs, confirm, over }) => {
  const reports: SuiteReport[] = []
  const suite: Suite = { name: 'transport', run: async () => reportOf(runs[reports.length] ?? []) }
  expect(await judge(suite, confirm, (report) => reports.push(report))).toEqual(over)
  expect(reports).toEqual(runs.map(reportOf))
})

function reportOf(ratios: readonly number[]): SuiteReport {
  const rows = ratios.map((median, index) => rowOf(IDS[index] as string, median))
  return { rows: [...rows, ...OTHERS], answersChecked: 0 }
}

function rowOf(id: string, median: number): Row {
  return {
    id,
    what: '',
    a: { name: '', value: 1, unit: 'ns' },
    ratio: { median, p10: median, p90: median, pairs: 1 },
    method: '',
  }
}
