/**
 * No history of a simulated fleet breaks a promise, in 20 short seeds. `npm run simulate` runs more of them,
 * and longer ones.
 */
import { expect, onTestFinished, test } from 'vitest'
import { KEPT } from './kept.ts'
import type { Outcome } from './outcome.ts'
import { Runner } from './runner.ts'

const STEPS = 120
/** Of each of two processes. Seed 8, of a directory file, comes after one with PostgreSQL, and first. */
const SEEDS = [
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  [8, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20],
] as const
const TWICE = 8

function newRunner(): Runner {
  const runner = new Runner()
  onTestFinished(() => runner.close())
  return runner
}

test('no promise is broken, and a seed makes the same history each time, whatever was run before', {
  timeout: 600_000,
}, async () => {
  const [some, others] = await Promise.all(
    SEEDS.map(async (seeds) => {
      const runner = newRunner()
      const outcomes: Outcome[] = []
      for (const seed of seeds) outcomes.push(await runner.run({ seed, steps: STEPS }))
      return outcomes
    }),
  )
  const outcomes = [...(some ?? []), ...(others ?? [])]
  expect(outcomes.filter(({ broken }) => broken !== undefined)).toEqual([])
  // The search is worth nothing where little is allowed, denied or changed, or nothing goes wrong.
  for (const [name, least] of [
    ['allowed', 25],
    ['denied', 15],
    ['acknowledged', 3],
    ['used', 1],
    ['faults', 1],
  ] as const) {
    const sum = outcomes.reduce((all, { found }) => all + Number(found?.[name]), 0)
    expect([name, sum / outcomes.length > least]).toEqual([name, true])
  }
  const [once, again] = outcomes.filter(({ seed }) => seed === TWICE)
  expect(once).toMatchObject({ found: { history: expect.stringMatching(/^[0-9a-f]{64}$/) } })
  expect(again).toEqual(once)
})

test.each(KEPT)('a found defect is no longer there: seed $seed', async (run) => {
  expect((await newRunner().run(run)).broken).toBeUndefined()
})
