/** Backs a directory up, also while others serve from it and change it. */
import { writeSealed } from '../../base/sealed-file.ts'
import { number } from '../rows.ts'
import { expectKnownVersion, LAST_CHANGE } from '../schema.ts'
import { type DirectoryPlace, nameOf, type Snapshot } from '../snapshot.ts'
import { withSnapshot } from '../take-snapshot.ts'
import { type BackupDetails, encoded, type Follower, rowsOf, tablesOf, turnAfter } from './backup-content.ts'

export interface BackupOptions {
  readonly path: string
  readonly place: DirectoryPlace
  /** Version of this Portcullis. */
  readonly version: string
  readonly nowMs: number
  /** Called with the number of rows before they are written. */
  readonly follow?: ((rows: number) => Follower) | undefined
}

/**
 * Writes one state of the directory to a new file.
 *
 * @throws Error if the directory is damaged, has no tables, or is of a newer version, and if the file exists
 */
export function backUpDirectory({
  path,
  place,
  version,
  nowMs,
  follow,
}: BackupOptions): Promise<BackupDetails> {
  return withSnapshot(place, async (snapshot) => {
    const name = nameOf(place)
    if (snapshot.version === 0) throw new Error(`${name}: there is no directory yet`)
    expectKnownVersion(snapshot.version, name)
    // A backup of damaged rows would be a sound file with wrong content.
    await snapshot.expectWhole()
    const details: BackupDetails = {
      created_at: new Date(nowMs).toISOString(),
      version,
      schema_version: snapshot.version,
      store: snapshot.dialect,
      last_change: number((await snapshot.all(LAST_CHANGE))[0]?.last),
      rows: await countsOf(snapshot),
    }
    await writeSealed(path, 'directory', async (append) => {
      append(details)
      using follower = follow?.(rowsOf(details))
      let rows = 0
      for (const table of Object.keys(details.rows))
        for await (const row of snapshot.rows(`SELECT * FROM ${table}`)) {
          append([table, encoded(row)])
          await turnAfter(++rows, follower)
        }
    })
    return details
  })
}

async function countsOf(snapshot: Snapshot): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of tablesOf(snapshot.version))
    counts[table] = number((await snapshot.all(`SELECT COUNT(*) AS count FROM ${table}`))[0]?.count)
  return counts
}
