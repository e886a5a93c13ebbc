/**
 * Damaged frames at a real sidecar: bits flipped, lengths that lie, frames twice, cut, in another order, of
 * another type or stream. `test/support/interop/soak.ts` does the same for as long as one likes.
 */
import { expect, test } from 'vitest'
import { soak } from '../../support/interop/soak.ts'

const FRAMES = 100_000

/** How much memory may grow beyond a factor: garbage that is not collected yet. */
const GROWTH_MB_MAX = 96
const GROWTH_FACTOR_MAX = 1.3

test(`${FRAMES} frames, and another client is answered all the time`, async () => {
  const result = await soak({ frames: FRAMES, seed: 20_261_122 })
  process.stderr.write(`interop: soak: ${JSON.stringify(result)}\n`)
  expect(result.wrong).toEqual([])
  expect(result.frames).toBeGreaterThanOrEqual(FRAMES)
  expect(result.answers).toBeGreaterThan(0)
  // Damage was noticed, and not by the end of the process.
  expect(Object.keys(result.endings).length).toBeGreaterThan(2)
  expect(result.afterMb).toBeLessThan(result.beforeMb * GROWTH_FACTOR_MAX + GROWTH_MB_MAX)
})
