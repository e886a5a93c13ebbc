/** Opens the health listener, where it is configured. */
import { parseAddress } from './base/address.ts'
import type { Config } from './config/config.ts'
import type { HealthServer, HealthSource } from './health/server.ts'

/** @throws Error that names the key and what was expected */
export function checkHealthAddress({ health: { address } }: Config): void {
  if (address !== 'off') parseAddress('health.address', address, 'unix:PATH, or off')
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
  const { startHealthServer } = await import('./health/server.ts')
  return startHealthServer(source, address)
}
