/** Moments that an operator writes into the configuration. */
import { readTime, TIME_RANGE } from '../base/written-time.ts'
import { ConfigError } from './config.ts'

/**
 * Milliseconds since the epoch; `undefined`: the key is not set.
 *
 * @throws ConfigError that names the key
 */
export function momentOf(key: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = readTime(text)
  if (time === undefined)
    throw new ConfigError(
      `${key}: expected a time with its zone ${TIME_RANGE}, for example 2027-01-31T00:00:00Z`,
    )
  return time.ms
}
