/** The contract of the directory on SQLite. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { startWriter } from '../support/directory/writer.ts'
import { newFolder } from '../support/resources.ts'
import { expectWhole } from './contract/processes.ts'
import { directoryContract } from './contract.ts'

const folder = newFolder()

let places = 0
directoryContract(async () => {
  const file = join(folder, `${places++}.sqlite`)
  return {
    location: { type: 'sqlite', file },
    asOfVersion: (version) => `PRAGMA user_version = ${version}`,
    open: async (now) => {
      const database = openSqlite(file)
      return { database, store: new DirectoryStore(database, now) }
    },
  }
})

test('while another process holds the write lock, other work of this process continues', async () => {
  const file = join(folder, 'locked.sqlite')
  const store = new DirectoryStore(openSqlite(file), Date.now)
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  const changing = store.change('test', (change) => change.createAccount('later'))
  // If this thread were blocked, the other writer could never finish, because it runs in the same thread.
  await new Promise((resolve) => setImmediate(resolve))
  expect(await store.records.account('later')).toBeUndefined()
  other.exec('ROLLBACK')
  await changing
  expect(await store.records.account('later')).toMatchObject({ account: 'later' })
  other.close()
  await store.close()
})

test('a file that cannot grow keeps its records, refuses changes and answers queries', async () => {
  const file = join(folder, 'full.sqlite')
  const writer = startWriter({ type: 'sqlite', file }, { type: 'fill' }, 1_000)
  await writer.ended
  const outcome = writer.lines.at(-1)
  expect(outcome).toMatch(/^account-0 (UNAVAILABLE|RESOURCE_EXHAUSTED)$/)
  await expectWhole(new DirectoryStore(openSqlite(file), Date.now), writer.lines.slice(0, -1))
})
