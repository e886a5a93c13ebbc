/**
 * A directory file that is held open, and one that is closed and opened again and again, stay alike under
 * changes and questions of a seed. PostgreSQL beside SQLite is in `test/interop/postgres/alike.test.ts`.
 * `SEED` does the same ones again, and `STEPS` says how many.
 */
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import {
  ApplicationCredentialChange,
  ApplicationCredentialRecords,
} from '../../sidecar/directory/application-credential-records.ts'
import { DirectoryChange } from '../../sidecar/directory/change.ts'
import { FactorChange } from '../../sidecar/directory/factor-change.ts'
import { FactorRecords } from '../../sidecar/directory/factor-records.ts'
import { MatrixVersionRecords } from '../../sidecar/directory/matrix-versions.ts'
import { PanelChange } from '../../sidecar/directory/panel-change.ts'
import { PanelRecords } from '../../sidecar/directory/panel-records.ts'
import { DirectoryRecords } from '../../sidecar/directory/records.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { DirectoryVerification } from '../../sidecar/directory/verification.ts'
import { type Side, staysAlike } from '../support/directory/alike.ts'
import { CHANGES } from '../support/directory/generated-changes.ts'
import { QUESTIONS } from '../support/directory/generated-questions.ts'
import { add, report, SEEDS } from '../support/inputs/seeds.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const STEPS = Number(process.env.STEPS ?? 400)

const CLASSES = [
  ...[DirectoryChange, PanelChange, FactorChange, ApplicationCredentialChange],
  ...[DirectoryRecords, DirectoryVerification, PanelRecords, FactorRecords],
  ...[ApplicationCredentialRecords, MatrixVersionRecords],
]

test.each(CLASSES)('everything that %o does is among the changes and questions', (type) => {
  const methods = Object.entries(Object.getOwnPropertyDescriptors(type.prototype))
    .filter(([name, { get }]) => name !== 'constructor' && get === undefined)
    .map(([name]) => name)
  const tried = { ...CHANGES, ...QUESTIONS }[type.name]
  expect(Object.keys(tried ?? {}).toSorted()).toEqual(methods.toSorted())
})

const sums: Record<string, number> = {}
afterAll(() => report('files', sums))

test.each(SEEDS)(
  'SEED=%i: a file that is opened again is like one that stays open',
  { timeout: 0 },
  async (seed) => {
    const clock = { nowMs: 1_800_000_000_000 }
    const folder = newFolder()
    const open = (name: string): Side => {
      const file = join(folder, name)
      return { place: { file }, store: new DirectoryStore(openSqlite(file), () => clock.nowMs) }
    }
    const held = open('held')
    let again = open('again')
    let turns = 0
    whenTheFileEnds(async () => {
      await held.store.close()
      await again.store.close()
    })
    const done = await staysAlike(seed, STEPS, clock, async () => {
      if (++turns % 200 === 0) {
        await again.store.close()
        again = open('again')
      }
      return [held, again]
    })
    add(sums, done)
    expect(done.changes).toBeGreaterThan(done.refused)
  },
)
