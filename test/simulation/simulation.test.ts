/**
 * No history of a simulated fleet breaks a promise, in 200 short seeds. `npm run simulate` runs more of them,
 * and longer ones.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DEFECTS, withDefect } from './defects.ts'
import { KEPT } from './kept.ts'
import { firstBroken, Runner } from './runner.ts'

const SEEDS = 200
const STEPS = 120
/** Of two processors, so that other tests go on beside it. */
const JOBS = 2

function newRunner(): Runner {
  const runner = new Runner()
  onTestFinished(() => runner.close())
  return runner
}

test('no promise is broken', { timeout: 600_000 }, async () => {
  const { broken, count, found } = await firstBroken({ from: 1, seeds: SEEDS, steps: STEPS, jobs: JOBS })
  expect(broken).toBeUndefined()
  expect(count).toBe(SEEDS)
  // The search is worth nothing where little is allowed, denied or changed, or nothing goes wrong.
  for (const [name, least] of [
    ['allowed', 25],
    ['denied', 15],
    ['acknowledged', 3],
    ['used', 1],
    ['faults', 1],
  ] as const)
    expect([name, (found[name] ?? 0) / SEEDS > least]).toEqual([name, true])
})

// That of a directory file, after one with PostgreSQL.
test('a seed makes the same history each time, whatever was run before', async () => {
  const runs = await Promise.all(
    [[8], [5, 8]].map(async (seeds) => {
      const runner = newRunner()
      let last: unknown
      for (const seed of seeds) last = await runner.run({ seed, steps: STEPS })
      return last
    }),
  )
  expect(runs[0]).toMatchObject({ seed: 8, found: { history: expect.stringMatching(/^[0-9a-f]{64}$/) } })
  expect(runs[1]).toEqual(runs[0])
})

test.each(KEPT)('what was found is not there any more: seed $seed', async (run) => {
  expect((await newRunner().run(run)).broken).toBeUndefined()
})

describe('known defects', () => {
  test('there are twenty or more, each with a name of its own', () => {
    expect(new Set(DEFECTS.map(({ name }) => name)).size).toBe(DEFECTS.length)
    expect(DEFECTS.length).toBeGreaterThanOrEqual(20)
  })

  test.each(DEFECTS)('$name: its place is in the code', (defect) => {
    const source = readFileSync(fileURLToPath(new URL(`../../${defect.file}`, import.meta.url)), 'utf8')
    expect(withDefect(defect, source)).not.toBe(source)
  })
})
