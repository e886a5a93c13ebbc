/**
 * The last change of a shared directory that this process knows of. A server that does not have it went back
 * in time: it was promoted before the change had reached it, or restored. Numbers alone do not show that.
 * PostgreSQL skips some at a failover, and the next changes are soon beyond the last one that was lost.
 */

import type { FeedRecord } from './feed/touches.ts'

/** The last change: its number and its time, as `change`. */
export const LAST_CHANGE_KNOWN = `SELECT sequence || ' ' || at_ms AS change FROM audit ORDER BY sequence DESC LIMIT 1`

/**
 * Whether the change $3 of the time $4 is missing. It is not missing if a restoration has ended the tokens of
 * that time, or if it was moved to the archive.
 */
const LOST = `(
  NOT EXISTS (SELECT 1 FROM audit WHERE sequence = $3 AND at_ms = $4)
  AND NOT EXISTS (SELECT 1 FROM restorations WHERE after_change < $3 AND change > $3)
  AND NOT EXISTS (SELECT 1 FROM audit
                  WHERE sequence > $3 AND action = 'audit.archive' AND (details::json ->> 'through')::bigint >= $3))`

export class LastChange {
  #sequence = 0
  #atMs = 0

  /** @param change as of `LAST_CHANGE_KNOWN`; anything else is ignored: there is none yet */
  noteText(change: unknown): void {
    const [, sequence, atMs] = /^(\d+) (\d+)$/.exec(String(change)) ?? []
    if (sequence !== undefined) this.note({ sequence: Number(sequence), atMs: Number(atMs) })
  }

  note({ sequence, atMs }: Pick<FeedRecord, 'sequence' | 'atMs'>): void {
    if (sequence <= this.#sequence) return
    this.#sequence = sequence
    this.#atMs = atMs
  }

  /** SQL that says whether the server has lost changes, with parameters from $3 on. */
  get changesLost(): string {
    return this.#sequence === 0 ? 'false' : LOST
  }

  get parameters(): readonly number[] {
    return this.#sequence === 0 ? [] : [this.#sequence, this.#atMs]
  }
}
