/** The program of the threads that work on a whole directory file, each with a separate connection. */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { FileWork } from './file-work.ts'
import { PASSING_TABLES, TABLES } from './schema.ts'
import { damageOf } from './sqlite-snapshot.ts'

const { work, path } = workerData as FileWork
if (work === 'search for damage') parentPort?.postMessage({ problem: search() })
else emptyLog()

/** One table at a time: as long as a read lasts, the log of the file cannot be emptied. */
function search(): string | undefined {
  using database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  for (const table of [...TABLES.map(({ name }) => name), ...PASSING_TABLES]) {
    const problem = damageOf(database, table)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Most of it beside other reads and writes, and the rest when it is asked to, while there are no writes. */
function emptyLog(): void {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(PASSIVE)')
  parentPort?.once('message', () => {
    const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    database.close()
    parentPort?.postMessage(busy === 0)
  })
  parentPort?.postMessage('copied')
}
