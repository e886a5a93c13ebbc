/** The program of the thread that looks for damage in a directory file, with a separate connection. */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { SearchResult } from './damage-search.ts'
import { PASSING_TABLES, TABLES } from './schema.ts'
import { damageOf } from './sqlite-snapshot.ts'

const result: SearchResult = { problem: search(String(workerData)) }
parentPort?.postMessage(result)

/** One table at a time: as long as a read lasts, the log of the file cannot be emptied. */
function search(path: string): string | undefined {
  using database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  for (const table of [...TABLES.map(({ name }) => name), ...PASSING_TABLES]) {
    const problem = damageOf(database, table)
    if (problem !== undefined) return problem
  }
  return undefined
}
