/** The contract of the directory on a real PostgreSQL, with the cache. */
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { CachedDirectory } from '../../../sidecar/directory/cached.ts'
import { openPostgres } from '../../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { DirectoryVerification } from '../../../sidecar/directory/verification.ts'
import { directoryContract } from '../../directory/contract.ts'
import { PostgresServer } from '../../support/postgres/server.ts'

const programs = inject('postgres')

describe.skipIf(!programs.ok)('the directory on PostgreSQL', () => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    if (programs.ok) server = await PostgresServer.start(programs.folder)
  })
  afterAll(() => server?.remove())

  directoryContract(async () => {
    const url = (await server?.newDatabase()) ?? ''
    return {
      location: { type: 'postgres', url },
      asOfVersion: (version) => `UPDATE schema_version SET version = ${version}`,
      open: async (now) => {
        const database = await openPostgres({ url: new Secret(url), poolSize: 5, timeoutMs: 5_000 })
        // Connected as in `openDirectory`: a change must clear the cache.
        const cached = new CachedDirectory(new DirectoryVerification(database), { stalenessMs: 3_600_000 })
        await database.watch({ changed: () => cached.clear(), listening: () => {} })
        return { database, store: new DirectoryStore(database, now, { verification: cached }) }
      },
    }
  })
})
