/**
 * PostgreSQL as the directory's database: one directory that several hosts share. Every change sends a
 * notification in its own transaction, which says what it touched.
 */
import pLimit, { type LimitFunction } from 'p-limit'
import { Pool, type PoolClient } from 'pg'
import { type CallError, callError } from '../base/call-error.ts'
import type { Database, Parameters, Transaction } from './database.ts'
import type { AuditRecord } from './directory.ts'
import { NotifiedChanges } from './feed/notified-changes.ts'
import { type FeedRecord, isOfChange } from './feed/touches.ts'
import { isThere, lastChangeOf, presenceQuery } from './last-change.ts'
import { numberParameters } from './named-parameters.ts'
import { ChangeListener } from './notification-listener.ts'
import { Patience } from './patience.ts'
import { serverCode, toDirectoryError, toOpenError } from './postgres-errors.ts'
import { ServerClient, type ServerOptions, Servers } from './postgres-servers.ts'
import { CHANNEL, inRange, LOCK, PostgresTransaction } from './postgres-transaction.ts'
import { number } from './rows.ts'
import { migrationsFrom, SCHEMA_VERSION } from './schema.ts'
import { URL_KEY } from './snapshot.ts'

export interface PostgresOptions extends Pick<ServerOptions, 'url' | 'timeoutMs' | 'known'> {
  /**
   * The staleness bound: how long what was asked is remembered without word that nothing was changed, in
   * milliseconds; default: 0, not at all.
   */
  readonly stalenessMs?: number
  /** Called when notifications of changes begin to arrive (`true`) or cease. */
  readonly onListening?: ((on: boolean) => void) | undefined
  /** Most connections for queries. One more connection listens for notifications. */
  readonly poolSize: number
  /**
   * Longest time of a statement of a change, in milliseconds; default: 10,000. A change also waits for
   * changes of other hosts. A whole change may take six times as long.
   */
  readonly changeTimeoutMs?: number
}

export interface PostgresDatabase extends Database {
  readonly changes: NotifiedChanges
  /** Listens, and asks for changes. Resolves after the first attempt of each, also if it failed. */
  follow(): Promise<void>
  /** Another process on this host says what it recorded. @see NotifiedChanges.touch */
  hear(records: readonly FeedRecord[]): Promise<void>
}

/**
 * Longest time of a statement of a migration. It may rewrite millions of rows, or wait for the migration of
 * another process.
 */
const MIGRATION_STATEMENT_MS = 600_000
/** Most queries and most changes that wait for a connection. Further ones are refused. */
const QUERIES_WAITING_MAX = 10_000
const CHANGES_WAITING_MAX = 1_000
/** Connections are replaced after this time: after a failover the host name may lead to another server. */
const CONNECTION_LIFETIME_SECONDS = 300
const CONNECTION_IDLE_MS = 60_000

/** Changes at the same time, as far as connections for queries are left. */
const CHANGES_AT_ONCE = 2
/** How often a change runs again that waited for others in a circle. */
const REPEATED_MAX = 3
/** How much longer a whole change may take than one of its statements. */
const STATEMENTS_OF_CHANGE = 6

/**
 * Connects, and migrates the directory to the current schema.
 *
 * @throws Error that names the key of the configuration
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { url, timeoutMs, changeTimeoutMs = 10_000, known } = options
  // A host that stops responding in the middle of a change must not keep the lock.
  const servers = new Servers({ url, timeoutMs, idleTransactionMs: changeTimeoutMs, known })
  const database = new Postgres(servers, { ...options, changeTimeoutMs })
  try {
    await database.migrate()
  } catch (error) {
    await database.close()
    throw toOpenError(error, URL_KEY)
  }
  return database
}

class Postgres implements PostgresDatabase {
  readonly dialect = 'postgres'
  readonly #servers: Servers
  readonly #pool: Pool
  readonly #changing: LimitFunction
  /** Those that run or wait. */
  readonly #ongoing = new Set<Promise<unknown>>()
  readonly #listener: ChangeListener
  readonly verifying: Patience
  readonly changes: NotifiedChanges
  readonly #clients = new Set<PoolClient>()
  readonly #idle = new Set<PoolClient>()
  readonly #closeTimeoutMs: number
  readonly #changeTimeoutMs: number
  #closing: Promise<void> | undefined

  constructor(servers: Servers, options: PostgresOptions & { readonly changeTimeoutMs: number }) {
    const { poolSize, timeoutMs, changeTimeoutMs, stalenessMs = 0, onListening } = options
    this.#servers = servers
    this.verifying = new Patience({ ask: (...statement) => this.all(...statement), timeoutMs })
    this.changes = new NotifiedChanges({
      ask: (...statement) => this.#askForChanges(...statement),
      has: async (position) => {
        const [row] = await this.all(...presenceQuery(position))
        return isThere(row?.presence, position)
      },
      refusal: () => this.verifying.refusal,
      stalenessMs,
    })
    this.#listener = new ChangeListener(servers, CHANNEL, {
      notified: (payload) => this.#notified(payload),
      listening: (on) => {
        // It may have lost the connection to another server than the one it gets.
        if (on) this.changes.reconnected()
        else {
          this.#closeIdle()
          servers.forgetPoolers()
        }
        onListening?.(on)
      },
    })
    this.#closeTimeoutMs = timeoutMs
    this.#changeTimeoutMs = changeTimeoutMs
    this.#changing = pLimit(Math.max(1, Math.min(CHANGES_AT_ONCE, poolSize - 1)))
    const pool = new Pool({
      Client: class extends ServerClient {
        constructor() {
          super(servers)
        }
      },
      // For a connection, and for the wait until one is free.
      connectionTimeoutMillis: timeoutMs,
      max: poolSize,
      maxLifetimeSeconds: CONNECTION_LIFETIME_SECONDS,
      idleTimeoutMillis: CONNECTION_IDLE_MS,
    })
    this.#pool = pool
    // A query reports a lost connection itself. But without this listener, Node would end the process.
    pool.on('error', () => {})
    pool.on('connect', (client) => this.#clients.add(client))
    pool.on('acquire', (client) => this.#idle.delete(client))
    pool.on('release', (_error, client) => this.#idle.add(client))
    pool.on('remove', (client) => {
      this.#clients.delete(client)
      this.#idle.delete(client)
    })
  }

  async all(sql: string, parameters: Parameters = {}): Promise<Record<string, unknown>[]> {
    return inRange(await this.#rowsOf(sql, parameters))
  }

  async #rowsOf(sql: string, parameters: Parameters): Promise<Record<string, unknown>[]> {
    if (this.#pool.waitingCount >= QUERIES_WAITING_MAX) throw tooMany('queries')
    const statement = numberParameters('$', sql, parameters)
    const connection = await this.#connect()
    try {
      const { rows } = await connection.query<Record<string, unknown>>(statement)
      connection.release()
      return rows
    } catch (error) {
      connection.release(true)
      if (serverCode(error) === undefined) this.#closeIdle()
      throw toDirectoryError(error)
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#servers.firstOf(() => this.#pool.connect())
    } catch (error) {
      throw toDirectoryError(error)
    }
  }

  /** After a failure of a connection itself. Each of the others would make another query wait as long. */
  #closeIdle(): void {
    for (const client of this.#idle) {
      // The pool forgets it at this event, and not only when the socket has been closed.
      client.emit('error', new Error('the connection is given up'))
      client.connection.stream.destroy()
    }
  }

  /** Few changes run at the same time, so that the other connections of the pool stay free for queries. */
  async transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    recorded: () => readonly FeedRecord[],
  ): Promise<T> {
    if (this.#changing.pendingCount >= CHANGES_WAITING_MAX) throw tooMany('changes')
    let heard: Promise<void> | undefined
    const changed = this.#changing(async () => {
      try {
        const result = await this.#inTransaction(this.#changeTimeoutMs, work)
        const last = recorded().findLast(isOfChange)
        if (last !== undefined) this.#servers.known.note(last)
        return result
      } finally {
        // Also after an error: COMMIT may have succeeded and only its answer was lost.
        heard = this.hear(recorded())
      }
    })
    this.#ongoing.add(changed)
    // Other changes go on meanwhile.
    try {
      return await changed
    } finally {
      this.#ongoing.delete(changed)
      await heard
    }
  }

  async keep(made: readonly AuditRecord[]): Promise<void> {
    // The change is acknowledged only once this host remembers it, also after a restart.
    this.#servers.known.made(made)
    await this.#servers.known.durable()
  }

  hear(records: readonly FeedRecord[]): Promise<void> {
    return this.changes.touch(records)
  }

  async follow(): Promise<void> {
    await this.#listener.start()
    await this.changes.start()
  }

  #notified(payload: string): void {
    const [, sequence, atMs, text] = /^(\d+) (\d+) (\[.*\])$/s.exec(payload) ?? []
    if (text === undefined) {
      const last = lastChangeOf(payload)
      if (last !== undefined) this.#servers.known.note(last)
      void this.changes.look()
      return
    }
    const records: readonly FeedRecord[] = JSON.parse(text)
    const last = records.at(-1)
    if (last !== undefined) this.#servers.known.note(last)
    this.changes.hear({ sequence: Number(sequence), atMs: Number(atMs) }, records)
  }

  /**
   * On the connection for notifications where queries wait for the pool: otherwise all of them would go on
   * waiting for this one.
   */
  async #askForChanges(sql: string, parameters: Parameters = {}): Promise<Record<string, unknown>[]> {
    const statement = numberParameters('$', sql, parameters)
    const waiting = this.#pool.waitingCount > 0
    const asked = waiting ? this.#listener.ask(statement) : undefined
    const rows = await (asked?.then(inRange, (error: unknown) => {
      throw toDirectoryError(error)
    }) ?? this.all(sql, parameters))
    const last = rows.at(-1)
    if (last !== undefined)
      this.#servers.known.note({ sequence: number(last.sequence), atMs: number(last.at_ms) })
    return rows
  }

  /**
   * The isolation level is READ COMMITTED: each statement sees everything that was committed before the locks
   * that its transaction holds were taken. A snapshot of the first statement would be older than they.
   */
  async #inTransaction<T>(
    statementMs: number,
    work: (transaction: PostgresTransaction) => Promise<T>,
  ): Promise<T> {
    const limits = { statementMs, wholeMs: statementMs * STATEMENTS_OF_CHANGE }
    for (let repeated = 0; ; repeated++) {
      const connection = await this.#connect()
      const transaction = new PostgresTransaction(connection, limits)
      try {
        return await work(transaction)
      } catch (error) {
        await transaction.rollBack()
        if (!transaction.deadlocked || repeated === REPEATED_MAX) throw error
      } finally {
        connection.release(transaction.connectionLost)
        if (transaction.connectionLost) this.#closeIdle()
      }
    }
  }

  /**
   * Several processes may call this at the same time: the first one migrates, and the others find it done.
   */
  async migrate(): Promise<void> {
    const [found] = await this.all(
      `SELECT current_setting('server_encoding') AS encoding, to_regclass('schema_version') AS versions`,
    )
    if (found?.encoding !== 'UTF8')
      throw new Error(`${URL_KEY}: expected a database whose encoding is UTF8, found ${found?.encoding}`)
    // A directory with the current schema can be used without the right to create tables.
    if (found.versions !== null && stepsFrom(await this.all(VERSION)).length === 0) return
    await this.#inTransaction(MIGRATION_STATEMENT_MS, async (transaction) => {
      const run = (text: string) => transaction.run({ text })
      await run(LOCK)
      await run('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)')
      const steps = stepsFrom((await run(VERSION)).rows)
      for (const step of steps) await transaction.script(step)
      if (steps.length > 0) {
        await run('DELETE FROM schema_version')
        await run(`INSERT INTO schema_version (version) VALUES (${SCHEMA_VERSION})`)
      }
      await transaction.commit([])
    })
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.changes.close()
      this.verifying.close()
      await this.#listener.close()
      // Waiting changes finish first.
      await Promise.allSettled(this.#ongoing)
      await this.#end()
    })()
    return this.#closing
  }

  /**
   * Closes the pool. After a timeout it closes the sockets itself, because the server may no longer respond.
   */
  async #end(): Promise<void> {
    const timer = setTimeout(() => {
      for (const client of this.#clients) client.connection.stream.destroy()
    }, this.#closeTimeoutMs)
    await this.#pool.end()
    clearTimeout(timer)
    await this.#servers.known.close()
  }
}

const VERSION = 'SELECT version FROM schema_version'

/** The migration steps to run. Without a row the version is 0. */
function stepsFrom([row]: readonly { readonly version?: unknown }[]): string[] {
  return migrationsFrom(Number(row?.version ?? 0), 'postgres', URL_KEY)
}

function tooMany(what: string): CallError {
  return callError('DIRECTORY_EXHAUSTED', { what })
}
