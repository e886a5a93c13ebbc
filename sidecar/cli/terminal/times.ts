/** Times as options take them. */
import { isIsoDate } from '../../base/day.ts'
import { isTimeMs } from '../../base/written-time.ts'
import { usageError } from './errors.ts'

/** For descriptions of options. */
export const TIME_HINT = '2026-11-22, 2026-11-22T10:00Z, or 2d ago as 2d; UTC where no zone is given'

const WRITTEN = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?)?(?<zone>Z|[+-]\d\d:\d\d)?$/
const AGO = /^(\d{1,6})(s|m|h|d|w)$/

const UNITS_MS: Readonly<Record<string, number>> = {
  ...{ s: 1_000, m: 60_000, h: 3_600_000 },
  ...{ d: 86_400_000, w: 604_800_000 },
}

/**
 * Reads a time, in UTC where it has no zone; a day, which is its beginning; or how long ago it was: seconds,
 * minutes, hours, days or weeks.
 *
 * @param option its name, for the error
 */
export function timeFor(option: string, now: () => number = Date.now): (text: string) => Date {
  return (text) => {
    const [, count, unit = ''] = AGO.exec(text) ?? []
    const agoMs = now() - Number(count) * (UNITS_MS[unit] as number)
    if (isTimeMs(agoMs)) return new Date(agoMs)
    const found = WRITTEN.exec(text)
    const hasClock = found?.[1] !== undefined
    // Without a zone, Node would take the one of this process.
    const time = new Date(hasClock && found?.groups?.zone === undefined ? `${text}Z` : text)
    const isDay = isIsoDate(text.slice(0, 10)) && (hasClock || found?.groups?.zone === undefined)
    if (found === null || !isDay || !isTimeMs(time.getTime()))
      throw usageError(
        `${option}: expected a day, a time such as 2026-11-22T10:00:00Z, or how long ago, such as 2d`,
      )
    return time
  }
}
