/** SQLite as the directory's database: one file, read at once, written through a connection of its own. */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { callError } from '../base/call-error.ts'
import { AlreadyExists, type Database, type Parameters, type Queries } from './database.ts'
import { withNumbers } from './named-parameters.ts'
import { migrationsFrom, SCHEMA_VERSION } from './schema.ts'

/** How long a write waits for another process's, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000

/** How often it looks whether the other one is done, in milliseconds. */
const BUSY_RETRY_MS = 5

/**
 * How long a version that was read is relied on, in milliseconds. Reading it takes locks, and under load that is a tenth
 * of a check. No check is stale for it: a change is acknowledged only when every process, this one too, has had to
 * read again, so whoever asks after the acknowledgement is answered by what was changed.
 */
const VERSION_RELIED_ON_MS = 1

/** Opens the file, or creates it for its owner alone, and brings it to the current version. */
export function openSqlite(
  path: string,
): Database & { all(sql: string, parameters?: Parameters): Record<string, unknown>[] } {
  // SQLite gives its side files the permissions of the main one.
  closeSync(openSync(path, 'a', 0o600))
  const writer = new Connection(path)
  writer.migrate(path)
  // From now on it waits for other processes without holding up this one (`transaction`).
  writer.waitForNobody()
  // A transaction waits on promises between its statements; readers must not see it half done.
  const reader = new Connection(path)
  const oneAtATime = pLimit(1)
  return {
    all: (sql, parameters) => reader.all(sql, parameters),
    // The writer is another connection than the reader, so this process's own changes count too.
    version: () => reader.version(),
    transaction: async (work) => {
      const result = await oneAtATime(() => writer.transaction(work))
      await untilSeenByAll(performance.now())
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

  /** Several processes may try at once: the first does it, the others find it done. */
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
      const { text, values } = withNumbers('?', sql, parameters)
      let statement = this.#statements.get(text)
      if (statement === undefined) {
        statement = this.#database.prepare(text)
        this.#statements.set(text, statement)
      }
      return statement.all(...values)
    } catch (error) {
      throw translated(error)
    }
  }

  version(): number {
    // Before the reading: what is committed while it goes on may not be in it.
    const nowMs = performance.now()
    if (nowMs - this.#versionReadAtMs < VERSION_RELIED_ON_MS) return this.#version
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
      throw translated(error)
    }
  }

  waitForNobody(): void {
    this.#database.exec('PRAGMA busy_timeout = 0')
  }

  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      await this.#begin()
      const result = await work(this)
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      // Some failures (a full disk, for one) have rolled back already.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw translated(error)
    }
  }

  /** Takes the lock for writing. While another process has it, everything else in this one goes on. */
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

/** Waits until no version that was read before a moment is relied on any more. A timer alone may ring early. */
async function untilSeenByAll(committedAtMs: number): Promise<void> {
  for (;;) {
    const leftMs = committedAtMs + VERSION_RELIED_ON_MS - performance.now()
    if (leftMs <= 0) return
    await sleep(leftMs)
  }
}

/** SQLite does not wait by itself for another process that is just making the file. */
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

/** A store that fails gives no answer; what it could not do is no business of the caller's. */
function translated(error: unknown): unknown {
  const { code, errcode } = error as { code?: string; errcode?: number }
  if (code !== 'ERR_SQLITE_ERROR') return error
  if (errcode === SQLITE_CONSTRAINT_UNIQUE || errcode === SQLITE_CONSTRAINT_PRIMARYKEY)
    return new AlreadyExists('a row of that name is there already', { cause: error })
  return errcode === SQLITE_FULL
    ? callError('DIRECTORY_FULL', {}, { cause: error })
    : callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
}
