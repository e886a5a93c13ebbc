/** A directory in a SQLite file as it is at one moment. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { lacksDescriptors } from '../base/net/descriptors.ts'
import { DamagedDirectory, type Snapshot } from './snapshot.ts'

/** How long the reader waits for a process that is creating the file, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000

export async function ofSqlite<T>(file: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  if (!existsSync(file)) throw new Error(`${file}: there is no directory`)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    // The first read decides which state all later reads see.
    database.exec('BEGIN')
    const { user_version: version } = database.prepare('PRAGMA user_version').get() as {
      user_version: number
    }
    return await work(snapshotOf(database, file, version))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_SQLITE_ERROR') throw error
    const message = `${file}: cannot be read as a directory (${causeOf(error)})`
    throw isDamage(error) ? new DamagedDirectory(message) : new Error(message)
  } finally {
    database?.close()
  }
}

function snapshotOf(database: DatabaseSync, file: string, version: number): Snapshot {
  return {
    dialect: 'sqlite',
    version,
    all: async (sql) => database.prepare(sql).all(),
    rows: (sql) => {
      const statement = database.prepare(sql)
      statement.setReadBigInts(true)
      return statement.iterate()
    },
    expectWhole: async () => {
      const problem = damageOf(database)
      if (problem !== undefined)
        throw new DamagedDirectory(`${file}: the directory is damaged (${problem}); restore a backup`)
    },
  }
}

/**
 * The findings of SQLite's comparison of tables and indexes; an index has a copy of every value that decides
 * about a token.
 *
 * @param table the one that is looked at; default: the whole file
 * @throws Error of SQLite if they cannot be compared, which does not judge the file
 */
export function damageOf(database: DatabaseSync, table = '1'): string | undefined {
  try {
    const found = database.prepare(`PRAGMA integrity_check(${table})`).get()?.integrity_check
    return found === 'ok' ? undefined : String(found).split('\n').at(-1)
  } catch (error) {
    if (!isDamage(error)) throw error
    return (error as Error).message
  }
}

/** Whether SQLite says that what is in the file is wrong. */
export function isDamage(error: unknown): boolean {
  return DAMAGED.has(primaryCodeOf(error))
}

/**
 * Why SQLite failed, in words that a person can act on: it does not distinguish a lack of descriptors from a
 * missing file.
 */
export function causeOf(error: unknown): string {
  const isRefused = primaryCodeOf(error) === SQLITE_CANTOPEN && lacksDescriptors(FILES)
  return isRefused || (error as NodeJS.ErrnoException).code === 'EMFILE'
    ? 'the limit on open files is reached; raise it: see `ulimit -n`'
    : (error as Error).message
}

/** Without what SQLite adds to a code in its upper bytes. */
function primaryCodeOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff
}

const SQLITE_CANTOPEN = 14

/** Files of a connection: the database, its log, the index of the log, and their folder for a moment. */
const FILES = 4

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26])
