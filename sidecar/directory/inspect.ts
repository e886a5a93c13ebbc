/** What can be said about a directory without opening it as a sidecar does, which would migrate it. */
import { number, optionalNumber, text } from './rows.ts'
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
  /**
   * The last time that a change was followed by one from before it; `undefined`: it did not happen among the
   * last changes.
   */
  readonly setBack: { readonly fromMs: number; readonly toMs: number } | undefined
  /** The clock of the database, where it has one of its own. */
  readonly clockMs: number | undefined
  /** Standbys of PostgreSQL that may lack changes which were acknowledged. */
  readonly asynchronousStandbys: number
  /** Active static tokens that were hashed with another pepper. */
  readonly foreignStaticTokens: number
  /** Digest of the promoted matrix; `undefined`: none is in force. */
  readonly promotedDigest: string | undefined
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
    const [server] = dialect === 'postgres' ? await snapshot.all(SERVER) : []
    // The tables of a newer version may have changed, and those of the first ones lack the columns.
    const known = version >= PEPPER_VERSION && version <= SCHEMA_VERSION
    if (whole && known) await snapshot.expectWhole()
    return {
      version,
      expectedVersion: SCHEMA_VERSION,
      clockMs: optionalNumber(server?.ms),
      asynchronousStandbys: optionalNumber(server?.asynchronous) ?? 0,
      lastChangeAtMs: known ? await lastChangeAtMs(snapshot) : undefined,
      setBack: known ? await lastSetBack(snapshot) : undefined,
      foreignStaticTokens: known && pepper !== undefined ? await foreignTokens(snapshot, pepper) : 0,
      promotedDigest: known && version >= MATRIX_VERSION ? await promotedDigest(snapshot) : undefined,
    }
  })
}

/** The version in which static tokens got the fingerprint of their pepper. */
const PEPPER_VERSION = 2

/** The version in which matrices were first kept. */
const MATRIX_VERSION = 11

const SERVER = `
  SELECT EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS ms,
         CASE WHEN current_setting('synchronous_standby_names') = '' OR current_setting('synchronous_commit') IN ('off', 'local')
              THEN (SELECT COUNT(*) FROM pg_stat_replication) END AS asynchronous`

async function lastChangeAtMs(snapshot: Snapshot): Promise<number | undefined> {
  const [row] = await snapshot.all('SELECT at_ms FROM audit ORDER BY sequence DESC LIMIT 1')
  return optionalNumber(row?.at_ms)
}

/** Hosts whose clocks differ by less take turns, and nothing comes of it. */
const SET_BACK = `
  SELECT before_ms, at_ms FROM (
    SELECT sequence, at_ms, LAG(at_ms) OVER (ORDER BY sequence) AS before_ms
    FROM (SELECT sequence, at_ms FROM audit ORDER BY sequence DESC LIMIT 10000) AS recent
  ) AS pairs
  WHERE before_ms - at_ms > 60000 ORDER BY sequence DESC LIMIT 1`

async function lastSetBack(snapshot: Snapshot): Promise<DirectoryState['setBack']> {
  const [row] = await snapshot.all(SET_BACK)
  return row && { fromMs: number(row.before_ms), toMs: number(row.at_ms) }
}

/** @param pepper a fingerprint: hex digits */
async function foreignTokens(snapshot: Snapshot, pepper: string): Promise<number> {
  const [row] = await snapshot.all(
    `SELECT COUNT(*) AS count FROM static_tokens JOIN users ON users.id = user_id
     WHERE revoked_at_ms IS NULL AND users.deleted_at_ms IS NULL AND pepper <> '${pepper.replace(/[^0-9a-f]/g, '')}'`,
  )
  return number(row?.count)
}

async function promotedDigest(snapshot: Snapshot): Promise<string | undefined> {
  const [row] = await snapshot.all('SELECT digest FROM matrix_versions ORDER BY position DESC LIMIT 1')
  return row === undefined || row.digest === '' ? undefined : text(row.digest)
}
