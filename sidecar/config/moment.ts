/** Moments that an operator writes into the configuration. */
import { isIsoDate } from '../base/day.ts'
import { ConfigError } from './config.ts'

/** Without a time zone it would mean another moment on another host. */
const COMPLETE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)$/

/**
 * Milliseconds since the epoch; `undefined`: the key is not set.
 *
 * @throws ConfigError that names the key
 */
export function momentOf(key: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = COMPLETE.test(text) && isIsoDate(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms))
    throw new ConfigError(`${key}: expected a time with its zone, for example 2027-01-31T00:00:00Z`)
  return ms
}
