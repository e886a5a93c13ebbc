/** The simulation finds every known defect, and says how little of a run is needed to see one. */
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { DEFECT_SEEDS, STEPS } from '../simulation/outcome.ts'
import { firstBroken, Runner, shrunk } from '../simulation/runner.ts'
import { defectsOf } from '../world/defects.ts'

test.each(defectsOf('simulated'))('$name', async ({ name }) => {
  const { broken } = await firstBroken({
    ...{ from: 1, seeds: DEFECT_SEEDS, steps: STEPS, jobs: availableParallelism(), defect: name },
  })
  expect(broken?.broken?.what).toBeTypeOf('string')
})

test('a run that breaks a promise is shrunk, and breaks it still', async () => {
  const name = 'another worker does not hear a notification'
  const search = { from: 1, seeds: DEFECT_SEEDS, steps: STEPS, jobs: availableParallelism(), defect: name }
  const { broken } = await firstBroken(search)
  const runner = new Runner(name)
  try {
    const run = { seed: broken?.seed ?? 0, steps: broken?.broken?.steps ?? 0 }
    const least = await shrunk(runner, run, 30)
    const skipped = new Set(least.skipped)
    const needed = Array.from({ length: least.steps }, (_, step) => step).filter((step) => !skipped.has(step))
    expect(needed.length).toBeLessThan(run.steps / 2)
    expect((await runner.run(least)).broken).toBeDefined()
  } finally {
    runner.close()
  }
})
