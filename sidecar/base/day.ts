/** Days (UTC), as numbers since the epoch. */

const DAY_MS = 86_400_000

/** The day of a time. @param ms milliseconds since the epoch */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

/** Whether there is such a day: `Date.parse` takes the 30th of February for the 2nd of March. */
export function isIsoDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(ms) && isoDate(dayOf(ms)) === text
}

/** A day as ISO 8601 writes it: `2026-11-22`. */
export function isoDate(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}
