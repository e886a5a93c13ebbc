/** All suites of benchmarks at smoke size as they run in earnest: each server in a separate process. */
import { expect, test } from 'vitest'
import { suites } from '../../../bench/suites/index.ts'
import { EXPECTED, runAtSmokeSize } from '../../bench/expected.ts'

const withoutPeers = suites.filter(({ needs }) => needs === undefined)

test.each(withoutPeers)('the $name suite runs, checks its answers and produces its rows', async (suite) => {
  const skipped = (await runAtSmokeSize(suite)).map(({ row }) => row)
  const { optional = [] } = EXPECTED.get(suite.name) ?? {}
  expect(skipped.filter((row) => !optional.includes(row))).toEqual([])
})
