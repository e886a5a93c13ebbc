/**
 * SQLite as the directory's database: one file, with synchronous reads and a separate connection for writes.
 */
import { closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import { callError } from '../base/call-error.ts'
import { expectInRange, isOutOfRange } from './column-ranges.ts'
import { searchForDamage } from './damage-search.ts'
import { AlreadyExists, type Database, type Parameters, type Queries } from './database.ts'
import { DirectoryFiles } from './directory-files.ts'
import { ExchangeWatch } from './exchange-watch.ts'
import { FileChanges, VERSION_AGE_MS_MAX } from './feed/file-changes.ts'
import { LogThread } from './file-work.ts'
import { numberParameters } from './named-parameters.ts'
import { LAST_CHANGE, migrationsFrom, SCHEMA_VERSION } from './schema.ts'
import { causeOf, damageOf } from './sqlite-snapshot.ts'
import { counted } from './statement-count.ts'
import { EmptyingLog, WriteAheadLog } from './write-ahead-log.ts'

/** How long a write waits for a write of another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000

/** Time between two attempts to get the write lock, in milliseconds. */
const BUSY_RETRY_MS = 5

/** A larger log is emptied at once, and not within a second. */
const LOG_BYTES_MAX = 40 * 2 ** 20

/** A larger log is emptied in a thread: here it would take more than some milliseconds. */
const LOG_BYTES_HERE = 4 * 2 ** 20

/** Free pages that stay in the file for new rows, and how many are given back at a time. */
const FREE_PAGES_KEPT = 2_000
const FREE_PAGES_AT_ONCE = 200

/**
 * Time between two looks whether the file was exchanged, while nothing asks for the directory, in
 * milliseconds.
 */
const IDLE_LOOK_MS = 1_000

/** How long those who follow may answer without further word, where nothing else is said, in milliseconds. */
const STALENESS_MS = 5_000

interface FileOptions {
  /** Called once when the file is no longer the one that was opened; from then on every call fails. */
  readonly onReplaced?: (() => void) | undefined
  /** Called once when damage is found in a file that is open; from then on every call fails. */
  readonly onDamaged?: ((problem: string) => void) | undefined
  readonly stalenessMs?: number | undefined
}

/** Reads without waiting. */
export interface SqliteDatabase extends Database {
  all(sql: string, parameters?: Parameters): Record<string, unknown>[]
}

/** A file up to this size is looked through for damage before it opens: some 50 milliseconds. */
const CHECKED_FIRST_BYTES = 16 * 2 ** 20

/**
 * Opens the file, and migrates it to the current schema. A small one is checked for damage before, a large
 * one in a thread afterwards. A new file is readable for its owner only.
 *
 * @throws Error if the file is damaged, or a newer Portcullis wrote it
 */
export function openSqlite(path: string, options: FileOptions = {}): SqliteDatabase {
  createIfMissing(path)
  const isLarge = statSync(path).size > CHECKED_FIRST_BYTES
  const writer = openWriter(path, !isLarge)
  const log = openLog(path)
  const expectLogEmptied = () => writer.expectLogEmptied()
  // A separate connection: a transaction awaits promises between its statements, and readers must not see
  // half of it.
  const reader = new Connection(path)
  const watch = new ExchangeWatch(new DirectoryFiles(path), options.onReplaced ?? (() => {}))
  const stopSearch = isLarge ? searchForDamage(path, (problem) => stop(problem)) : undefined
  const stop = (problem: string) => {
    watch.stop(damaged(path, problem))
    options.onDamaged?.(problem)
  }
  const oneAtATime = pLimit(1)
  const idleLook = setInterval(() => watch.look(), IDLE_LOOK_MS).unref()
  const emptying = new EmptyingLog(() => emptied({ path, log, writer, watch, oneAtATime }))
  return {
    dialect: 'sqlite',
    all: (sql, parameters) => {
      watch.expectSame()
      return reader.all(sql, parameters)
    },
    changes: new FileChanges(reader, watch, options.stalenessMs ?? STALENESS_MS),
    transaction: async (work) => {
      const result = await oneAtATime(async () => {
        watch.expectSameNow()
        if (log.failed) log.recover(expectLogEmptied)
        let lastChange = 0
        const done = await writer.transaction(async (queries) => {
          watch.expectForward(writer.lastChange())
          const result = await work(queries)
          lastChange = writer.lastChange()
          return result
        })
        watch.expectForward(lastChange)
        return done
      })
      const committedAtMs = performance.now()
      if (log.bytes > LOG_BYTES_MAX) emptying.now()
      else emptying.soon()
      await log.sync()
      // Only a change that is in the file of this path is acknowledged.
      watch.expectSameNow()
      await untilOlderVersionsExpire(committedAtMs)
      return result
    },
    durable: () => log.hold(reader.readVersion()),
    shrink: () => oneAtATime(() => writer.shrink()),
    close: async () => {
      clearInterval(idleLook)
      await emptying.stop()
      await stopSearch?.()
      await oneAtATime(() => writer.close())
      await log.close()
      reader.close()
    },
  }
}

interface OpenFile {
  readonly path: string
  readonly log: WriteAheadLog
  readonly writer: Connection
  readonly watch: ExchangeWatch
  readonly oneAtATime: LimitFunction
}

/** Moves the log to the file. Returns whether there is nothing left to do. */
async function emptied({ path, log, writer, watch, oneAtATime }: OpenFile): Promise<boolean> {
  const isLarge = log.bytes > LOG_BYTES_HERE && !log.failed
  await using thread = isLarge ? new LogThread(path) : undefined
  await thread?.copied()
  return await oneAtATime(async () => {
    // A sync by SQLite itself blocks the process, so it should find little.
    await log.sync().catch(() => {})
    if (watch.look()) return true
    if (log.failed) return log.recovers(() => writer.expectLogEmptied())
    return (await thread?.emptied()) ?? writer.emptyLog()
  })
}

/** @throws Error if the file is damaged, or a newer Portcullis wrote it */
function openWriter(path: string, isChecked: boolean): Connection {
  const writer = new Connection(path)
  try {
    if (isChecked) writer.expectWhole(path)
    writer.migrate(path)
  } catch (error) {
    writer.close()
    throw error
  }
  // From now on `transaction` waits for other processes and for the disk itself, without blocking the event
  // loop.
  writer.waitForNothing()
  return writer
}

/** @throws Error if the limit on open files is reached */
function openLog(path: string): WriteAheadLog {
  try {
    return new WriteAheadLog(path)
  } catch (error) {
    throw unusable(path, error)
  }
}

/** Creates the file. SQLite gives its side files the permissions of the main file. */
function createIfMissing(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    // A file that exists is not opened here: closing it would end the locks that this process has on it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

class Connection implements Queries {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #dataVersion: StatementSync | undefined

  constructor(path: string) {
    let database: DatabaseSync | undefined
    try {
      database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
      // Counts only before a file has its first table.
      database.exec('PRAGMA auto_vacuum = INCREMENTAL')
      useWriteAheadLog(database)
      database.exec('PRAGMA synchronous = FULL')
    } catch (error) {
      database?.close()
      throw unusable(path, error)
    }
    this.#database = database
  }

  /**
   * Compares the tables with their indexes, which have a copy of every value that decides about a token.
   *
   * @throws Error if the file is damaged
   */
  expectWhole(path: string): void {
    let problem: string | undefined
    try {
      problem = counted(() => damageOf(this.#database))
    } catch (error) {
      throw unusable(path, error)
    }
    if (problem !== undefined) throw damaged(path, problem)
  }

  /** Number of the last change. */
  lastChange(): number {
    return Number(this.all(LAST_CHANGE)[0]?.last)
  }

  /**
   * Moves the content of the log into the file. Returns whether it is empty now; it is not while another
   * process reads it.
   */
  emptyLog(): boolean {
    try {
      return this.#checkpoint()
    } catch (error) {
      if (isBusy(error)) return false
      // A full disk or a failing one: changes report it, and the next change tries again.
      return true
    }
  }

  /** After this, the pages of the log are in the file, which is synced. @throws CallError if that fails */
  expectLogEmptied(): void {
    try {
      if (this.#checkpoint()) return
    } catch (error) {
      throw toDirectoryError(error)
    }
    throw callError('DIRECTORY_UNAVAILABLE', {})
  }

  #checkpoint(): boolean {
    return counted(() => this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0)
  }

  /** A file of a version before 13 keeps its size: its pages have no map. @see Database.shrink */
  shrink(): boolean {
    try {
      const free = this.#freePages()
      if (free <= FREE_PAGES_KEPT) return false
      this.#execute(`PRAGMA incremental_vacuum(${FREE_PAGES_AT_ONCE})`)
      return this.#freePages() < free
    } catch (error) {
      if (isBusy(error)) return false
      throw toDirectoryError(error)
    }
  }

  #freePages(): number {
    return Number(this.#database.prepare('PRAGMA freelist_count').get()?.freelist_count)
  }

  /**
   * Several processes may call this at the same time: the first one migrates, and the others find it done.
   */
  migrate(path: string): void {
    try {
      this.#execute('BEGIN IMMEDIATE')
      const { user_version: version } = this.#database.prepare('PRAGMA user_version').get() as {
        user_version: number
      }
      for (const step of migrationsFrom(version, 'sqlite', path)) this.#execute(step)
      this.#execute(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`)
    } catch (error) {
      if (this.#database.isTransaction) this.#execute('ROLLBACK')
      throw (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR' ? unusable(path, error) : error
    }
  }

  all(sql: string, parameters: Parameters = {}): Record<string, unknown>[] {
    try {
      const { text, values } = numberParameters('?', sql, parameters)
      let statement = this.#statements.get(text)
      if (statement === undefined) {
        statement = this.#database.prepare(text)
        this.#statements.set(text, statement)
      }
      return counted(() => statement.all(...values)).map(expectInRange)
    } catch (error) {
      throw toDirectoryError(error)
    }
  }

  /** A number that changes with every commit of another connection. */
  readVersion(): number {
    try {
      if (this.#dataVersion === undefined) {
        this.#dataVersion = this.#database.prepare('PRAGMA data_version')
        this.#dataVersion.setReturnArrays(true)
      }
      return (this.#dataVersion.get() as unknown as [number])[0]
    } catch (error) {
      throw toDirectoryError(error)
    }
  }

  /**
   * With `NORMAL`, SQLite syncs the log before its content goes to the file, and the file before the log
   * begins anew, but not at each commit. The log goes to the file every second, and not at commits as well.
   */
  waitForNothing(): void {
    this.#database.exec(`PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0`)
  }

  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      await this.#begin()
      const result = await work(this)
      this.#execute('COMMIT')
      return result
    } catch (error) {
      // After some failures, for example a full disk, SQLite has already rolled back.
      if (this.#database.isTransaction) this.#execute('ROLLBACK')
      throw toDirectoryError(error)
    }
  }

  /** Takes the write lock. While another process holds it, other work of this process continues. */
  async #begin(): Promise<void> {
    const deadline = performance.now() + BUSY_TIMEOUT_MS
    for (;;)
      try {
        this.#execute('BEGIN IMMEDIATE')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
        await sleep(BUSY_RETRY_MS)
      }
  }

  #execute(sql: string): void {
    counted(() => this.#database.exec(sql))
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }
}

function damaged(path: string, problem: string): Error {
  return new Error(`${path}: the directory is damaged (${problem}); restore a backup`)
}

function unusable(path: string, error: unknown): Error {
  return new Error(`${path}: cannot be used as a directory (${causeOf(error)})`)
}

/**
 * Waits until no process uses a version that it read before the commit. It checks the clock because a timer
 * may fire early.
 */
async function untilOlderVersionsExpire(committedAtMs: number): Promise<void> {
  for (;;) {
    const leftMs = committedAtMs + VERSION_AGE_MS_MAX - performance.now()
    if (leftMs <= 0) return
    await sleep(leftMs)
  }
}

/**
 * Switches to a write-ahead log. SQLite itself does not wait for another process that is just creating the
 * file.
 */
function useWriteAheadLog(database: DatabaseSync): void {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  for (;;)
    try {
      database.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === SQLITE_BUSY
}

const SQLITE_BUSY = 5
const SQLITE_FULL = 13
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555
const SQLITE_CONSTRAINT_UNIQUE = 2067

/** Translates an error of SQLite. The client learns that the store failed, but not the details. */
function toDirectoryError(error: unknown): unknown {
  const { code, errcode } = error as { code?: string; errcode?: number }
  if (isOutOfRange(error)) return callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
  if (code !== 'ERR_SQLITE_ERROR') return error
  if (errcode === SQLITE_CONSTRAINT_UNIQUE || errcode === SQLITE_CONSTRAINT_PRIMARYKEY)
    return new AlreadyExists('a row with that name already exists', { cause: error })
  return errcode === SQLITE_FULL
    ? callError('DIRECTORY_FULL', {}, { cause: error })
    : callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
}
