/** The contract of the directory on a real PostgreSQL, which is followed. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres } from '../../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { directoryContract } from '../../directory/contract.ts'
import { growthOf, noting, unseenTexts, withFeed } from '../../support/directory/statements.ts'
import { postgresPlans } from '../../support/postgres/plans.ts'
import { PostgresServer } from '../../support/postgres/server.ts'

const programs = inject('postgres')

describe.skipIf(!programs.ok)('the directory on PostgreSQL', () => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    if (programs.ok) server = await PostgresServer.start(programs.folder)
  })
  afterAll(() => server?.remove())

  const seen = new Set<string>()
  directoryContract(async () => {
    const url = (await server?.newDatabase()) ?? ''
    return {
      location: { type: 'postgres', url },
      write: async (version, statements) => {
        const versions = `CREATE TABLE schema_version (version INTEGER NOT NULL);
          INSERT INTO schema_version VALUES (${version})`
        for (const statement of [...statements, versions])
          await server?.query(new URL(url).pathname.slice(1), statement)
      },
      open: async (now) => {
        const limits = { poolSize: 5, timeoutMs: 60_000, stalenessMs: 3_600_000 }
        const database = await openPostgres({ url: new Secret(url), ...limits })
        // As in `openDirectory`: what is remembered must be dropped by the changes that touch it.
        await database.follow()
        return { database, store: new DirectoryStore(noting(database, seen), now) }
      },
    }
  })

  test('the statements of the contract are all that the sources have', () => {
    expect(unseenTexts(withFeed(seen))).toEqual([])
  })

  test('the statements of the contract do not grow with a directory of 10⁷ rows', async () => {
    const url = (await server?.newDatabase()) ?? ''
    await (await openPostgres({ url: new Secret(url), poolSize: 1, timeoutMs: 60_000 })).close()
    const plans = await postgresPlans(url, withFeed(seen))
    expect(plans.flatMap(([sql, plan]) => growthOf(sql, plan) ?? [])).toEqual([])
  })
})
