/** A directory in PostgreSQL as it is at one moment. */
import type { Client } from 'pg'
import { serverCode, toOpenError } from './postgres-errors.ts'
import { ServerClient, Servers } from './postgres-servers.ts'
import { type DirectoryPlace, type Snapshot, type SnapshotRow, URL_KEY } from './snapshot.ts'

/** Rows that are read at once. */
const FETCHED = 1_000

/** How long a transaction may wait for the reader of the rows, in milliseconds. */
const IDLE_MS_MAX = 600_000

type Shared = NonNullable<DirectoryPlace['shared']>

export async function ofPostgres<T>(shared: Shared, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return withClient(shared, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return work(snapshotOf(client, await versionOf(client)))
  })
}

/** Runs `work` on a connection. @throws Error that names `directory.url`, with the server's code alone */
export async function withClient<T>(shared: Shared, work: (client: Client) => Promise<T>): Promise<T> {
  const servers = new Servers({ ...shared, idleTransactionMs: IDLE_MS_MAX })
  const client = await servers
    .firstOf(() => new ServerClient(servers).connect())
    .catch((error: unknown) => {
      throw toOpenError(error, URL_KEY)
    })
  try {
    return await work(client)
  } catch (error) {
    // Anything with a code comes from the server or the connection, whose texts may quote rows.
    throw serverCode(error) !== undefined || (error as NodeJS.ErrnoException).code !== undefined
      ? toOpenError(error, URL_KEY)
      : error
  } finally {
    await client.end().catch(() => {})
  }
}

/** Version of the schema; 0: there are no tables yet. */
async function versionOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ versions: string | null }>(
    `SELECT to_regclass('schema_version') AS versions`,
  )
  if ((rows[0]?.versions ?? null) === null) return 0
  const { rows: versions } = await client.query<{ version: number }>('SELECT version FROM schema_version')
  return Number(versions[0]?.version ?? 0)
}

function snapshotOf(client: Client, version: number): Snapshot {
  return {
    dialect: 'postgres',
    version,
    all: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    rows: (sql) => rowsOf(client, sql),
    // The server checks its pages itself (initdb --data-checksums).
    expectWhole: async () => {},
  }
}

async function* rowsOf(client: Client, sql: string): AsyncGenerator<SnapshotRow> {
  await client.query(`DECLARE listing NO SCROLL CURSOR FOR ${sql}`)
  for (;;) {
    const { rows } = await client.query<Record<string, unknown>>(`FETCH ${FETCHED} FROM listing`)
    yield* rows
    if (rows.length < FETCHED) break
  }
  await client.query('CLOSE listing')
}
