/**
 * Times as people read them. `now` is the clock of the sidecar, so a wrong clock of this machine shows
 * nothing wrong.
 */

export interface TimeWords {
  readonly language: string
  readonly now: string
}

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, ms: number])[] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** “5 minutes ago”, “in 3 hours”. */
export function distanceOf(ms: number, nowMs: number, { language, now }: TimeWords): string {
  const away = ms - nowMs
  const [unit, length] = UNITS.find(([, each]) => Math.abs(away) >= each) ?? []
  if (unit === undefined || length === undefined) return now
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(Math.trunc(away / length), unit)
}

/** “22 Nov 2026, 17:05”, in the reader's time zone. @param timeZone that of the browser where absent */
export function momentOf(ms: number, language: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(ms)
}

/** “22 Nov 2026”, of an ISO date, which is a day everywhere. */
export function dayOf(isoDate: string, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(isoDate))
}

/** A time of the contract in milliseconds. */
export function msOf(moment: Date | undefined): number | undefined {
  return moment?.getTime()
}
