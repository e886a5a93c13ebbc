/** Bodies that are refused: to say what is wrong with them costs others nothing, however often it is wrong. */
import { expect, test } from 'vitest'
import type { Bodies } from '../support/attack/poster.ts'
import { scenario } from '../support/attack/scenario.ts'
import { attackedSidecar, posting } from '../support/attack/scene.ts'

const scene = await attackedSidecar()

test.each<Bodies['of']>(['one key again and again', 'keys of which the last one repeats', 'numbers'])(
  '40 logins of 114 kB with %s are refused, and hold up nobody',
  async (of) => {
    const name = `40 logins of 114 kB in flight: ${of}`
    const { outcome } = await scenario(scene, name, posting({ inFlight: 40, of }))
    expect(Object.keys(outcome)).toEqual(['400'])
  },
)
