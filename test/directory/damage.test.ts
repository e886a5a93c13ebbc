/**
 * A directory file that bit rot damaged, or that was exchanged while it was open, never makes a revoked token
 * active.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, test } from 'vitest'
import type { DirectoryChange } from '../../sidecar/directory/change.ts'
import type { AccountRecord, IamTokenQuery, UserRecord } from '../../sidecar/directory/directory.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

const ALPHA = { scope: 'projects' as const, projects: ['alpha'] }
const hashOf = (name: string) => Buffer.alloc(32, name)

/** The changes that end a token, by the record that they are about. */
const ENDINGS: Readonly<
  Record<string, (change: DirectoryChange, account: AccountRecord, user: UserRecord) => Promise<unknown>>
> = {
  revoked: (change, account, user) => change.revoke(`token of ${user.id}`, account.account),
  'with another password': (change, _account, user) => change.setPassword(user, 'another hash'),
  disabled: (change, _account, user) => change.setUserEnabled(user, false),
  deleted: (change, _account, user) => change.deleteUser(user),
  'without permission': (change, _account, user) => change.setPermissions(user, []),
  'in a disabled account': (change, account) => change.setAccountEnabled(account, false),
  'in a deleted account': (change, account) => change.deleteAccount(account),
  'in a disabled project': async (change, account) => {
    const project = await change.records.project(account.account, 'alpha')
    if (project !== undefined) await change.setProjectEnabled(project, false)
  },
  'that came back': async (change, account) => {
    for (const enabled of [false, true]) await change.setAccountEnabled(account, enabled)
  },
}

/** Makes a directory with ended tokens: IAM tokens, and static tokens by their hashes. */
async function newDirectory(file: string): Promise<{ ended: IamTokenQuery[]; staticTokens: Buffer[] }> {
  const store = new DirectoryStore(openSqlite(file), () => 1_700_000_000_000)
  const ended: IamTokenQuery[] = []
  const staticTokens: Buffer[] = []
  for (const [ending, end] of Object.entries(ENDINGS)) {
    const name = `account ${ending}`
    const made = await store.change('a test', async (change) => {
      await change.createAccount(name)
      const account = await change.records.account(name)
      if (account === undefined) throw new Error('the account is missing')
      await change.createProject(account, 'alpha')
      const id = await change.createUser(account, {
        name: 'robot',
        type: 'service_user',
        passwordHash: 'hash',
      })
      await change.setPermissions({ id, account: name, name: 'robot' }, [ALPHA])
      const owner = await change.createUser(account, { name: 'owner', type: 'control_panel_user' })
      const token = { kind: 'static_token', name: 'key', hash: hashOf(ending), pepper: 'a fingerprint' }
      const tokenId = await change.addStaticToken({ id: owner, account: name, name: 'owner' }, token)
      const user = await change.records.userById(id)
      if (user === undefined) throw new Error('the user is missing')
      return { account, user, tokenId, project: await change.records.project(name, 'alpha') }
    })
    const { account, user, tokenId, project } = made
    ended.push({
      tokenId: `token of ${user.id}`,
      ancestors: [],
      subjectId: user.id,
      generation: user.generation,
      changeNumber: await store.records.changeNumber(),
      account: name,
      projectId: project?.id,
      permissionScopes: ['account', 'projects'],
    })
    await store.change('a test', (change) => end(change, account, user))
    await store.change('a test', (change) => change.revoke(tokenId, name))
    staticTokens.push(hashOf(ending))
  }
  await store.close()
  return { ended, staticTokens }
}

describe('bit rot', () => {
  const folder = newFolder()
  const original = join(folder, 'original.sqlite')
  let made: Awaited<ReturnType<typeof newDirectory>>
  beforeAll(async () => {
    made = await newDirectory(original)
  })

  /** Opens the copy and returns the ended tokens that are active in it. */
  async function revived(file: string): Promise<unknown[]> {
    const found: unknown[] = []
    let store: DirectoryStore
    try {
      store = new DirectoryStore(openSqlite(file), Date.now)
    } catch {
      return []
    }
    const { verification } = store
    const isActive = async (ask: () => { active: boolean } | undefined) => {
      try {
        return (await ask())?.active === true
      } catch {
        return false
      }
    }
    for (const query of made.ended)
      if (await isActive(() => verification.iamTokenStatus(query) as { active: boolean })) found.push(query)
    for (const hash of made.staticTokens)
      if (await isActive(() => verification.staticToken(hash) as { active: boolean } | undefined))
        found.push(hash)
    await store.close().catch(() => {})
    return found
  }

  test('without it no ended token is active, and the directory opens', async () => {
    const file = join(folder, 'whole.sqlite')
    copyFileSync(original, file)
    openSqlite(file).close()
    expect(await revived(file)).toEqual([])
  })

  test.each(Array.from({ length: 3 }, (_, index) => index))(
    'in 100 copies makes no ended token active (round %d)',
    async (round) => {
      const random = randomFrom(round)
      const bytes = readFileSync(original)
      // Most of a small file is empty: the flips are where something is written.
      const used = [...bytes.keys()].filter((offset) => bytes[offset] !== 0 || bytes[offset + 1] !== 0)
      const failures: unknown[] = []
      for (let copy = 0; copy < 100; copy++) {
        const file = join(folder, 'damaged.sqlite')
        for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
        const damaged = Buffer.from(bytes)
        const flips = Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
          offset: used[Math.floor(random() * used.length)] ?? 0,
          bit: Math.floor(random() * 8),
        }))
        for (const { offset, bit } of flips) damaged[offset] = (damaged[offset] ?? 0) ^ (1 << bit)
        writeFileSync(file, damaged)
        const found = await revived(file)
        if (found.length > 0) failures.push({ flips, found })
      }
      expect(failures).toEqual([])
    },
  )

  test('in a revocation keeps the directory from opening, and the error says what to do', () => {
    const file = join(folder, 'revocation.sqlite')
    const [{ tokenId = '' } = {}] = made.ended
    const bytes = readFileSync(original)
    const errors: string[] = []
    for (let at = bytes.indexOf(tokenId); at >= 0; at = bytes.indexOf(tokenId, at + 1)) {
      const damaged = Buffer.from(bytes)
      damaged[at + 10] = (damaged[at + 10] ?? 0) ^ 1
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
      writeFileSync(file, damaged)
      try {
        openSqlite(file).close()
      } catch (error) {
        errors.push((error as Error).message)
      }
    }
    // The id is in the table and in its index. The third place is the audit trail, which decides about
    // nothing.
    expect(errors).toHaveLength(2)
    for (const error of errors)
      expect(error).toMatch(/revocation\.sqlite: the directory is damaged \(.*\); restore a backup$/)
  })

  test('in a large file is found while it is open, and then nothing is answered or acknowledged', async () => {
    const file = join(folder, 'large.sqlite')
    copyFileSync(original, file)
    const filling = new DatabaseSync(file)
    filling.exec(`INSERT INTO matrix_versions (position, digest, content, action, actor, reason, at_ms)
      VALUES (1, 'a digest', zeroblob(20000000), 'matrix.promote', 'a test', '', 0)`)
    filling.close()
    const [{ tokenId = '' } = {}] = made.ended
    const bytes = readFileSync(file)
    const at = bytes.indexOf(tokenId)
    bytes[at + 10] = (bytes[at + 10] ?? 0) ^ 1
    writeFileSync(file, bytes)
    const problems: string[] = []
    const store = new DirectoryStore(
      openSqlite(file, { onDamaged: (problem) => problems.push(problem) }),
      Date.now,
    )
    await eventually(() => problems.length > 0)
    const refused = { code: 'UNAVAILABLE', reason: 'DIRECTORY_UNAVAILABLE' }
    await expect(store.change('a test', (change) => change.revoke('lost', ''))).rejects.toMatchObject(refused)
    await expect(store.records.account('an account')).rejects.toMatchObject(refused)
    expect(() => store.verification.changes.moment()).toThrow(expect.objectContaining(refused))
    expect(problems).toEqual([expect.stringMatching(/index|row/)])
    await store.close()
  })

  test.each([
    [-1, /version\.sqlite: expected a directory, found one of version -1$/],
    [5, /version\.sqlite: cannot be used as a directory \(.*already exists\)$|duplicate column/],
  ])('in its version, which becomes %i, keeps it from opening', (version, expected) => {
    const file = join(folder, 'version.sqlite')
    const damaged = readFileSync(original)
    // Where SQLite keeps the version of the schema.
    damaged.writeInt32BE(version, 60)
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
    writeFileSync(file, damaged)
    expect(() => openSqlite(file)).toThrow(expected)
  })
})

test('a second after a change the log beside the file is empty, so that a flip in it loses nothing', async () => {
  const file = join(newFolder(), 'directory.sqlite')
  const store = new DirectoryStore(openSqlite(file), Date.now)
  await store.change('a test', (change) => change.revoke('a token', ''))
  await eventually(() => statSync(`${file}-wal`).size === 0)
  expect(readFileSync(file).includes('a token')).toBe(true)
  await store.close()
})

describe('a directory file that is exchanged while it is open', () => {
  /** An open directory with a backup of before its last change, and what it reported. */
  async function opened() {
    const folder = newFolder()
    const [file, backup] = [join(folder, 'directory.sqlite'), join(folder, 'backup.sqlite')]
    const reported: string[] = []
    const store = new DirectoryStore(
      openSqlite(file, { onReplaced: () => reported.push('replaced') }),
      Date.now,
    )
    await store.change('a test', (change) => change.createAccount('before'))
    const copying = new DatabaseSync(file)
    copying.exec(`VACUUM INTO '${backup}'`)
    copying.close()
    await store.change('a test', (change) => change.revoke('a token', 'before'))
    return { file, backup, store, reported }
  }
  const removeSides = (file: string) => {
    for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  }

  test.each<[how: string, exchange: (file: string, backup: string) => void]>([
    [
      'a backup is moved into its place',
      (file, backup) => {
        removeSides(file)
        renameSync(backup, file)
      },
    ],
    ['it is removed', (file) => rmSync(file)],
    ['its log is removed', (file) => rmSync(`${file}-wal`)],
    [
      'a backup is restored in it by SQLite',
      (file, backup) => {
        const database = new DatabaseSync(file)
        database.exec(`ATTACH '${backup}' AS backup; DROP TRIGGER audit_not_deleted;
          DELETE FROM main.audit; INSERT INTO main.audit SELECT * FROM backup.audit; DELETE FROM main.revocations`)
        database.close()
      },
    ],
  ])('where %s: nothing is answered and no change acknowledged any more', async (_how, exchange) => {
    const { file, backup, store, reported } = await opened()
    const { verification } = store
    exchange(file, backup)
    const query = {
      tokenId: 'a token',
      ancestors: [],
      subjectId: '',
      generation: 1,
      changeNumber: 0,
      account: 'before',
      projectId: undefined,
      permissionScopes: [],
    }
    const refused = { code: 'UNAVAILABLE', reason: 'DIRECTORY_REPLACED' }
    await expect(store.change('a test', (change) => change.revoke('lost', 'before'))).rejects.toMatchObject(
      refused,
    )
    expect(() => verification.changes.moment()).toThrow(expect.objectContaining(refused))
    expect(() => verification.iamTokenStatus(query)).toThrow(expect.objectContaining(refused))
    await expect(store.records.account('before')).rejects.toMatchObject(refused)
    expect(reported).toEqual(['replaced'])
    // It does not come back before a restart: other processes may have written to either file.
    if (existsSync(backup)) renameSync(backup, file)
    expect(() => verification.changes.moment()).toThrow(expect.objectContaining(refused))
    await store.close()
  })

  test('is noticed without a change, by a reader', async () => {
    const { file, backup, store } = await opened()
    removeSides(file)
    renameSync(backup, file)
    await eventually(() => {
      try {
        store.verification.changes.moment()
        return false
      } catch {
        return true
      }
    })
    await store.close()
  })
})
