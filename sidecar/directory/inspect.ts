/** What can be said about a directory without opening it as a sidecar does, which would migrate it. */
import { number, optionalNumber } from './rows.ts'
import { SCHEMA_VERSION } from './schema.ts'
import type { DirectoryPlace, Snapshot } from './snapshot.ts'
import { withSnapshot } from './take-snapshot.ts'

export interface DirectoryState {
  /** Version of its schema; 0: it has no tables yet. */
  readonly version: number
  /** The version that this code reads and writes. */
  readonly expectedVersion: number
  /** When the last change was made, by the clock of the host that made it. */
  readonly lastChangeAtMs: number | undefined
  /** The clock of the database, where it has one of its own. */
  readonly clockMs: number | undefined
  /** Active static tokens that were hashed with another pepper. */
  readonly foreignStaticTokens: number
}

/**
 * @param pepper fingerprint of this host's pepper
 * @param whole whether to look for damage too, which reads all of a file
 * @throws Error if it cannot be read or is damaged
 */
export function inspectDirectory(
  place: DirectoryPlace,
  { pepper, whole = false }: { readonly pepper?: string | undefined; readonly whole?: boolean } = {},
): Promise<DirectoryState> {
  return withSnapshot(place, async (snapshot) => {
    const { version, dialect } = snapshot
    const clock = dialect === 'postgres' ? await snapshot.all(CLOCK) : []
    // The tables of a newer version may have changed, and those of the first ones lack the columns.
    const known = version >= PEPPER_VERSION && version <= SCHEMA_VERSION
    if (whole && known) await snapshot.expectWhole()
    return {
      version,
      expectedVersion: SCHEMA_VERSION,
      clockMs: optionalNumber(clock[0]?.ms),
      lastChangeAtMs: known ? await lastChangeAtMs(snapshot) : undefined,
      foreignStaticTokens: known && pepper !== undefined ? await foreignTokens(snapshot, pepper) : 0,
    }
  })
}

/** The version in which static tokens got the fingerprint of their pepper. */
const PEPPER_VERSION = 2

const CLOCK = 'SELECT EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS ms'

async function lastChangeAtMs(snapshot: Snapshot): Promise<number | undefined> {
  const [row] = await snapshot.all('SELECT at_ms FROM audit ORDER BY sequence DESC LIMIT 1')
  return optionalNumber(row?.at_ms)
}

/** @param pepper a fingerprint: hex digits */
async function foreignTokens(snapshot: Snapshot, pepper: string): Promise<number> {
  const [row] = await snapshot.all(
    `SELECT COUNT(*) AS count FROM static_tokens JOIN users ON users.id = user_id
     WHERE revoked_at_ms IS NULL AND users.deleted_at_ms IS NULL AND pepper <> '${pepper.replace(/[^0-9a-f]/g, '')}'`,
  )
  return number(row?.count)
}
