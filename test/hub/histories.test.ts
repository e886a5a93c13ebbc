/**
 * A sidecar that follows hubs allows nothing for longer than the bound of its hub after the directory has
 * ended it, whatever happens to streams, questions and hubs. `HISTORIES_STEPS` makes more steps than here,
 * and `HISTORIES_SEED` repeats a run.
 */
import { expect, test } from 'vitest'
import { FleetWorld } from './fleet-world.ts'

const { HISTORIES_STEPS = '100000', HISTORIES_SEED = '1' } = process.env
const STEPS = Number(HISTORIES_STEPS)
const STEPS_OF_A_RUN = 20_000

const seeds = Array.from(
  { length: Math.ceil(STEPS / STEPS_OF_A_RUN) },
  (_, index) => Number(HISTORIES_SEED) + index,
)

test.each(seeds)(
  'no follower allows what it must not: seed %d',
  async (seed) => {
    const found = await new FleetWorld(seed).run(Math.min(STEPS, STEPS_OF_A_RUN))
    // The search is worth nothing where little is allowed, changed, lost or remembered.
    expect(found.allowed).toBeGreaterThan(STEPS_OF_A_RUN / 50)
    expect(found.denied).toBeGreaterThan(STEPS_OF_A_RUN / 50)
    expect(found.changes).toBeGreaterThan(STEPS_OF_A_RUN / 50)
    expect(found.streams).toBeGreaterThan(STEPS_OF_A_RUN / 500)
    expect(found.wrongHubs).toBeGreaterThan(0)
    expect(found.lost).toBeGreaterThan(0)
    expect(found.asked).toBeLessThan((found.allowed + found.denied) * 0.97)
  },
  0,
)
