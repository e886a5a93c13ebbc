/**
 * Longest time that another server can ask us to wait, in milliseconds: its mistake must not stop us for
 * days.
 */
const RETRY_AFTER_MS_MAX = 300_000

/** The value of `Retry-After`, in milliseconds: seconds, or a date by the clock of the server. */
export function retryAfterMs(headers: Readonly<Record<string, unknown>>): number | undefined {
  const value = headers['retry-after']
  if (typeof value !== 'string') return undefined
  const date = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - date
  return Number.isNaN(ms) ? undefined : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms))
}
