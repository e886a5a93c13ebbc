/**
 * No process allows for longer than the staleness bound what the directory has ended, and none allows what it
 * knows to be ended, whatever happens to questions, answers and notifications. `HISTORIES_STEPS` makes more
 * steps than here, and `HISTORIES_SEED` repeats a run.
 */
import { expect, test } from 'vitest'
import { World } from './world.ts'

const { HISTORIES_STEPS = '20000', HISTORIES_SEED = '1' } = process.env
const STEPS = Number(HISTORIES_STEPS)
/** A run of its own for so many steps: a process that lives long has forgotten how it began. */
const STEPS_OF_A_RUN = 20_000

const seeds = Array.from(
  { length: Math.ceil(STEPS / STEPS_OF_A_RUN) },
  (_, index) => Number(HISTORIES_SEED) + index,
)

test.each(seeds)(
  'no process allows what it must not: seed %d',
  async (seed) => {
    const found = await new World(seed).run(Math.min(STEPS, STEPS_OF_A_RUN))
    // The search is worth nothing where little is allowed, changed or remembered.
    expect(found.allowed).toBeGreaterThan(STEPS_OF_A_RUN / 50)
    expect(found.changes).toBeGreaterThan(STEPS_OF_A_RUN / 50)
    expect(found.asked).toBeLessThan((found.allowed + found.denied) * 0.95)
  },
  0,
)
