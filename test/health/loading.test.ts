/**
 * Health and metrics cost nothing in a sidecar that has none, or whose metrics no client asks for: nothing of
 * them is loaded. A health listener counts what it refuses.
 */
import { testLoading } from '../support/processes/loaded.ts'

const PARTS =
  /node_modules\/(prom-client|@opentelemetry)\/|sidecar\/(?:signals\/(health)\/|(?:signals\/metrics\/|usecases\/|base\/)(collector|meters|decision-meters)\.)/

testLoading(PARTS, [
  ['neither', {}, []],
  ['a health listener', { health: { address: '127.0.0.1:0', metrics: false } }, ['health', 'meters']],
  [
    'metrics that no client has asked for',
    { health: { address: '127.0.0.1:0' } },
    ['collector', 'decision-meters'],
  ],
])
