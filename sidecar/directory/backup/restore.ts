/**
 * Puts a backup in the place of a directory. A revocation after the backup is not in it. So the IAM
 * tokens that were issued after it are revoked for good, and the revocations of the directory that is
 * replaced are kept, where it can be read.
 */
import { existsSync } from 'node:fs'
import { makeFolder } from '../../base/data-folder.ts'
import { expectSealed, linesOfSealed } from '../../base/sealed-file.ts'
import type { Position } from '../feed/touches.ts'
import { hasChange } from '../inspect.ts'
import { number, text } from '../rows.ts'
import { LAST_CHANGE, SCHEMA_VERSION } from '../schema.ts'
import { type DirectoryPlace, nameOf, type Snapshot } from '../snapshot.ts'
import { withSnapshot } from '../take-snapshot.ts'
import { type BackupDetails, detailsOf, type Follower, type Replaced } from './backup-content.ts'
import { recordQuery, Scratch } from './scratch.ts'

export interface RestoreOptions {
  readonly path: string
  readonly place: DirectoryPlace
  /** Folder for a new file, which becomes the directory if none is shared. */
  readonly folder: string
  /** The last change of a shared directory that this host has known of; `undefined`: none. */
  readonly known?: Position | undefined
  /** Whether a directory with records may be replaced. */
  readonly replace: boolean
  /** Whether every IAM token is revoked, and not only those of after the backup. */
  readonly endTokens: boolean
  /** Whether every static token is revoked. */
  readonly endStaticTokens: boolean
  /** The person who restores, for the audit trail. */
  readonly actor: string
  /** Fingerprint of the pepper that the directory is going to be used with. */
  readonly pepper: string
  readonly nowMs: number
  /** Called with the number of rows before they are loaded. */
  readonly follow?: ((rows: number) => Follower) | undefined
}

export interface Restored {
  readonly details: BackupDetails
  /** Number of the restoration among the changes. */
  readonly change: number
  /** The directory that was there before. */
  readonly replaced: Replaced | undefined
  /** Where the file is that was replaced; `undefined`: there was none, or the directory is shared. */
  readonly keptAs: string | undefined
  /** How many static tokens this revoked; `undefined`: it was not wished. */
  readonly staticTokensEnded: number | undefined
  /** Active static tokens that were hashed with another pepper. */
  readonly foreignStaticTokens: number
}

/** The first line of a backup whose digest is right. @throws Error if it cannot be used */
export async function readBackup(path: string): Promise<BackupDetails> {
  await expectSealed(path, 'directory')
  for await (const line of linesOfSealed(path)) return detailsOf(line, path)
  throw new Error(`${path}: expected the backup of a directory`)
}

/** Everything is verified and prepared before the directory is touched, and then it is replaced at once. */
export async function restoreDirectory(options: RestoreOptions): Promise<Restored> {
  const { path, place, folder, nowMs } = options
  const { created_at: createdAt } = await readBackup(path)
  if (Date.parse(createdAt) > nowMs)
    throw new Error(
      `${path}: the backup is from ${createdAt}, which is in the future; set the clock of this host`,
    )
  makeFolder(folder)
  using scratch = await Scratch.load(path, folder, options.follow)
  const replaced = await readReplaced(scratch, options)
  const { details } = scratch
  // Larger than every number that was ever given: a directory has far fewer changes than one a millisecond.
  const change = Math.max(nowMs, details.last_change + 1, (replaced?.lastChange ?? 0) + 1)
  const staticTokensEnded = options.endStaticTokens ? scratch.endStaticTokens(nowMs) : undefined
  scratch.record(change, options.endTokens ? -1 : details.last_change, {
    atMs: nowMs,
    actor: options.actor,
    details: {
      after: details.last_change,
      revocations_kept: replaced?.revocations ?? 0,
      ...(options.endTokens && { tokens_ended: true }),
      ...(staticTokensEnded !== undefined && { static_tokens_ended: staticTokensEnded }),
    },
  })
  const foreignStaticTokens = scratch.foreignStaticTokens(options.pepper)
  const keptAs = await install(scratch, place, replaced, nowMs)
  return { details, change, replaced, keptAs, staticTokensEnded, foreignStaticTokens }
}

async function install(
  scratch: Scratch,
  place: DirectoryPlace,
  replaced: Replaced | undefined,
  nowMs: number,
): Promise<string | undefined> {
  if (place.shared === undefined) {
    const { installFile } = await import('./install-file.ts')
    return installFile(scratch, place.file, replaced, nowMs)
  }
  const { installRows } = await import('./install-rows.ts')
  await installRows(scratch, place.shared, replaced?.lastChange ?? 0)
  return undefined
}

/**
 * Looks at what is there, and takes its revocations over.
 *
 * @throws Error if it has records and must not be replaced
 */
async function readReplaced(scratch: Scratch, options: RestoreOptions): Promise<Replaced | undefined> {
  const { place, replace } = options
  if (place.shared === undefined && !existsSync(place.file)) return undefined
  const name = nameOf(place)
  try {
    return await withSnapshot(place, async (snapshot) => {
      const [last] = snapshot.version === 0 ? [] : await snapshot.all(LAST_CHANGE)
      const lastChange = number(last?.last ?? 0)
      await expectKnown(scratch, lastChange === 0 ? undefined : snapshot, options)
      if (lastChange === 0) return undefined
      if (!replace) throw new NotEmpty(name)
      await snapshot.expectWhole()
      const undone = await undoneIn(snapshot, scratch)
      if (undone !== undefined) await takeFloor(snapshot, scratch)
      return {
        lastChange,
        undone,
        revocations: await takeRevocations(snapshot, scratch),
      }
    })
  } catch (error) {
    // A database that cannot be read cannot be written either.
    if (error instanceof NotEmpty || place.shared !== undefined) throw error
    if (!replace) throw new NotEmpty(name)
    const unreadable = (error as Error).message
    return { lastChange: 0, revocations: 0, undone: undefined, unreadable }
  }
}

/**
 * The revocations of what is in neither are lost, and only the end of all tokens stands for them.
 *
 * @throws Error where that is so, and not all tokens are ended
 */
async function expectKnown(
  scratch: Scratch,
  replaced: Snapshot | undefined,
  { known, endTokens, place }: RestoreOptions,
): Promise<void> {
  if (known === undefined || endTokens || scratch.has(known)) return
  if (replaced !== undefined && (await hasChange(replaced, known))) return
  throw new Error(
    `${nameOf(place)}: this host knows of change ${known.sequence}, which neither the backup nor the directory has; revocations may be lost with it, so --end-tokens is expected`,
  )
}

async function takeRevocations(snapshot: Snapshot, scratch: Scratch): Promise<number> {
  let count = 0
  for await (const row of snapshot.rows('SELECT token_id, revoked_at_ms FROM revocations'))
    if (scratch.revoke(text(row.token_id), number(row.revoked_at_ms))) count++
  return count
}

/** The version in which revocations were first removed. */
const REMOVAL_VERSION = 13

/** Tokens whose revocations the directory has removed stay revoked. */
async function takeFloor(snapshot: Snapshot, scratch: Scratch): Promise<void> {
  if (snapshot.version < REMOVAL_VERSION) return
  const floors = await snapshot.all('SELECT change_number FROM revocation_marks WHERE floor = 1')
  for (const { change_number: change } of floors) scratch.addFloor(number(change))
}

async function undoneIn(snapshot: Snapshot, scratch: Scratch): Promise<Replaced['undone']> {
  const { last_change: after } = scratch.details
  if (snapshot.version > SCHEMA_VERSION) return undefined
  const [record = null] = await snapshot.all(recordQuery(after))
  if (JSON.stringify(record) !== scratch.recordOf(after)) return undefined
  const rows = await snapshot.all(
    `SELECT action, COUNT(*) AS count FROM audit WHERE sequence > ${after} GROUP BY action ORDER BY action`,
  )
  return rows.map(({ action, count }) => ({ action: text(action), count: number(count) }))
}

class NotEmpty extends Error {
  constructor(name: string) {
    super(`${name}: the directory is not empty; use --replace to replace it with the backup`)
  }
}
