/**
 * What health and metrics cost a sidecar that has none, or that is never asked for metrics: nothing of it
 * is loaded.
 */
import { expect, test } from 'vitest'
import { loadedBy } from '../support/processes/loaded.ts'

const PARTS =
  /node_modules\/(prom-client|@opentelemetry)\/|sidecar\/(?:signals\/(health)\/|(?:signals\/metrics\/|usecases\/|base\/)(collector|meters)\.)/

test.each<[claim: string, health: object, loaded: string[]]>([
  ['neither', {}, []],
  ['a health listener', { address: '127.0.0.1:0', metrics: false }, ['health']],
  ['metrics that no client has asked for', { address: '127.0.0.1:0' }, ['collector', 'health', 'meters']],
])('a sidecar with %s loads only what it needs', async (_claim, health, loaded) => {
  expect(await loadedBy({ health }, PARTS)).toEqual(loaded)
})
