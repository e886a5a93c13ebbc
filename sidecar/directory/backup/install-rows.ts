/** Replaces the rows of a directory in PostgreSQL, in one transaction. Sidecars that serve from it follow. */
import type { Client } from 'pg'
import { openPostgres } from '../postgres.ts'
import { withClient } from '../postgres-snapshot.ts'
import { LOCK, NOTIFY } from '../postgres-transaction.ts'
import { number } from '../rows.ts'
import { AUDIT_PROTECTION, LAST_CHANGE, PASSING_TABLES, SCHEMA_VERSION } from '../schema.ts'
import { type DirectoryPlace, URL_KEY } from '../snapshot.ts'
import { exact, tablesOf } from './backup-content.ts'
import type { Scratch } from './scratch.ts'

/** Rows that are written at once. */
const WRITTEN = 500

/** @param lastChange of the directory that is replaced @throws Error if it was changed since it was read */
export async function installRows(
  scratch: Scratch,
  shared: NonNullable<DirectoryPlace['shared']>,
  lastChange: number,
): Promise<void> {
  // Makes the tables, or brings those of an earlier version up to date.
  await (await openPostgres({ ...shared, poolSize: 1 })).close()
  await withClient(shared, async (client) => {
    const tables = tablesOf(SCHEMA_VERSION)
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    await client.query(LOCK)
    const last = await client.query<{ last: number }>(LAST_CHANGE)
    if (number(last.rows[0]?.last) !== lastChange)
      throw new Error(`${URL_KEY}: the directory was changed in the meantime; nothing was restored`)
    const { lift, restore } = AUDIT_PROTECTION.postgres
    await client.query(lift)
    for (const table of [...PASSING_TABLES, ...tables.toReversed()])
      await client.query(`DELETE FROM ${table}`)
    for (const table of tables) await copy(client, scratch, table)
    await client.query(restore)
    const next = await client.query<{ next: number }>('SELECT MAX(sequence) + 1 AS next FROM audit')
    await client.query(`ALTER TABLE audit ALTER COLUMN sequence RESTART WITH ${number(next.rows[0]?.next)}`)
    await client.query(NOTIFY)
    await client.query('COMMIT')
  })
}

async function copy(client: Client, scratch: Scratch, table: string): Promise<void> {
  let rows: Record<string, unknown>[] = []
  const flush = async () => {
    const [first] = rows
    if (first === undefined) return
    const columns = Object.keys(first).join(', ')
    await client.query(
      `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
       SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1::json)`,
      [JSON.stringify(rows)],
    )
    rows = []
  }
  for (const row of scratch.rows(table)) {
    rows.push(Object.fromEntries(Object.entries(row).map(([column, value]) => [column, written(value)])))
    if (rows.length === WRITTEN) await flush()
  }
  await flush()
}

function written(value: unknown): unknown {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : exact(value)
}
