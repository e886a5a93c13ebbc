/**
 * Connections to the PostgreSQL server that takes changes. The URL may name several hosts, one of which is
 * the primary. A standby is not used, because it may be behind. Neither is a server without the last change
 * that this host has known of: it has lost changes, and a revocation may be among them.
 */
import { Client, type ClientConfig, DatabaseError, types } from 'pg'
import { bareHost, isLoopback } from '../base/address.ts'
import { CallError, callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import { KnownPosition } from './feed/known-position.ts'
import { isThere, presenceOf, THERE } from './last-change.ts'
import { toOpenError } from './postgres-errors.ts'
import { URL_KEY } from './snapshot.ts'

export interface ServerOptions {
  /**
   * `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with several `HOST:PORT` behind commas if there are
   * several. Missing parts come from the environment variables PG…, as `pg` defines.
   */
  readonly url: Secret
  /** How long a connection attempt and how long a query may take, in milliseconds. */
  readonly timeoutMs: number
  /** Longest time of a statement, in milliseconds; default: `timeoutMs`. */
  readonly statementMs?: number
  /**
   * After this time the server ends a transaction in which nothing happens, in milliseconds; default: 10,000.
   */
  readonly idleTransactionMs?: number
  /** The last change that this host has known of, and that it will know of; default: none is known yet. */
  readonly known?: KnownPosition | undefined
}

/**
 * How much longer than the server's time limit we wait: the server's own report of a timeout is more precise.
 */
export const GRACE_MS = 500

export class Servers {
  readonly known: KnownPosition
  readonly #connections: readonly ClientConfig[]
  readonly #settings: readonly [statementMs: number, idleTransactionMs: number]
  /** For each host with a pooler: whether connections have sessions of their own there. */
  readonly #sessions = new Map<number, Promise<void>>()
  #current = 0

  /** @throws Error where a connection would send a password to another machine in plaintext */
  constructor({
    url,
    timeoutMs,
    statementMs = timeoutMs,
    idleTransactionMs = 10_000,
    known = new KnownPosition(),
  }: ServerOptions) {
    this.known = known
    this.#settings = [statementMs, idleTransactionMs]
    this.#connections = urlsOf(url.reveal()).map((connectionString) => ({
      application_name: 'portcullis',
      connectionTimeoutMillis: timeoutMs,
      query_timeout: statementMs + GRACE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types: { getTypeParser: typeParser },
      // The URL is last, so that its settings override those above.
      connectionString,
    }))
    for (const connection of this.#connections) refuseSilentPlaintext(connection)
  }

  /** How many hosts the URL names. */
  get count(): number {
    return this.#connections.length
  }

  /** The host to connect to: the one that was connected to last, until that fails. */
  get current(): number {
    return this.#current
  }

  connectionOf(server: number): ClientConfig {
    return this.#connections[server] ?? {}
  }

  /** The host cannot be used, so the next attempt is for the next one. */
  failed(server: number): void {
    if (server === this.#current) this.#current = (server + 1) % this.count
  }

  /**
   * Tries `connect` for each host once, until it succeeds. An attempt that fails without having failed at a
   * host, for example because the pool is full, is not repeated.
   *
   * @throws what the last host failed with, or that one has lost changes, which says more
   */
  async firstOf<T>(connect: () => Promise<T>): Promise<T> {
    let changesLost: CallError | undefined
    for (let attempt = 1; ; attempt++) {
      const server = this.#current
      try {
        return await connect()
      } catch (error) {
        if (error instanceof CallError) changesLost = error
        if (attempt >= this.count || server === this.#current) throw changesLost ?? error
      }
    }
  }

  /**
   * Makes the settings of a new session, and looks whether its server may be used. They are not parameters of
   * the connection, which poolers refuse.
   *
   * @throws Error if it may not
   */
  async begin(client: Client, server: number): Promise<void> {
    const { last } = this.known
    const isNew = last.sequence === 0
    const parameters = isNew ? [] : [last.sequence, last.atMs]
    const found = await client
      .query<{ standby: boolean; pid: number; presence: unknown }>(
        `SELECT pg_is_in_recovery() AS standby, pg_backend_pid() AS pid,
                ${isNew ? `'${THERE}'` : presenceOf('$3', '$4')} AS presence,
                set_config('statement_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $2, false)`,
        [...this.#settings.map(String), ...parameters],
      )
      .catch((error: unknown) => {
        if (error instanceof DatabaseError && error.code === UNDEFINED_TABLE) return undefined
        throw error
      })
    const [row] = found?.rows ?? []
    if (row?.standby === true)
      throw new Error('this server is a standby and takes no changes; the URL must lead to the primary')
    // Without its tables, the directory has lost everything.
    if (!isThere(row?.presence, last)) throw callError('DIRECTORY_CHANGES_LOST', {})
    const { processID } = client as { processID?: number | null }
    // Otherwise a pooler answers in place of the server.
    if (processID !== row?.pid) await this.#expectSession(client, server)
  }

  /** The poolers of the hosts may have been set up in another way. The next connections look again. */
  forgetPoolers(): void {
    this.#sessions.clear()
  }

  async #expectSession(client: Client, server: number): Promise<void> {
    let looked = this.#sessions.get(server)
    if (looked === undefined) {
      looked = this.#refuseSharedSessions(client, server)
      this.#sessions.set(server, looked)
      looked.catch(() => this.#sessions.delete(server))
    }
    await looked
  }

  /**
   * A pooler may give the session of one connection to another between two statements (transaction mode of
   * PgBouncer). Then this process is not notified of changes, and the findings about a server do not hold for
   * the next statement.
   *
   * @throws Error if it does
   */
  async #refuseSharedSessions(one: Client, server: number): Promise<void> {
    const other = new Client(this.connectionOf(server))
    // The query that fails reports it. Without a listener, Node would end the process.
    other.on('error', () => {})
    try {
      await other.connect()
      const sessions = new Map<Client, Set<string>>([one, other].map((client) => [client, new Set()]))
      // Whichever of its free sessions the pooler takes next, one of the two gets another's.
      for (const client of [one, one, other, other, one, other]) {
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        sessions.get(client)?.add(String(rows[0]?.pid))
      }
      const found = [...sessions.values()].flatMap((own) => [...own])
      if (found.length !== sessions.size || new Set(found).size !== found.length)
        throw new Error(
          'a pooler there gives a session to others between two statements, so notifications of changes would be lost; the URL must lead to PostgreSQL itself or to a pooler in session mode',
        )
    } finally {
      other.connection.stream.destroy()
    }
  }
}

const UNDEFINED_TABLE = '42P01'

/** A connection that is ready when its session has begun. */
export class ServerClient extends Client {
  readonly #servers: Servers
  readonly #server: number

  constructor(servers: Servers, applicationName = 'portcullis') {
    super({ ...servers.connectionOf(servers.current), application_name: applicationName })
    this.#servers = servers
    this.#server = servers.current
    // The query that fails reports it. Without a listener, Node would end the process.
    this.on('error', () => {})
  }

  override connect(): Promise<Client>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
    const connected = this.#connect()
    if (callback === undefined) return connected
    // As `pg` does: without an error it is called with none.
    connected.then(() => (callback as () => void)(), callback)
    return undefined
  }

  async #connect(): Promise<Client> {
    try {
      await super.connect()
      await this.#servers.begin(this, this.#server)
      return this
    } catch (error) {
      this.connection.stream.destroy()
      this.#servers.failed(this.#server)
      throw error
    }
  }
}

/** A URL for each host that the URL names. */
function urlsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? []
  return hosts.includes(',') ? hosts.split(',').map((host) => `${before}${host}${after}`) : [url]
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

const INT8 = 20

/** Returns BIGINT columns (counts, sequences, times) as numbers, as SQLite does, where these are exact. */
const typeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? numberOf : types.getTypeParser(oid, format)

function numberOf(digits: string): number | bigint {
  const found = Number(digits)
  return Number.isSafeInteger(found) ? found : BigInt(digits)
}
