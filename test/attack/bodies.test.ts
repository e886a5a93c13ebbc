/** Bodies that are refused: to say what is wrong with them costs others nothing, however often it is wrong. */
import { expect, test } from 'vitest'
import type { Bodies } from '../support/attack/poster.ts'
import { scenario } from '../support/attack/scenario.ts'
import { attackedSidecar, posting } from '../support/attack/scene.ts'

const scene = await attackedSidecar()

test.each<[name: string, of: Bodies['of']]>([
  ['40 logins of 114 kB in flight, with one key again and again', 'one key again and again'],
  ['40 logins of 114 kB in flight, whose last key repeats', 'keys of which the last one repeats'],
  ['40 logins of 114 kB in flight, with numbers alone', 'numbers'],
])('%s are refused, and hold up nobody', async (name, of) => {
  const { outcome } = await scenario(scene, name, posting({ inFlight: 40, of }))
  expect(Object.keys(outcome)).toEqual(['400'])
})
