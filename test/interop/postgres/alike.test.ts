/**
 * SQLite and PostgreSQL under the same changes and questions of a seed: the same answers and errors after
 * each step, and the same rows in the end. `SEED` does the same ones again, and `STEPS` says how many.
 */
import { join } from 'node:path'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres } from '../../../sidecar/directory/postgres.ts'
import { openSqlite } from '../../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { type Side, staysAlike } from '../../support/directory/alike.ts'
import { add, report, SEEDS } from '../../support/inputs/seeds.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { newFolder, whenTheFileEnds } from '../../support/suite/resources.ts'

const programs = inject('postgres')

const STEPS = Number(process.env.STEPS ?? 3_000)

/**
 * A change that was undone has used up its number on PostgreSQL alone. It is given back, to compare all
 * others.
 */
const GIVE_BACK = `
  SELECT setval(pg_get_serial_sequence('audit', 'sequence'), GREATEST(MAX(sequence), 1), COUNT(*) > 0) FROM audit`

const sums: Record<string, number> = {}
if (programs.ok) afterAll(() => report('stores', sums))

describe.skipIf(!programs.ok)('SQLite and PostgreSQL', async () => {
  if (!programs.ok) return
  const server = await PostgresServer.start(programs.folder)
  whenTheFileEnds(() => server.remove())

  test.each(SEEDS)('SEED=%i: stay alike', { timeout: 0 }, async (seed) => {
    const clock = { nowMs: 1_800_000_000_000 }
    const now = () => clock.nowMs
    const file = join(newFolder(), 'directory.sqlite')
    const url = new Secret(await server.newDatabase())
    const shared = await openPostgres({ url, poolSize: 5, timeoutMs: 60_000, stalenessMs: 3_600_000 })
    await shared.follow()
    const sides: readonly [Side, Side] = [
      { place: { file }, store: new DirectoryStore(openSqlite(file), now) },
      {
        place: { file: '', shared: { url, timeoutMs: 60_000 } },
        store: new DirectoryStore(shared, now),
        afterFailure: async () => shared.all(GIVE_BACK),
      },
    ]
    for (const { store } of sides) whenTheFileEnds(() => store.close())
    const done = await staysAlike(seed, STEPS, clock, async () => sides)
    add(sums, done)
    expect(done.changes).toBeGreaterThan(done.refused)
  })
})
