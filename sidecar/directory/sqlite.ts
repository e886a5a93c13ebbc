/** SQLite as the directory's database: one file, with synchronous reads and a separate connection for writes. */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { callError } from '../base/call-error.ts'
import { AlreadyExists, type Database, type Parameters, type Queries } from './database.ts'
import { numberParameters } from './named-parameters.ts'
import { migrationsFrom, SCHEMA_VERSION } from './schema.ts'

/** How long a write waits for a write of another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000

/** Time between two attempts to get the write lock, in milliseconds. */
const BUSY_RETRY_MS = 5

/**
 * How long the version that was read last is used, in milliseconds. Reading it takes locks, which under load is a tenth of
 * a check. Checks do not become stale: a change is acknowledged only after this time, when every process must read the
 * version again. So a check after the acknowledgement sees the change.
 */
const VERSION_AGE_MS_MAX = 1

/** Opens the file and migrates it to the current schema. A new file is readable for its owner only. */
export function openSqlite(
  path: string,
): Database & { all(sql: string, parameters?: Parameters): Record<string, unknown>[] } {
  // SQLite gives its side files the permissions of the main file.
  closeSync(openSync(path, 'a', 0o600))
  const writer = new Connection(path)
  writer.migrate(path)
  // From now on `transaction` waits for other processes itself, without blocking the event loop.
  writer.disableBusyTimeout()
  // A separate connection: a transaction awaits promises between its statements, and readers must not see half of it.
  const reader = new Connection(path)
  const oneAtATime = pLimit(1)
  return {
    all: (sql, parameters) => reader.all(sql, parameters),
    // `data_version` counts changes by other connections. The writer is one, so changes of this process count too.
    version: () => reader.version(),
    transaction: async (work) => {
      const result = await oneAtATime(() => writer.transaction(work))
      await untilOlderVersionsExpire(performance.now())
      return result
    },
    close: async () => {
      await oneAtATime(() => writer.close())
      reader.close()
    },
  }
}

class Connection implements Queries {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #dataVersion: StatementSync | undefined
  #version = 0
  #versionReadAtMs = Number.NEGATIVE_INFINITY

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
    try {
      useWriteAheadLog(this.#database)
      this.#database.exec('PRAGMA synchronous = FULL')
    } catch (error) {
      this.#database.close()
      throw new Error(`${path}: cannot be used as a directory (${(error as Error).message})`)
    }
  }

  /** Several processes may call this at the same time: the first one migrates, and the others find it done. */
  migrate(path: string): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const { user_version: version } = this.#database.prepare('PRAGMA user_version').get() as {
        user_version: number
      }
      for (const step of migrationsFrom(version, 'sqlite', path)) this.#database.exec(step)
      this.#database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`)
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
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
      return statement.all(...values)
    } catch (error) {
      throw toDirectoryError(error)
    }
  }

  version(): number {
    // The time is taken before the reading, which may miss what is committed meanwhile.
    const nowMs = performance.now()
    if (nowMs - this.#versionReadAtMs < VERSION_AGE_MS_MAX) return this.#version
    this.#version = this.#readVersion()
    this.#versionReadAtMs = nowMs
    return this.#version
  }

  #readVersion(): number {
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

  disableBusyTimeout(): void {
    this.#database.exec('PRAGMA busy_timeout = 0')
  }

  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      await this.#begin()
      const result = await work(this)
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      // After some failures, for example a full disk, SQLite has already rolled back.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw toDirectoryError(error)
    }
  }

  /** Takes the write lock. While another process holds it, other work of this process continues. */
  async #begin(): Promise<void> {
    const deadline = performance.now() + BUSY_TIMEOUT_MS
    for (;;)
      try {
        this.#database.exec('BEGIN IMMEDIATE')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
        await sleep(BUSY_RETRY_MS)
      }
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }
}

/** Waits until no process uses a version that it read before the commit. It checks the clock because a timer may fire early. */
async function untilOlderVersionsExpire(committedAtMs: number): Promise<void> {
  for (;;) {
    const leftMs = committedAtMs + VERSION_AGE_MS_MAX - performance.now()
    if (leftMs <= 0) return
    await sleep(leftMs)
  }
}

/** Switches to a write-ahead log. SQLite itself does not wait for another process that is just creating the file. */
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
  if (code !== 'ERR_SQLITE_ERROR') return error
  if (errcode === SQLITE_CONSTRAINT_UNIQUE || errcode === SQLITE_CONSTRAINT_PRIMARYKEY)
    return new AlreadyExists('a row with that name already exists', { cause: error })
  return errcode === SQLITE_FULL
    ? callError('DIRECTORY_FULL', {}, { cause: error })
    : callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
}
