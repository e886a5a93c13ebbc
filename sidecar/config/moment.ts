/** Moments that an operator writes into the configuration. */
import { ConfigError } from './config.ts'

/** Without a time zone it would mean another moment on another host. */
const COMPLETE = /^\d{4}-\d\d-(\d\d)T\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)$/

/**
 * Milliseconds since the epoch; `undefined`: the key is not set.
 *
 * @throws ConfigError that names the key
 */
export function momentOf(key: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, day] = COMPLETE.exec(text) ?? []
  const ms = day === undefined ? Number.NaN : Date.parse(text)
  // `Date` takes 30 February for 2 March.
  const dayMeant = new Date(Date.parse(`${text.slice(0, 10)}T00:00:00Z`)).getUTCDate()
  if (Number.isNaN(ms) || dayMeant !== Number(day))
    throw new ConfigError(`${key}: expected a time with its zone, for example 2027-01-31T00:00:00Z`)
  return ms
}
