/**
 * PostgreSQL as the directory's database: one directory that several hosts share. A change tells every
 * process that something changed, in the same transaction, so that what they remember is asked again.
 */
import pLimit from 'p-limit'
import { type ClientConfig, Pool, type PoolClient, type QueryConfig, type QueryResult, types } from 'pg'
import { type CallError, callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Database, Parameters, Queries } from './database.ts'
import { ChangeListener, type ChangeWatcher } from './listener.ts'
import { withNumbers } from './named-parameters.ts'
import { opening, serverCode, translated } from './postgres-errors.ts'
import { migrationsFrom, SCHEMA_VERSION } from './schema.ts'

export interface PostgresOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. What it leaves out is taken from the PG… variables, as `pg` does. */
  readonly url: Secret
  /** Connections at most, and one more that listens. */
  readonly poolSize: number
  /** How long connecting may take, and how long the answer to a question, in milliseconds. */
  readonly timeoutMs: number
}

export interface PostgresDatabase extends Database {
  /** Tells the watcher of every change from now on. Resolves when that began, or could not begin yet. */
  watch(watcher: ChangeWatcher): Promise<void>
}

/** Changes wait for each other, those of other hosts included. */
const CHANGE_STATEMENT_MS = 10_000
/** Tables of millions of rows may be rewritten, and other processes may be doing that already. */
const MIGRATION_STATEMENT_MS = 600_000
/** What the server ends itself is reported better than what is given up here. */
const GRACE_MS = 500
/** Questions and changes that wait for a connection; beyond that they are refused. */
const QUESTIONS_WAITING_MAX = 10_000
const CHANGES_WAITING_MAX = 1_000
/** A name that leads to another server now, after a failover, is looked up again this often. */
const CONNECTION_LIFETIME_SECONDS = 300
const CONNECTION_IDLE_MS = 60_000

/** Under this lock the directory is changed or migrated: the letters of `portcull` as a number. */
const LOCK = `SELECT pg_advisory_xact_lock(${BigInt(`0x${Buffer.from('portcull').toString('hex')}`)})`
const CHANNEL = 'portcullis_directory'

/** Connects, and brings the directory to the current version. @throws Error naming the key of the configuration */
export async function openPostgres({ url, poolSize, timeoutMs }: PostgresOptions): Promise<PostgresDatabase> {
  const connection: ClientConfig = {
    application_name: 'portcullis',
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + GRACE_MS,
    // A host that went silent in the middle of a change must not hold the lock.
    idle_in_transaction_session_timeout: CHANGE_STATEMENT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: typeParser },
    // Last: what the URL says wins.
    connectionString: url.reveal(),
  }
  const pool = new Pool({
    ...connection,
    max: poolSize,
    maxLifetimeSeconds: CONNECTION_LIFETIME_SECONDS,
    idleTimeoutMillis: CONNECTION_IDLE_MS,
  })
  // Who waits for an answer learns of a lost connection from it. Without these, Node ends the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const database = new Postgres(pool, connection, timeoutMs)
  try {
    await migrate(pool)
  } catch (error) {
    await database.close()
    throw opening(error, PLACE)
  }
  return database
}

class Postgres implements PostgresDatabase {
  readonly #pool: Pool
  readonly #connection: ClientConfig
  readonly #oneAtATime = pLimit(1)
  readonly #listeners: ChangeListener[] = []
  readonly #watchers: ChangeWatcher[] = []
  readonly #clients = new Set<PoolClient>()
  readonly #partingMs: number
  #closing: Promise<void> | undefined

  constructor(pool: Pool, connection: ClientConfig, partingMs: number) {
    this.#pool = pool
    this.#connection = connection
    this.#partingMs = partingMs
    pool.on('connect', (client) => this.#clients.add(client))
    pool.on('remove', (client) => this.#clients.delete(client))
  }

  async all(sql: string, parameters: Parameters = {}): Promise<Record<string, unknown>[]> {
    if (this.#pool.waitingCount >= QUESTIONS_WAITING_MAX) throw tooMany('questions')
    const statement = withNumbers('$', sql, parameters)
    try {
      const { rows } = await this.#pool.query<Record<string, unknown>>(statement)
      return rows
    } catch (error) {
      throw translated(error)
    }
  }

  /** One connection of the pool at most is taken by changes, however many wait: questions need the others. */
  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    if (this.#oneAtATime.pendingCount >= CHANGES_WAITING_MAX) throw tooMany('changes')
    return this.#oneAtATime(async () => {
      try {
        return await inTransaction(this.#pool, CHANGE_STATEMENT_MS, async (run) => {
          const result = await work({
            all: async (sql, parameters = {}) => (await run(withNumbers('$', sql, parameters))).rows,
          })
          await run(`NOTIFY ${CHANNEL}`)
          return result
        })
      } finally {
        // Even where it failed: the answer to COMMIT may be what was lost.
        for (const watcher of this.#watchers) watcher.changed()
      }
    })
  }

  async watch(watcher: ChangeWatcher): Promise<void> {
    this.#watchers.push(watcher)
    const listener = new ChangeListener(
      { ...this.#connection, application_name: 'portcullis listener' },
      CHANNEL,
      watcher,
    )
    this.#listeners.push(listener)
    await listener.start()
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.all(this.#listeners.map((listener) => listener.close()))
      // Changes that wait are done first.
      await this.#oneAtATime(() => this.#end())
    })()
    return this.#closing
  }

  /** A server that went silent does not say goodbye. */
  async #end(): Promise<void> {
    const cut = setTimeout(() => {
      for (const client of this.#clients) client.connection.stream.destroy()
    }, this.#partingMs)
    await this.#pool.end()
    clearTimeout(cut)
  }
}

type Run = (statement: string | QueryConfig) => Promise<QueryResult<Record<string, unknown>>>

/**
 * One transaction at a time, in all processes: what it read still holds when it writes, the audit trail is numbered in
 * the order of the commits, and nothing has ever to be done again. READ COMMITTED, because each statement then sees what
 * was committed before the lock was had; a snapshot taken by the first statement would be older than the lock.
 */
async function inTransaction<T>(pool: Pool, statementMs: number, work: (run: Run) => Promise<T>): Promise<T> {
  let connection: PoolClient
  try {
    connection = await pool.connect()
  } catch (error) {
    throw translated(error)
  }
  let lost = false
  const run: Run = async (statement) => {
    const query = {
      ...(typeof statement === 'string' ? { text: statement } : statement),
      query_timeout: statementMs + GRACE_MS,
    }
    try {
      return await connection.query<Record<string, unknown>>(query)
    } catch (error) {
      lost ||= serverCode(error) === undefined
      throw translated(error)
    }
  }
  try {
    await run('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    await run(`SET LOCAL statement_timeout = ${statementMs}`)
    await run(LOCK)
    const result = await work(run)
    await run('COMMIT')
    return result
  } catch (error) {
    // The server rolls back what a lost connection leaves behind.
    if (!lost) await run('ROLLBACK').catch(() => {})
    throw error
  } finally {
    connection.release(lost)
  }
}

/** Several processes may try at once: the first does it, the others find it done. */
async function migrate(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ encoding: string; versions: string | null }>(
    `SELECT current_setting('server_encoding') AS encoding, to_regclass('schema_version') AS versions`,
  )
  const [found] = rows
  if (found?.encoding !== 'UTF8')
    throw new Error(`${PLACE}: expected a database whose encoding is UTF8, found ${found?.encoding}`)
  // A directory that is there already is served without the right to create anything.
  if (found.versions !== null && stepsFrom((await pool.query(VERSION)).rows).length === 0) return
  await inTransaction(pool, MIGRATION_STATEMENT_MS, async (run) => {
    await run('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)')
    const steps = stepsFrom((await run(VERSION)).rows)
    if (steps.length === 0) return
    for (const step of steps) await run(step)
    await run('DELETE FROM schema_version')
    await run(`INSERT INTO schema_version (version) VALUES (${SCHEMA_VERSION})`)
  })
}

const PLACE = 'directory.url'
const VERSION = 'SELECT version FROM schema_version'

/** Before the first step there is no version. */
function stepsFrom([row]: readonly { readonly version?: unknown }[]): string[] {
  return migrationsFrom(Number(row?.version ?? 0), 'postgres', PLACE)
}

const INT8 = 20

/** Counts, sequences and times are numbers, as SQLite returns them. */
const typeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? Number : types.getTypeParser(oid, format)

function tooMany(what: string): CallError {
  return callError('DIRECTORY_EXHAUSTED', { what })
}
