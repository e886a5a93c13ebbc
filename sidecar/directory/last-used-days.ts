/** Writes down on which day static tokens were last used. */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Queries } from './database.ts'

/** Tokens of one statement. All statements have as many places, so that the database keeps one. */
const TOKENS_AT_ONCE = 200

const RAISE = `
  UPDATE static_tokens SET last_used_day = :day
  WHERE id IN (${Array.from({ length: TOKENS_AT_ONCE }, (_, index) => `:id_${index}`).join(', ')})
    AND (last_used_day IS NULL OR last_used_day < :day)`

/**
 * Raises the days of these tokens. A later day stays: another process wrote it.
 *
 * @param days since the epoch, by the ids of the tokens
 */
export async function raiseLastUsedDays(queries: Queries, days: ReadonlyMap<string, number>): Promise<void> {
  const byDay = Map.groupBy(days, ([, day]) => day)
  for (const [day, tokens] of byDay) {
    // In the same order in all processes, so that they do not wait for one another in a circle.
    const sorted = tokens.map(([id]) => id).sort()
    for (let start = 0; start < sorted.length; start += TOKENS_AT_ONCE) {
      const ids = sorted.slice(start, start + TOKENS_AT_ONCE)
      await queries.all(RAISE, { day, ...placesOf(ids) })
      // A statement on a file blocks this process for some milliseconds.
      await otherWork()
    }
  }
}

/** Where there are fewer tokens, the first one takes the other places too. */
function placesOf(ids: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from({ length: TOKENS_AT_ONCE }, (_, index) => [`id_${index}`, ids[index] ?? ids[0] ?? '']),
  )
}
