/**
 * The last change of a shared directory that this host knows of. A server that does not have it went back in
 * time: it was promoted before the change had reached it, or restored. Numbers alone do not show that.
 * PostgreSQL skips some at a failover, and the next changes are soon beyond the last one that was lost.
 */
import type { Parameters } from './database.ts'
import type { Position } from './feed/touches.ts'
import { isObject } from './rows.ts'

/** The last change: its number and its time, as `change`. */
export const LAST_CHANGE_KNOWN = `SELECT sequence || ' ' || at_ms AS change FROM audit ORDER BY sequence DESC LIMIT 1`

/** @param change as of `LAST_CHANGE_KNOWN`; any other value means that there is none yet */
export function lastChangeOf(change: unknown): Position | undefined {
  const [, sequence, atMs] = /^(\d+) (\d+)$/.exec(String(change)) ?? []
  return sequence === undefined ? undefined : { sequence: Number(sequence), atMs: Number(atMs) }
}

/**
 * Whether the change of a number and a time is there, for `isThere`. It counts as there if a restoration has
 * ended the tokens of that time, or if it was moved to the archive.
 */
export function presenceOf(sequence: string, atMs: string): string {
  return `CASE
    WHEN EXISTS (SELECT 1 FROM audit WHERE sequence = ${sequence} AND at_ms = ${atMs}) THEN '${THERE}'
    WHEN EXISTS (SELECT 1 FROM restorations WHERE after_change < ${sequence} AND change > ${sequence}) THEN '${THERE}'
    ELSE (SELECT details FROM audit WHERE sequence > ${sequence} AND action = 'audit.archive' ORDER BY sequence DESC LIMIT 1)
  END`
}

/** The same with a position as parameters by name, as `presence`. */
export function presenceQuery({ sequence, atMs }: Position): [query: string, parameters: Parameters] {
  return [`SELECT ${presenceOf(':sequence', ':at_ms')} AS presence`, { sequence, at_ms: atMs }]
}

/** The answer of `presenceOf` where the change is there. */
export const THERE = 'there'

/** @param presence as of `presenceOf` */
export function isThere(presence: unknown, { sequence }: Position): boolean {
  if (presence === THERE) return true
  if (typeof presence !== 'string') return false
  const details: unknown = JSON.parse(presence)
  return isObject(details) && Number(details.through) >= sequence
}
