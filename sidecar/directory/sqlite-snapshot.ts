/** A directory in a SQLite file as it is at one moment. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Snapshot } from './snapshot.ts'

/** How long the reader waits for a process that is creating the file, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000

export async function ofSqlite<T>(file: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  if (!existsSync(file)) throw new Error(`${file}: there is no directory`)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    // What is read first decides which state all later reads see.
    database.exec('BEGIN')
    const { user_version: version } = database.prepare('PRAGMA user_version').get() as {
      user_version: number
    }
    return await work(snapshotOf(database, file, version))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === 'ERR_SQLITE_ERROR'
      ? new Error(`${file}: cannot be read as a directory (${message})`)
      : error
  } finally {
    database?.close()
  }
}

function snapshotOf(database: DatabaseSync, file: string, version: number): Snapshot {
  return {
    dialect: 'sqlite',
    version,
    all: async (sql) => database.prepare(sql).all(),
    rows: (sql) => database.prepare(sql).iterate(),
    expectWhole: async () => {
      const problem = damageOf(database)
      if (problem !== undefined)
        throw new Error(`${file}: the directory is damaged (${problem}); restore a backup`)
    },
  }
}

/** What SQLite's comparison of tables and indexes finds, which has a copy of every value that decides about a token. */
export function damageOf(database: DatabaseSync): string | undefined {
  let found: unknown
  try {
    found = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
  } catch (error) {
    found = (error as Error).message
  }
  return found === 'ok' ? undefined : String(found).split('\n').at(-1)
}
