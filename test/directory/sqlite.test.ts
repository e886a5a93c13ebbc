/** The contract of the directory on SQLite: one file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { directoryContract } from './contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-directory-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

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
