/** Facts about a directory without opening it as a sidecar does, which would migrate it. */
import type { AuditLine } from './audit-line.ts'
import { madeIn } from './feed/made-changes.ts'
import type { Position } from './feed/touches.ts'
import { isThere, presenceOf } from './last-change.ts'
import { type KeptMatrix, MatrixVersionRecords } from './matrix-versions.ts'
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
  /** Number of the last change that this host has known of, where it is lost. */
  readonly lostChange: number | undefined
  /** The clock of the database, where it has a separate one. */
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
 * @param known the last change that this host has known of
 * @param whole whether to look for damage too, which reads all of a file
 * @throws Error if it cannot be read or is damaged
 */
export function inspectDirectory(
  place: DirectoryPlace,
  {
    pepper,
    known,
    whole = false,
  }: {
    readonly pepper?: string | undefined
    readonly known?: Position | undefined
    readonly whole?: boolean
  } = {},
): Promise<DirectoryState> {
  return withSnapshot(place, async (snapshot) => {
    const { version, dialect } = snapshot
    const [server] = dialect === 'postgres' ? await snapshot.all(SERVER) : []
    // The tables of a newer version may have changed, and those of the first ones lack the columns.
    const isReadable = version >= PEPPER_VERSION && version <= SCHEMA_VERSION
    if (whole && isReadable) await snapshot.expectWhole()
    return {
      version,
      expectedVersion: SCHEMA_VERSION,
      clockMs: optionalNumber(server?.ms),
      asynchronousStandbys: optionalNumber(server?.asynchronous) ?? 0,
      lostChange: known && !(await hasChange(snapshot, known)) ? known.sequence : undefined,
      lastChangeAtMs: isReadable ? await lastChangeAtMs(snapshot) : undefined,
      setBack: isReadable ? await lastSetBack(snapshot) : undefined,
      foreignStaticTokens: isReadable && pepper !== undefined ? await foreignTokens(snapshot, pepper) : 0,
      promotedDigest: isReadable && version >= MATRIX_VERSION ? await promotedDigest(snapshot) : undefined,
    }
  })
}

/** The version in which restorations came, which `hasChange` reads. */
const RESTORATIONS_VERSION = 6

/** Whether a directory has a change that a host has known of, or a substitute for it. */
export async function hasChange(snapshot: Snapshot, known: Position): Promise<boolean> {
  if (snapshot.version < RESTORATIONS_VERSION) return false
  const presence = presenceOf(String(known.sequence), String(known.atMs))
  const [row] = await snapshot.all(`SELECT ${presence} AS presence`)
  return isThere(row?.presence, known)
}

/**
 * The changes that a host has made and its directory does not have, the oldest first.
 *
 * @param folder where the host keeps what it has made
 * @throws Error if either cannot be read
 */
export function inspectLosses(place: DirectoryPlace, folder: string): Promise<readonly AuditLine[]> {
  return withSnapshot(place, async (snapshot) => {
    const lost: AuditLine[] = []
    const [archive] = await snapshot.all(
      "SELECT details FROM audit WHERE action = 'audit.archive' ORDER BY sequence DESC LIMIT 1",
    )
    const archived = archive === undefined ? 0 : Number(JSON.parse(text(archive.details)).through)
    let some: AuditLine[] = []
    const look = async () => {
      const numbers = some.map(({ sequence }) => Number(sequence)).join(', ')
      const rows = await snapshot.all(`SELECT sequence, at_ms FROM audit WHERE sequence IN (${numbers})`)
      const there = new Set(rows.map((row) => `${number(row.sequence)} ${number(row.at_ms)}`))
      lost.push(...some.filter(({ sequence, at }) => !there.has(`${sequence} ${Date.parse(at)}`)))
      some = []
    }
    for await (const made of madeIn(folder)) {
      if (made.sequence <= archived) continue
      some.push(made)
      if (some.length === LOOKED_UP_AT_ONCE) await look()
    }
    if (some.length > 0) await look()
    return lost.sort((one, other) => one.sequence - other.sequence)
  })
}

const LOOKED_UP_AT_ONCE = 500

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

/** Hosts whose clocks differ by less take turns, without harm. */
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
    `SELECT COUNT(*) AS count FROM static_tokens
     JOIN users ON users.id = user_id JOIN accounts ON accounts.id = account_id
     WHERE revoked_at_ms IS NULL AND users.deleted_at_ms IS NULL AND accounts.deleted_at_ms IS NULL AND pepper <> '${pepper.replace(/[^0-9a-f]/g, '')}'`,
  )
  return number(row?.count)
}

async function promotedDigest(snapshot: Snapshot): Promise<string | undefined> {
  const [row] = await snapshot.all('SELECT digest FROM matrix_versions ORDER BY position DESC LIMIT 1')
  return row === undefined || row.digest === '' ? undefined : text(row.digest)
}

/** @throws Error if it cannot be read */
export function inspectPromotion(
  place: DirectoryPlace,
): Promise<{ readonly wasPromoted: boolean; readonly inForce: KeptMatrix | undefined }> {
  return withSnapshot(place, async (snapshot) => {
    if (snapshot.version < MATRIX_VERSION || snapshot.version > SCHEMA_VERSION)
      return { wasPromoted: false, inForce: undefined }
    const records = new MatrixVersionRecords(snapshot)
    return { wasPromoted: await records.has(), inForce: await records.inForce() }
  })
}
