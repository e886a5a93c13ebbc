/**
 * A model of PostgreSQL for a simulated fleet: sessions, transactions one at a time, as if all of them were
 * about the same rows, and notifications at the commit. A standby is promoted with or without the last
 * changes. The statements are those of the product, which run on SQLite.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { migrationsFrom, SCHEMA_VERSION } from '../../../sidecar/directory/schema.ts'
import { restorationOf } from './restoration.ts'
import { Machine, time } from './time.ts'

export type Rows = Record<string, unknown>[]

/** The client of a session, which gets its notifications. */
export interface SessionListener {
  readonly machine: Machine | undefined
  notified(payload: string): void
}

/** An error that the server reports, with its SQLSTATE. */
export class ServerError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const UNIQUE_VIOLATION = '23505'
const SQLITE_CONSTRAINT = 19
/** How long a session may do nothing in a transaction, in milliseconds: as the product asks for it. */
const IDLE_IN_TRANSACTION_MS = 10_000

const BOOLEANS = new Set(['standby'])

export class PostgresServer {
  readonly machine = new Machine('postgres')
  /** Called after each commit that recorded changes, when it counts. */
  onCommit: () => void = () => {}
  /** Whether a notification does not reach a session, as where something between them drops it. */
  losesNotification: () => boolean = () => false
  readonly #folder: string
  #files = 0
  #reader: DatabaseSync
  #writer: DatabaseSync
  #reads = new Map<string, StatementSync>()
  #writes = new Map<string, StatementSync>()
  #standby: string | undefined
  readonly #sessions = new Set<Session>()
  #sessionIds = 0
  /** The session whose transaction runs, and those that wait for it. */
  #holder: Session | undefined
  #waiting: { readonly session: Session; readonly granted: () => void }[] = []
  #notifications: string[] = []
  #burden = { untilMs: 0, ms: 0 }

  /** @param content a file that `save` wrote; default: a directory without a record */
  constructor(folder: string, content = templateIn(folder)) {
    this.#folder = mkdtempSync(join(folder, 'postgres-'))
    const file = this.#newFile()
    copyFileSync(content, file)
    ;[this.#reader, this.#writer] = this.#open(file)
  }

  close(): void {
    this.#reader.close()
    this.#writer.close()
    rmSync(this.#folder, { recursive: true })
  }

  #newFile(): string {
    return join(this.#folder, `${this.#files++}.sqlite`)
  }

  #open(file: string): [reader: DatabaseSync, writer: DatabaseSync] {
    this.#reads = new Map()
    this.#writes = new Map()
    const writer = new DatabaseSync(file)
    writer.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
    const reader = new DatabaseSync(file)
    for (const database of [reader, writer]) {
      const define = (name: string, work: (...given: never[]) => SQLInputValue) =>
        database.function(name, { varargs: true }, work as never)
      define('pg_is_in_recovery', () => 0)
      define('set_config', () => '')
      define('current_setting', () => 'UTF8')
      define('to_regclass', (name: string) => name)
      define('pg_backend_pid', () => this.#asking?.id ?? 0)
      define('pg_notify', (_channel: string, payload: string) => {
        this.#notifications.push(payload)
        return ''
      })
    }
    return [reader, writer]
  }

  #asking: Session | undefined

  /** Opens a session. @param lost called when the server ends it */
  connect(listener: SessionListener, lost: () => void): Session {
    const session = new Session(this, ++this.#sessionIds, listener, lost)
    this.#sessions.add(session)
    return session
  }

  /** Asks without a session, as the truth. */
  all(text: string, values: readonly SQLInputValue[] = []): Rows {
    return rowsOf(this.#statement(this.#reads, this.#reader, text), values)
  }

  /** @internal */
  run(session: Session, text: string, given: readonly unknown[]): Rows {
    if (text.includes('unnest(')) return this.#insert(session, text, given as readonly SQLInputValue[][])
    const values = given.map((value) =>
      Array.isArray(value) ? JSON.stringify(value) : value,
    ) as SQLInputValue[]
    this.#asking = session
    try {
      const inside = session === this.#holder
      const database = inside ? this.#writer : this.#reader
      return rowsOf(this.#statement(inside ? this.#writes : this.#reads, database, text), values)
    } catch (error) {
      const { errcode = 0, message } = error as { errcode?: number; message: string }
      throw new ServerError((errcode & 0xff) === SQLITE_CONSTRAINT ? UNIQUE_VIOLATION : 'XX000', message)
    } finally {
      this.#asking = undefined
    }
  }

  /** The rows of a statement whose values are columns. */
  #insert(session: Session, text: string, [first = [], ...columns]: readonly SQLInputValue[][]): Rows {
    const row = text.replace(/SELECT \* FROM unnest\((.*)\)/, 'VALUES ($1)').replaceAll(/::\w+\[\]/g, '')
    return first.flatMap((value, index) =>
      this.run(session, row, [value, ...columns.map((column) => column[index] ?? null)]),
    )
  }

  #statement(statements: Map<string, StatementSync>, database: DatabaseSync, text: string): StatementSync {
    let statement = statements.get(text)
    if (statement === undefined) {
      statement = database.prepare(inSqlite(text))
      statements.set(text, statement)
    }
    return statement
  }

  /** @internal Begins a transaction when no other one runs, and calls `granted` then. */
  begin(session: Session, granted: () => void): void {
    if (this.#holder === undefined) this.#grant(session, granted)
    else this.#waiting.push({ session, granted })
  }

  #grant(session: Session, granted: () => void): void {
    this.#holder = session
    this.#notifications = []
    this.#writer.exec('BEGIN IMMEDIATE')
    granted()
  }

  /** @internal */
  end(session: Session, commits: boolean): void {
    this.#waiting = this.#waiting.filter((each) => each.session !== session)
    if (this.#holder !== session) return
    this.#holder = undefined
    const notifications = this.#notifications.splice(0)
    this.#writer.exec(commits ? 'COMMIT' : 'ROLLBACK')
    if (commits) {
      for (const payload of notifications) for (const each of this.#sessions) each.notify(payload)
      this.onCommit()
    }
    const next = this.#waiting.shift()
    if (next !== undefined) this.#grant(next.session, next.granted)
  }

  /** @internal */
  left(session: Session): void {
    this.#sessions.delete(session)
    this.end(session, false)
  }

  /** Ends a session, as `pg_terminate_backend` does. */
  terminate(pick: (sessions: readonly Session[]) => Session | undefined): void {
    pick([...this.#sessions])?.terminate()
  }

  /** A machine has ended, and so have its connections. The server is notified. */
  ended(machine: Machine): void {
    for (const session of [...this.#sessions]) if (session.machine === machine) session.leave()
  }

  /**
   * For about this time no answer of the server arrives on the sessions of a machine, as when packets are
   * lost and sent again. Each session is silent for another time.
   */
  silence(machine: Machine, msOf: () => number): void {
    for (const session of this.#sessions)
      if (session.machine === machine) session.silentUntilMs = time.nowMs + msOf()
  }

  /** For this time each statement takes `ms` longer: the server has too much to do. */
  burden(untilMs: number, ms: number): void {
    this.#burden = { untilMs, ms }
  }

  /** How much longer a statement takes that is asked now, in milliseconds. */
  get statementMs(): number {
    return time.nowMs < this.#burden.untilMs ? this.#burden.ms : 0
  }

  save(file: string): void {
    this.#reader.exec(`VACUUM INTO '${file}'`)
  }

  /** Whether no transaction is open, and none waits. */
  get isIdle(): boolean {
    return this.#holder === undefined && this.#waiting.length === 0
  }

  /** Changes something as if time had passed for it. Returns whether it did: no transaction may be open. */
  alter(text: string, values: readonly SQLInputValue[]): boolean {
    if (this.#holder !== undefined) return false
    this.#statement(this.#writes, this.#writer, text).run(...values)
    return true
  }

  /** Whether there is a standby, which is behind. */
  get hasStandby(): boolean {
    return this.#standby !== undefined
  }

  /** A standby has everything that was changed until now, and nothing that is changed from now on. */
  replicate(): void {
    this.#standby = this.#newFile()
    this.save(this.#standby)
  }

  /**
   * Another server takes its place, and all sessions end.
   *
   * @param synchronous whether it has all changes; otherwise those since `replicate` are lost
   * @returns whether it did
   */
  failOver(synchronous: boolean): boolean {
    if (!synchronous && this.#standby === undefined) return false
    for (const session of [...this.#sessions]) session.terminate()
    if (synchronous) return true
    const file = this.#standby as string
    this.#standby = undefined
    this.#reader.close()
    this.#writer.close()
    ;[this.#reader, this.#writer] = this.#open(file)
    this.onCommit()
    return true
  }

  /** Does the work of `portcullis restore --replace --end-tokens`: no token counts that was issued before. */
  endTokens(nowMs: number): void {
    if (this.#holder !== undefined) return void time.after(1, () => this.endTokens(nowMs))
    const [last] = this.all('SELECT COALESCE(MAX(sequence), 0) AS last FROM audit')
    const change = Math.max(nowMs, Number(last?.last) + 1)
    this.#writer.exec(`BEGIN IMMEDIATE; ${restorationOf(change, nowMs)}; COMMIT`)
    for (const each of this.#sessions) each.notify(`${change} ${nowMs}`)
    this.onCommit()
  }
}

/** A session at the server. Its statements are answered one after the other. */
export class Session {
  readonly id: number
  /** Until then what the server says is on its way. */
  silentUntilMs = 0
  readonly #server: PostgresServer
  readonly #listener: SessionListener
  readonly #lost: () => void
  #listens = false
  #isOver = false
  #inTransaction = false
  #idle: { cancel(): void } | undefined

  constructor(server: PostgresServer, id: number, listener: SessionListener, lost: () => void) {
    this.#server = server
    this.id = id
    this.#listener = listener
    this.#lost = lost
  }

  get machine(): Machine | undefined {
    return this.#listener.machine
  }

  /** Runs a statement. @param answer called with the rows or an error; never after the session's end */
  ask(text: string, values: readonly unknown[], answer: (result: Rows | ServerError) => void): void {
    if (this.#isOver) return
    this.#idle?.cancel()
    const done = (result: Rows | ServerError) => {
      if (this.#isOver) return
      if (this.#inTransaction) this.#idle = time.after(IDLE_IN_TRANSACTION_MS, () => this.terminate())
      answer(result)
    }
    const [word] = text.trimStart().split(/[\s;]/, 1)
    if (word === 'LISTEN') {
      this.#listens = true
      done([])
    } else if (word === 'BEGIN') {
      this.#inTransaction = true
      this.#server.begin(this, () => done([]))
    } else if (word === 'COMMIT' || word === 'ROLLBACK') {
      this.#inTransaction = false
      this.#server.end(this, word === 'COMMIT')
      done([])
    } else if (text.includes('pg_advisory_xact_lock') || text.startsWith('ALTER TABLE audit')) done([])
    else done(this.#run(text, values))
  }

  /** Runs statements one after the other, until one of them fails. */
  askAll(
    statements: readonly { readonly text: string; readonly values?: readonly unknown[] }[],
    answer: (results: Rows[] | ServerError) => void,
  ): void {
    const results: Rows[] = []
    const askFrom = (index: number): void => {
      const { text, values = [] } = statements[index] ?? { text: '' }
      this.ask(text, values, (result) => {
        if (result instanceof ServerError) answer(result)
        else if (results.push(result) === statements.length) answer(results)
        else askFrom(index + 1)
      })
    }
    askFrom(0)
  }

  #run(text: string, values: readonly unknown[]): Rows | ServerError {
    try {
      return this.#server.run(this, text, values)
    } catch (error) {
      return error as ServerError
    }
  }

  notify(payload: string): void {
    if (this.#listens && !this.#isOver && !this.#server.losesNotification()) this.#listener.notified(payload)
  }

  /** The server ends it. */
  terminate(): void {
    if (this.#isOver) return
    this.leave()
    this.#lost()
  }

  /** The client has ended it. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#idle?.cancel()
    this.#server.left(this)
  }
}

let template: string | undefined

/** A directory without a record. Made once, because the migrations take longer than a simulated minute. */
function templateIn(folder: string): string {
  if (template !== undefined) return template
  template = join(folder, 'template.sqlite')
  const database = new DatabaseSync(template)
  database.exec('PRAGMA synchronous = OFF')
  for (const step of migrationsFrom(0, 'sqlite', 'a model')) database.exec(step)
  database.exec(
    `DROP TRIGGER audit_not_deleted; CREATE TABLE schema_version (version INTEGER NOT NULL);
     INSERT INTO schema_version (version) VALUES (${SCHEMA_VERSION})`,
  )
  database.close()
  return template
}

function inSqlite(text: string): string {
  return text
    .replace(/ FOR (SHARE|NO KEY UPDATE|KEY SHARE)$/, '')
    .replaceAll(/= ANY\((\$\d+)::text\[\]\)/g, 'IN (SELECT value FROM json_each($1))')
    .replaceAll('jsonb_agg(', 'json_group_array(')
    .replaceAll('jsonb_build_object(', 'json_object(')
    .replaceAll(/\$(\d+)/g, '?$1')
}

/** The answer to a statement, as PostgreSQL would write it. */
export function rowsOf(statement: StatementSync, values: readonly SQLInputValue[]): Rows {
  const rows = statement.all(...values) as Rows
  for (const row of rows)
    for (const [name, value] of Object.entries(row))
      if (value instanceof Uint8Array) row[name] = Buffer.from(value)
      else if (BOOLEANS.has(name)) row[name] = value === 1
  return rows
}
