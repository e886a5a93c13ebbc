/**
 * What health and metrics cost a sidecar that has none, or that is never asked for metrics: nothing of it is
 * loaded. A health listener counts what it refuses.
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
