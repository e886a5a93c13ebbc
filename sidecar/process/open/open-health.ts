/** Opens the health listener, where it is configured. */
import type { Logger } from 'pino'
import { parseAddress } from '../../base/address.ts'
import type { Health } from '../../base/health.ts'
import type { Config } from '../../config/config.ts'
import type { HealthServer } from '../../signals/health/health-server.ts'
import type { HealthSource } from '../../signals/health/source.ts'
import type { Collector } from '../../signals/metrics/collector.ts'

/** @throws Error that names the key and the expected value */
export function checkHealthAddress({ health: { address } }: Config): void {
  if (address !== 'off') parseAddress('health.address', address, 'unix:PATH, or off')
}

/** The content of a single process's listener. */
export function sourceOf(health: Health, metrics: Collector | undefined, log: Logger): HealthSource {
  return {
    log,
    get state() {
      return health.state
    },
    metrics: metrics && (async () => metrics.read()),
  }
}

/**
 * @returns undefined: it is off, and nothing is loaded for it
 * @throws Error if the address is in use, or cannot be bound
 */
export async function openHealth(
  { health: { address } }: Config,
  source: HealthSource,
): Promise<HealthServer | undefined> {
  if (address === 'off') return undefined
  const { startHealthServer } = await import('../../signals/health/health-server.ts')
  return startHealthServer(source, address)
}
