/**
 * Checks whose bytes cost more to read than an ordinary one: their sender waits, and a neighbour does not.
 */
import { expect, test } from 'vitest'
import { attackedSidecar } from '../support/attack/attack-scene.ts'
import { scenario } from '../support/attack/scenario.ts'

const scene = await attackedSidecar()

test.each([
  ['checks of 3.5 MB on four connections', 'message'],
  ['compressed checks of 3.5 MB on four connections', 'compressed message'],
  ['checks with 12 kB of metadata in Huffman’s code on four connections', 'metadata'],
] as const)('%s do not block others', async (name, long) => {
  const { outcome } = await scenario(scene, name, { type: 'checks', connections: 4, inFlight: 8, long })
  expect(Object.values(outcome).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(10)
})
