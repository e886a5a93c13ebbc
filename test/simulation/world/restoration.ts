/** The records that a restoration writes into a directory. */
import { DatabaseSync } from 'node:sqlite'
import { PASSING_TABLES } from '../../../sidecar/directory/schema.ts'

/**
 * Does to a backup what `restore --replace --end-tokens` does before it is installed. Returns the last change
 * that the backup has.
 */
export function prepareRestoration(file: string, lastChange: number, nowMs: number): number {
  const database = new DatabaseSync(file)
  const last = database.prepare('SELECT MAX(sequence) AS last FROM audit').get()?.last
  const change = Math.max(nowMs, lastChange + 1)
  for (const table of PASSING_TABLES) database.exec(`DELETE FROM ${table}`)
  database.exec(restorationOf(change, nowMs))
  database.close()
  return Number(last)
}

/** All tokens end that were issued before a change. */
export function restorationOf(change: number, nowMs: number): string {
  return `INSERT INTO audit (sequence, at_ms, actor, action, account, subject, details)
            VALUES (${change}, ${nowMs}, 'an operator', 'directory.restore', '', '', '{}');
          INSERT INTO restorations (after_change, change) VALUES (0, ${change})`
}
