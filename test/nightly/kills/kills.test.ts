/** Processes that are killed at points spread over what they do. In earnest: `npm run kills`. */
import { expect, test } from 'vitest'
import { kill } from '../../kills/rounds.ts'
import { killUpgrades } from '../../kills/upgrades.ts'

const KILLS = Number(process.env.KILLS ?? 40)

test('every change that was acknowledged before a kill is there, whole and with its records, and no other is', {
  timeout: 0,
}, async () => {
  const { kills, acknowledged } = await kill({ kills: KILLS, seed: 7, jobs: 1 })
  expect(kills).toBe(KILLS)
  expect(acknowledged).toBeGreaterThan(KILLS)
})

test('an upgrade that was killed has changed nothing or all, and the next one ends it', {
  timeout: 0,
}, async () => {
  const { points } = await killUpgrades({ kills: KILLS, seed: 7 })
  expect(points).toBe(KILLS)
})
