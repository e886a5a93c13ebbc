/** The part of the configuration that lets every request of a proxy pass, and what it says to people. */
import { type Config, ConfigError } from './config.ts'
import { momentOf } from './moment.ts'

/** Every request that a proxy asks about passes, whatever is decided. */
export interface ObservedProxies {
  /** When that ends, in milliseconds since the epoch; `undefined`: never. */
  readonly untilMs: number | undefined
}

/** @returns undefined: requests that are denied do not pass @throws ConfigError */
export function observedProxiesOf({
  proxies: { mode, observe_until: until },
}: Pick<Config, 'proxies'>): ObservedProxies | undefined {
  const untilMs = momentOf('proxies.observe_until', until)
  if (mode === 'observe') return { untilMs }
  if (untilMs !== undefined)
    throw new ConfigError(
      'proxies.observe_until: expected `proxies.mode: observe` beside it, because nothing else ends then',
    )
  return undefined
}

/** `until 2027-01-31T00:00:00.000Z`, or `without an end`. */
export function endOf({ untilMs }: ObservedProxies): string {
  return untilMs === undefined ? 'without an end' : `until ${new Date(untilMs).toISOString()}`
}

/** Whether it has ended. It was valid once, so a later start is not an error. */
export function isOver({ untilMs }: ObservedProxies, nowMs: number): boolean {
  return untilMs !== undefined && nowMs >= untilMs
}
