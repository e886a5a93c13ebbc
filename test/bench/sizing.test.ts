/** The command that measures sizes runs, at a tiny size, and its page shows every figure. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { sizingBlock } from '../../bench/report/markdown.ts'
import { resultsOf, SIZING } from '../../bench/report/results.ts'
import { measureSize, SIZING_ROWS } from '../../bench/sizing.ts'
import { benchHere } from './here.ts'

beforeAll(benchHere)
afterAll(() => vi.restoreAllMocks())

test('a directory is made, served, backed up, restored and measured', async () => {
  const turns = { afterMs: 0, removalMs: 0, calls: 1 }
  const sized = await measureSize({ rows: 30, tokens: 5, changes: 2, logins: 1, turns })
  const ids = Object.keys(SIZING_ROWS).map((id) => `${id}-30`)
  const figures = sized.rows.map(({ id }) => id)
  expect([...figures, ...sized.skipped.map(({ row }) => row)]).toEqual(ids)
  for (const { a } of sized.rows) expect(a.value).toBeGreaterThan(0)

  const report = { ...sized, answersChecked: 0 }
  const lines = sizingBlock({ command: '', suites: [resultsOf(SIZING, report)] }).split('\n')
  expect(lines[0]).toBe('| | 30 rows |')
  expect(lines.filter((line) => line.startsWith('| '))).toHaveLength(1 + figures.length)
})
