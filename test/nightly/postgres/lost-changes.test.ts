/**
 * Servers that have lost changes: the last change that a process remembers is compared with that of each new
 * connection.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres } from '../../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { PostgresServer } from '../../support/postgres/server.ts'

const programs = inject('postgres')
const LOST = 'DIRECTORY_CHANGES_LOST'
const UNPROTECTED = 'ALTER TABLE audit DISABLE TRIGGER ALL'

describe.skipIf(!programs.ok)('a process that knows of a change', () => {
  let server: PostgresServer
  beforeAll(async () => {
    if (programs.ok) server = await PostgresServer.start(programs.folder)
  })
  afterAll(() => server?.remove())

  /** A fault of the directory's records, and the outcome of a query on the next connection. */
  const CASES: readonly (readonly [what: string, sql: string, outcome: 'answered' | typeof LOST])[] = [
    ['is answered where it is there', 'SELECT 1', 'answered'],
    [
      'is not answered where it is missing',
      `${UNPROTECTED}; DELETE FROM audit WHERE sequence = (SELECT MAX(sequence) FROM audit)`,
      LOST,
    ],
    [
      'is not answered where it is missing and later ones have higher numbers',
      `${UNPROTECTED}; DELETE FROM audit WHERE sequence = (SELECT MAX(sequence) FROM audit);
       INSERT INTO audit (at_ms, actor, action, account, subject, details) SELECT 1, 'x', 'x', 'x', 'x', '{}' FROM generate_series(1, 50)`,
      LOST,
    ],
    [
      'is not answered where another one has its number',
      `${UNPROTECTED}; UPDATE audit SET at_ms = at_ms - 1 WHERE sequence = (SELECT MAX(sequence) FROM audit)`,
      LOST,
    ],
    ['is not answered where the tables are new', 'DROP TABLE audit', LOST],
    [
      'is answered where a restoration has ended the tokens of that time',
      `${UNPROTECTED}; INSERT INTO restorations (after_change, change) SELECT MAX(sequence) - 1, MAX(sequence) + 1000 FROM audit;
       DELETE FROM audit WHERE sequence = (SELECT MAX(sequence) FROM audit)`,
      'answered',
    ],
    [
      'is answered where it was moved to the archive',
      `${UNPROTECTED}; INSERT INTO audit (at_ms, actor, action, account, subject, details)
         SELECT 1, 'x', 'audit.archive', '', 'x', '{"through":' || MAX(sequence) || '}' FROM audit;
       DELETE FROM audit WHERE action <> 'audit.archive'`,
      'answered',
    ],
  ]

  test.each(CASES)('%s', async (_what, sql, outcome) => {
    const url = await server.newDatabase()
    const database = await openPostgres({
      url: new Secret(url),
      poolSize: 2,
      timeoutMs: 60_000,
    })
    try {
      const store = new DirectoryStore(database, Date.now)
      for (const account of ['1', '2'])
        await store.change('a test', (change) => change.createAccount(account))
      const name = new URL(url).pathname.slice(1)
      await server.query(name, sql)
      await server.query(
        'postgres',
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      )
      // The end of a connection is found by the first query, or before it.
      await Promise.resolve(database.all('SELECT 1')).catch(() => {})
      const answer = await Promise.resolve(database.all('SELECT 1')).then(
        () => 'answered',
        ({ reason }: { reason?: string }) => reason,
      )
      expect(answer).toBe(outcome)
      await database.changes.look()
      expect(database.changes.outage()?.reason).toBe(outcome === LOST ? LOST : undefined)
    } finally {
      await database.close()
    }
  })
})
