/**
 * PostgreSQL as the directory's database: one directory that several hosts share. Every change sends a notification in
 * its own transaction, so that all processes clear their caches.
 */
import pLimit from 'p-limit'
import {
  Client,
  type ClientConfig,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  types,
} from 'pg'
import { bareHost, isLoopback } from '../base/address.ts'
import { type CallError, callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Database, Parameters, Queries } from './database.ts'
import { ChangeListener, type ChangeWatcher } from './listener.ts'
import { numberParameters } from './named-parameters.ts'
import { serverCode, toDirectoryError, toOpenError } from './postgres-errors.ts'
import { Reachability } from './reachability.ts'
import { migrationsFrom, SCHEMA_VERSION } from './schema.ts'
import { URL_KEY } from './snapshot.ts'

export interface PostgresOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Missing parts come from the environment variables PG…, as `pg` defines. */
  readonly url: Secret
  /** Most connections for queries. One more connection listens for notifications. */
  readonly poolSize: number
  /** How long a connection attempt and how long a query may take, in milliseconds. */
  readonly timeoutMs: number
  /** Longest time of a statement of a change, in milliseconds; default: 10,000. A change also waits for changes of other hosts. */
  readonly changeTimeoutMs?: number
}

export interface PostgresDatabase extends Database {
  /**
   * Notifies the watcher of every change from now on. Resolves after the first attempt to listen, also if it failed.
   *
   * @param graceMs how long the database may not answer before it is not reachable, in milliseconds; default: 0
   */
  watch(watcher: ChangeWatcher, graceMs?: number): Promise<void>
}

/** Longest time of a statement of a migration. It may rewrite millions of rows, or wait for the migration of another process. */
const MIGRATION_STATEMENT_MS = 600_000
/** How much longer than the server's time limit we wait: the server's own report of a timeout is more precise. */
export const GRACE_MS = 500
/** Most queries and most changes that wait for a connection. Further ones are refused. */
const QUERIES_WAITING_MAX = 10_000
const CHANGES_WAITING_MAX = 1_000
/** Connections are replaced after this time: after a failover the host name may lead to another server. */
const CONNECTION_LIFETIME_SECONDS = 300
const CONNECTION_IDLE_MS = 60_000

/** Every change and every migration takes this lock. Its number is made of the letters `portcull`. */
export const LOCK = `SELECT pg_advisory_xact_lock(${BigInt(`0x${Buffer.from('portcull').toString('hex')}`)})`
export const CHANNEL = 'portcullis_directory'

/** How every connection is made. @throws Error where it would send a password to another machine in plaintext */
export function connectionTo({
  url,
  timeoutMs,
  changeTimeoutMs = 10_000,
}: Omit<PostgresOptions, 'poolSize'>): ClientConfig {
  const connection: ClientConfig = {
    application_name: 'portcullis',
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + GRACE_MS,
    // A host that stops responding in the middle of a change must not keep the lock.
    idle_in_transaction_session_timeout: changeTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: typeParser },
    // The URL is last, so that its settings override those above.
    connectionString: url.reveal(),
  }
  refuseSilentPlaintext(connection)
  return connection
}

/** Connects, and migrates the directory to the current schema. @throws Error that names the key of the configuration */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { poolSize, timeoutMs, changeTimeoutMs = 10_000 } = options
  const connection = connectionTo(options)
  const pool = new Pool({
    ...connection,
    max: poolSize,
    maxLifetimeSeconds: CONNECTION_LIFETIME_SECONDS,
    idleTimeoutMillis: CONNECTION_IDLE_MS,
  })
  // A query reports a lost connection itself. But without these listeners, Node would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const database = new Postgres(pool, connection, timeoutMs, changeTimeoutMs)
  try {
    await migrate(pool)
  } catch (error) {
    await database.close()
    throw toOpenError(error, URL_KEY)
  }
  return database
}

class Postgres implements PostgresDatabase {
  readonly dialect = 'postgres'
  readonly #pool: Pool
  readonly #connection: ClientConfig
  readonly #oneAtATime = pLimit(1)
  readonly #listeners: ChangeListener[] = []
  readonly #watchers: ChangeWatcher[] = []
  readonly #reachabilities: Reachability[] = []
  readonly #clients = new Set<PoolClient>()
  readonly #closeTimeoutMs: number
  readonly #changeTimeoutMs: number
  #closing: Promise<void> | undefined

  constructor(pool: Pool, connection: ClientConfig, closeTimeoutMs: number, changeTimeoutMs: number) {
    this.#pool = pool
    this.#connection = connection
    this.#closeTimeoutMs = closeTimeoutMs
    this.#changeTimeoutMs = changeTimeoutMs
    pool.on('connect', (client) => this.#clients.add(client))
    pool.on('remove', (client) => this.#clients.delete(client))
  }

  async all(sql: string, parameters: Parameters = {}): Promise<Record<string, unknown>[]> {
    if (this.#pool.waitingCount >= QUERIES_WAITING_MAX) throw tooMany('queries')
    const statement = numberParameters('$', sql, parameters)
    try {
      const { rows } = await this.#pool.query<Record<string, unknown>>(statement)
      return rows
    } catch (error) {
      throw toDirectoryError(error)
    }
  }

  /** Changes run one at a time, so they use at most one connection of the pool. The others stay free for queries. */
  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    if (this.#oneAtATime.pendingCount >= CHANGES_WAITING_MAX) throw tooMany('changes')
    return this.#oneAtATime(async () => {
      try {
        return await inTransaction(this.#pool, this.#changeTimeoutMs, async (run) => {
          const result = await work({
            all: async (sql, parameters = {}) => (await run(numberParameters('$', sql, parameters))).rows,
          })
          await run(`NOTIFY ${CHANNEL}`)
          return result
        })
      } finally {
        // Also after an error: COMMIT may have succeeded and only its answer was lost.
        for (const watcher of this.#watchers) watcher.changed()
      }
    })
  }

  async watch(watcher: ChangeWatcher, graceMs = 0): Promise<void> {
    this.#watchers.push(watcher)
    const reachability = new Reachability(
      () => this.all('SELECT 1'),
      graceMs,
      (reachable) => watcher.reachable?.(reachable),
    )
    this.#reachabilities.push(reachability)
    const listener = new ChangeListener(
      { ...this.#connection, application_name: 'portcullis listener' },
      CHANNEL,
      {
        changed: () => watcher.changed(),
        listening: (on) => {
          reachability.listening(on)
          watcher.listening(on)
        },
      },
    )
    this.#listeners.push(listener)
    await listener.start()
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      for (const reachability of this.#reachabilities) reachability.close()
      await Promise.all(this.#listeners.map((listener) => listener.close()))
      // Waiting changes finish first.
      await this.#oneAtATime(() => this.#end())
    })()
    return this.#closing
  }

  /** Closes the pool. After a timeout it closes the sockets itself, because the server may no longer respond. */
  async #end(): Promise<void> {
    const timer = setTimeout(() => {
      for (const client of this.#clients) client.connection.stream.destroy()
    }, this.#closeTimeoutMs)
    await this.#pool.end()
    clearTimeout(timer)
  }
}

type Run = (statement: string | QueryConfig) => Promise<QueryResult<Record<string, unknown>>>

/**
 * Runs one transaction at a time across all processes. So what a transaction reads is still true when it writes, the audit
 * trail is numbered in the order of the commits, and no transaction must be retried. The isolation level is READ COMMITTED:
 * each statement sees everything that was committed before the lock was taken. A snapshot of the first statement would be
 * older than the lock.
 */
async function inTransaction<T>(pool: Pool, statementMs: number, work: (run: Run) => Promise<T>): Promise<T> {
  let connection: PoolClient
  try {
    connection = await pool.connect()
  } catch (error) {
    throw toDirectoryError(error)
  }
  let connectionLost = false
  const run: Run = async (statement) => {
    const query = {
      ...(typeof statement === 'string' ? { text: statement } : statement),
      query_timeout: statementMs + GRACE_MS,
    }
    try {
      return await connection.query<Record<string, unknown>>(query)
    } catch (error) {
      connectionLost ||= serverCode(error) === undefined
      throw toDirectoryError(error)
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
    // If the connection is lost, the server rolls back itself.
    if (!connectionLost) await run('ROLLBACK').catch(() => {})
    throw error
  } finally {
    connection.release(connectionLost)
  }
}

/** Several processes may call this at the same time: the first one migrates, and the others find it done. */
async function migrate(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ encoding: string; versions: string | null }>(
    `SELECT current_setting('server_encoding') AS encoding, to_regclass('schema_version') AS versions`,
  )
  const [found] = rows
  if (found?.encoding !== 'UTF8')
    throw new Error(`${URL_KEY}: expected a database whose encoding is UTF8, found ${found?.encoding}`)
  // A directory with the current schema can be used without the right to create tables.
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

/**
 * Without `sslmode`, PostgreSQL's password and everything else would go to another machine in plaintext.
 *
 * @throws Error that does not quote the URL, because it contains a password
 */
function refuseSilentPlaintext(connection: ClientConfig): void {
  let client: Client
  try {
    // It does not connect. It reads the URL as every connection will.
    client = new Client(connection)
  } catch (error) {
    throw toOpenError(error, URL_KEY)
  }
  const { host, ssl } = client
  const local = host.startsWith('/') || isLoopback(bareHost(host))
  if (local || ssl || /[?&]sslmode=disable(&|$)/.test(connection.connectionString ?? '')) return
  throw new Error(
    `${URL_KEY}: expected sslmode in the URL, because the database is on another machine: sslmode=verify-full, or sslmode=disable to send passwords in plaintext`,
  )
}

const VERSION = 'SELECT version FROM schema_version'

/** The migration steps to run. Without a row the version is 0. */
function stepsFrom([row]: readonly { readonly version?: unknown }[]): string[] {
  return migrationsFrom(Number(row?.version ?? 0), 'postgres', URL_KEY)
}

const INT8 = 20

/** Returns BIGINT columns (counts, sequences, times) as numbers, as SQLite does. */
const typeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? Number : types.getTypeParser(oid, format)

function tooMany(what: string): CallError {
  return callError('DIRECTORY_EXHAUSTED', { what })
}
