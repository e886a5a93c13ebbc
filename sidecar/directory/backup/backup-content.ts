/**
 * The content of a directory's backup: one line that describes it, then a line for each row. It is the same
 * for both stores.
 */
import { setImmediate } from 'node:timers/promises'
import { expectInRange } from '../column-ranges.ts'
import { isObject } from '../rows.ts'
import { type Dialect, expectKnownVersion, TABLES } from '../schema.ts'

/** The first line. */
export interface BackupDetails {
  readonly created_at: string
  /** Version of the Portcullis that wrote it. */
  readonly version: string
  readonly schema_version: number
  readonly store: Dialect
  /** Number of the last change that is in it. */
  readonly last_change: number
  /** How many rows each table has, in the order of the lines. */
  readonly rows: Readonly<Record<string, number>>
}

/** A further line. Bytes are `{ base64 }`. */
export type BackupRow = readonly [table: string, row: Readonly<Record<string, unknown>>]

/** Follows the rows of a backup, and may end it. */
export interface Follower extends Disposable {
  add(rows: number): void
  readonly signal: AbortSignal
}

/** Rows between two turns of the event loop. */
const TURN_ROWS = 1_000

/**
 * Counts a row, and now and then lets others have their turn.
 *
 * @param rows so far, with this one
 * @throws the reason of the follower's signal
 */
export async function turnAfter(rows: number, follower: Follower | undefined): Promise<void> {
  if (rows % TURN_ROWS > 0) return
  follower?.add(TURN_ROWS)
  await setImmediate()
  follower?.signal.throwIfAborted()
}

/** The directory that is replaced. */
export interface Replaced {
  readonly lastChange: number
  /** Revocations of it that the backup did not have; they are kept. */
  readonly revocations: number
  /**
   * Its changes of after the backup, which are undone; `undefined`: it has another history, so they are
   * unknown.
   */
  readonly undone: readonly { readonly action: string; readonly count: number }[] | undefined
  /** Why it cannot be read; its revocations of after the backup are lost then. */
  readonly unreadable?: string
}

export function rowsOf({ rows }: BackupDetails): number {
  return Object.values(rows).reduce((sum, each) => sum + each, 0)
}

/** The tables of a version. */
export function tablesOf(version: number): string[] {
  return TABLES.filter(({ since }) => since <= version).map(({ name }) => name)
}

/** @throws Error if a number of it is outside of its range: it could not be restored */
export function encoded(row: Readonly<Record<string, unknown>>): BackupRow[1] {
  return Object.fromEntries(
    Object.entries(expectInRange(row)).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : exact(value),
    ]),
  )
}

/** A whole number of a database for JSON: its digits where a number would be inexact. */
export function exact(value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

export type StoredValue = string | number | bigint | null | Buffer

/** @throws Error if a value of it does not fit a row, or a number is outside of its range */
export function decoded(row: BackupRow[1]): StoredValue[] {
  const whole = Object.entries(row).map(([column, value]) => [column, fromDigits(column, value)] as const)
  return Object.values(expectInRange(Object.fromEntries(whole))).map((value) => {
    if (typeof value === 'bigint') return value
    if (value === null || typeof value === 'string' || typeof value === 'number') return value
    if (isObject(value) && typeof value.base64 === 'string') return Buffer.from(value.base64, 'base64')
    throw new Error('expected a text, a number or bytes')
  })
}

/** The number that `exact` wrote as digits. */
function fromDigits(column: string, value: unknown): unknown {
  const digits = column.endsWith('_us') && typeof value === 'string' && /^-?\d{1,19}$/.test(value)
  return digits ? BigInt(value) : value
}

/** @throws Error if it is not the first line of a backup, or a newer Portcullis wrote it */
export function detailsOf(line: unknown, path: string): BackupDetails {
  const details = line as BackupDetails
  const valid =
    isObject(line) &&
    !Number.isNaN(Date.parse(details.created_at)) &&
    Number.isSafeInteger(details.schema_version) &&
    details.schema_version >= 1 &&
    Number.isSafeInteger(details.last_change) &&
    isObject(details.rows)
  if (!valid) throw new Error(`${path}: expected the backup of a directory`)
  expectKnownVersion(details.schema_version, path)
  return details
}
