/**
 * Loaded into the processes of `serve` before their program. SIGWINCH blocks the event loop by a statement
 * of SQLite that does not end, SIGURG by code that does not end.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../../sidecar/directory/sqlite.ts'

process.on('SIGWINCH', () => {
  const database = openSqlite(join(mkdtempSync(join(tmpdir(), 'portcullis-test-')), 'directory.sqlite'))
  database.all(
    'WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number) SELECT MAX(n) FROM number',
  )
})
process.on('SIGURG', () => {
  for (;;);
})
