/**
 * The effect of the machine on the measured times without an attack. The figures of all attacks are to be
 * read beside these: under attack the sidecar and the attacker are as busy as the two programs here.
 */
import { test } from 'vitest'
import { attackedSidecar, computing } from '../support/attack/attack-scene.ts'
import { scenario } from '../support/attack/scenario.ts'

test('two programs that compute cause no refusal', async () => {
  await scenario(await attackedSidecar(), 'no attack, and two programs compute', computing())
})
