/** Opens what counts, where metrics are on. */

import type { Config } from '../../config/config.ts'
import type { Collector } from '../../signals/metrics/collector.ts'

/** Whether there is a reader of metrics. */
export function hasMetrics({ health }: Pick<Config, 'health'>): boolean {
  return health.metrics && health.address !== 'off'
}

/** @returns undefined: metrics are off, and nothing is loaded for them */
export async function openMetrics(on: boolean): Promise<Collector | undefined> {
  return on ? new (await import('../../signals/metrics/collector.ts')).Collector() : undefined
}
