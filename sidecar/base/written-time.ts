/** Times that others write, in requests, answers of upstreams and files. All have one range. */
import { isIsoDate } from './day.ts'

/** The last millisecond of the year 9999, where RFC 3339 and `google.protobuf.Timestamp` end. */
export const TIME_MS_MAX = 253_402_300_799_999

/** The range of times, for messages: completes `a time`. */
export const TIME_RANGE = 'between the years 1970 and 9999'

/** A time to the microsecond. The microseconds since 1970 are more than a number can hold from 2255 on. */
export interface WrittenTime {
  /** Milliseconds since the epoch. */
  readonly ms: number
  /** The microseconds beyond the millisecond. */
  readonly us: number
}

const WRITTEN = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/

/**
 * A time of ISO 8601 in the range. Parts of a microsecond are dropped.
 *
 * @param zone where the text has none: it would mean another time on another host
 * @returns `undefined`: it is not such a time
 */
export function readTime(text: unknown, zone?: 'Z'): WrittenTime | undefined {
  const [, day, clock, fraction = '', written = zone] = WRITTEN.exec(String(text)) ?? []
  if (typeof text !== 'string' || day === undefined || written === undefined || !isIsoDate(day)) return
  const digits = fraction.padEnd(6, '0')
  const ms = Date.parse(`${day}${clock}${written}`) + Number(digits.slice(0, 3))
  return isTimeMs(ms) ? { ms, us: Number(digits.slice(3, 6)) } : undefined
}

/** Whether it is a time in the range, in milliseconds since the epoch. */
export function isTimeMs(ms: number): boolean {
  return ms >= 0 && ms <= TIME_MS_MAX
}
