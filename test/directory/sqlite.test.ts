/** The contract of the directory on SQLite. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import type { AccountRecord } from '../../sidecar/directory/directory.ts'
import { type LeftToRemove, leftToRemove } from '../../sidecar/directory/left-to-remove.ts'
import { removeRows } from '../../sidecar/directory/removal.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { growthOf, noting, SqlitePlans, unseenTexts, withFeed } from '../support/directory/statements.ts'
import { startWriter } from '../support/directory/writer.ts'
import { eventually, newFolder, passing } from '../support/suite/resources.ts'
import { expectWhole } from './contract/processes.ts'
import { directoryContract } from './contract.ts'

/** Answers every sync of the disk. @returns what lets the disk answer itself again */
function onSync(answer: (done: (error: Error | null) => void) => void): () => void {
  const spy = vi.spyOn(fs, 'fdatasync').mockImplementation((_descriptor, done) => answer(done))
  syncBuiltinESMExports()
  return () => {
    spy.mockRestore()
    syncBuiltinESMExports()
  }
}

const folder = newFolder()

let places = 0
const statements = new Set<string>()
directoryContract(async () => {
  const file = join(folder, `${places++}.sqlite`)
  return {
    location: { type: 'sqlite', file },
    write: async (version, statements) => {
      const database = new DatabaseSync(file)
      for (const statement of statements) database.exec(statement)
      database.exec(`PRAGMA user_version = ${version}`)
      database.close()
    },
    open: async (now) => {
      const database = openSqlite(file)
      return { database, store: new DirectoryStore(noting(database, statements), now) }
    },
  }
})

describe('the statements of the contract', () => {
  test('are all that the sources have', () => {
    expect(unseenTexts(withFeed(statements))).toEqual([])
  })

  // A directory has no statistics.
  test.each([
    ['as a directory is', false],
    ['with statistics of 10⁷ rows', true],
  ])('do not grow with it, %s', (_how, analyzed) => {
    using plans = new SqlitePlans(analyzed)
    expect(withFeed(statements).flatMap((sql) => growthOf(sql, plans.planOf(sql)) ?? [])).toEqual([])
  })
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

test('a file gives the space of removed rows back, a part at a time, and keeps some for new ones', async () => {
  const path = join(newFolder(), 'directory.sqlite')
  const database = openSqlite(path)
  const size = () => fs.statSync(path).size
  const changed = (sql: string, parameters = {}) =>
    database.transaction(
      async (queries) => void (await queries.all(sql, parameters)),
      () => [],
    )
  await changed(
    `INSERT INTO matrix_versions (position, digest, content, action, actor, reason, at_ms)
     VALUES (1, 'a digest', :content, 'matrix.promote', 'a test', '', 0)`,
    { content: Buffer.alloc(32 * 2 ** 20) },
  )
  await eventually(() => size() > 32e6)
  expect(await database.shrink?.()).toBe(false)
  await changed('DELETE FROM matrix_versions')
  let parts = 0
  while (await database.shrink?.()) parts++
  expect(parts).toBeGreaterThan(10)
  await changed('DELETE FROM matrix_versions')
  await eventually(() => size() < 10e6)
  expect(size()).toBeGreaterThan(7e6)
  await database.close()
})

test('a thread copies a large log to the file, so that the process answers meanwhile', async () => {
  const path = join(newFolder(), 'directory.sqlite')
  const store = new DirectoryStore(openSqlite(path), Date.now)
  const logBytes = () => fs.statSync(`${path}-wal`).size
  let threads = 0
  const count = () => void threads++
  process.on('worker', count)
  const create = (accounts: number) =>
    store.change('test', async (change) => {
      for (let n = 0; n < accounts; n++) await change.createAccount(`${accounts} ${n}`)
    })
  await create(10)
  await eventually(() => logBytes() === 0)
  expect(threads).toBe(0)
  await create(20_000)
  expect(logBytes()).toBeGreaterThan(4 * 2 ** 20)
  await eventually(() => logBytes() === 0)
  process.off('worker', count)
  expect(threads).toBe(1)
  expect(await store.records.account('20000 19999')).toBeDefined()
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

test('while the disk writes a change, checks are answered, and neither the change is acknowledged nor a token issued from it', async () => {
  const store = new DirectoryStore(openSqlite(join(folder, 'slow.sqlite')), Date.now)
  const waiting: (() => void)[] = []
  const end = onSync((done) => waiting.push(() => done(null)))
  const done: string[] = []
  const changing = store
    .change('test', (change) => change.createAccount('slow'))
    .then(() => done.push('acknowledged'))
  await eventually(() => waiting.length === 1)
  // A client that reads it before it is on the disk gets no token of it.
  expect(await store.records.account('slow')).toMatchObject({ account: 'slow' })
  const issuing = Promise.resolve(store.durable()).then(() => done.push('issued'))
  await passing(20)
  expect(done).toEqual([])
  end()
  waiting[0]?.()
  await Promise.all([changing, issuing])
  expect(done).toHaveLength(2)
  await store.close()
})

test.each([
  ['EIO', 'DIRECTORY_UNAVAILABLE'],
  ['ENOSPC', 'DIRECTORY_FULL'],
])(
  'a change that the disk did not keep (%s) is not acknowledged, and the next one is kept with all before it',
  async (code, reason) => {
    const file = join(folder, `${code}.sqlite`)
    const store = new DirectoryStore(openSqlite(file), Date.now)
    const end = onSync((done) => done(Object.assign(new Error(code), { code })))
    await expect(store.change('test', (change) => change.createAccount('lost'))).rejects.toMatchObject({
      reason,
    })
    end()
    await store.change('test', (change) => change.createAccount('next'))
    await store.close()
    const reopened = new DirectoryStore(openSqlite(file), Date.now)
    expect(await reopened.records.account('next')).toMatchObject({ account: 'next' })
    await reopened.close()
  },
)

test('a full disk stops a removal and no check, and the next removal goes on', async () => {
  const store = new DirectoryStore(openSqlite(join(folder, 'removal.sqlite')), Date.now)
  const queries = store.records.queries
  await store.change('test', async (change) => {
    for (const name of ['kept', 'deleted']) await change.createAccount(name)
    const kept = (await change.records.account('kept')) as AccountRecord
    const user = { name: 'job', type: 'service_user', passwordHash: 'h' } as const
    const id = await change.createUser(kept, user)
    await change.setPermissions({ id, account: 'kept', name: 'job' }, [{ scope: 'account' }])
  })
  const account = (await store.records.account('deleted')) as AccountRecord
  await store.change('test', async (change) => {
    for (let n = 0; n < 1_000; n++)
      await change.createUser(account, { name: `user ${n}`, type: 'control_panel_user' })
    await change.deleteAccount(account)
  })
  const [job] = await store.records.users('kept', 'service_user', { after: '', size: 1 })
  const isActive = async () => {
    const asked = { tokenId: 't', ancestors: [], subjectId: job?.id ?? '', generation: 1, account: 'kept' }
    const permitted = { changeNumber: Number.MAX_SAFE_INTEGER, permissionScopes: ['account'] }
    return (await store.verification.iamTokenStatus({ ...asked, ...permitted, projectId: undefined })).active
  }
  const nowMs = Date.now() + 1
  let left: LeftToRemove | undefined
  const removing = () =>
    removeRows(
      {
        change: (work) => store.change('retention', work),
        shrink: () => store.shrink(),
        proceed: () => true,
        queries,
        onLeft: (now) => {
          left = now
        },
      },
      { nowMs, deletedMs: nowMs, expiredMs: 0 },
    )
  let syncs = 0
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' })
  const end = onSync((done) => done(++syncs > 4 ? full : null))
  await expect(removing()).rejects.toMatchObject({ reason: 'DIRECTORY_FULL' })
  expect(left?.unmarked.users).toBeGreaterThan(0)
  expect(left?.unmarked.users).toBeLessThan(1_000)
  expect(await isActive()).toBe(true)
  end()
  expect(await removing()).toEqual({ users: 1_000 })
  expect(await leftToRemove(queries, nowMs)).toEqual(left)
  expect([left?.unmarked.users, left?.due.users, await isActive()]).toEqual([0, 0, true])
  await store.close()
})
