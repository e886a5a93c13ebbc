/** The flame graph of a real sidecar. */
import { expect, test } from 'vitest'
import { ORIGINS, sharesByOrigin } from '../../../bench/profile/calls.ts'
import { profileSidecar } from '../../../bench/profile/drive.ts'

test('a sidecar runs under the profiler, and the shares of its time add up to the whole', async () => {
  const { tree, decisions } = await profileSidecar({ calls: 50, batches: 2 }, 'sockets')
  expect(decisions).toBe(2 * 50 + 2 * 100)
  expect(tree.totalMicroseconds).toBeGreaterThan(0)
  const shares = sharesByOrigin(tree)
  expect(ORIGINS.reduce((sum, origin) => sum + shares[origin], 0)).toBeCloseTo(1)
})
