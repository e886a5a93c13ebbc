/**
 * Several processes on one directory: while it is created, while they write, and when one of them is killed.
 */
import { expect, test } from 'vitest'
import { migrationsFrom } from '../../../sidecar/directory/schema.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { startWriter } from '../../support/directory/writer.ts'
import { passing } from '../../support/suite/resources.ts'
import type { Account, Place, Subject } from './subject.ts'

/** Kills of a process: those at all points of what a sidecar does are in test/nightly/kills. */
const KILLS = { sqlite: 5, postgres: 20 }

export function processesContract(subject: () => Subject): void {
  test('four processes start without a directory: it is created once, and each name is created by one of them', async () => {
    const place = await subject().newPlace()
    const names = Array.from({ length: 40 }, (_, index) => `account-${index}`)
    const writers = Array.from({ length: 4 }, (_, index) =>
      // Each process begins with another name, so that every process can be the first one.
      startWriter(place.location, {
        type: 'contend',
        names: [...names.slice(index * 10), ...names.slice(0, index * 10)],
      }),
    )
    await Promise.all(writers.map(({ ended }) => ended))
    expect(writers.flatMap(({ lines }) => lines).toSorted()).toEqual(names.toSorted())
    await expectWhole((await place.open(Date.now)).store, names)
  })

  test('what a change reads is still true when it writes, whatever other processes do', async () => {
    const { place, store, newAccount } = subject()
    const { account } = await newAccount()
    const writers = Array.from({ length: 3 }, () =>
      startWriter(place.location, { type: 'count', account, projects: 20 }),
    )
    await Promise.all(writers.map(({ ended }) => ended))
    const projects = await store.records.projects(account, { after: '', size: 1000 })
    const names = Array.from({ length: 60 }, (_, index) => `project-${index}`)
    expect(projects.map(({ name }) => name)).toEqual(names.toSorted())
  })

  test('a process that is killed again and again keeps every acknowledged change, and leaves no half-done one', async () => {
    const place = await subject().newPlace()
    const kills = KILLS[place.location.type]
    const acknowledged: string[] = []
    for (let kill = 0; kill < kills; kill++) {
      const writer = startWriter(place.location, { type: 'write', prefix: `run-${kill}` })
      await writer.said(1 + (kill % 5) * 3)
      // A random delay, so that the kill does not always come right after an acknowledgement.
      await passing((kill % 7) * 0.7)
      await writer.kill()
      acknowledged.push(...writer.lines)
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(kills)
    await expectWhole((await place.open(Date.now)).store, acknowledged)
  })

  test('a directory of a newer Portcullis is refused and not changed', async () => {
    const place = await subject().newPlace()
    await place.write(99, ofVersion1(place))
    await expect(place.open(Date.now)).rejects.toThrow(
      /: expected a directory of version \d+ or earlier, found 99; a newer Portcullis wrote it$/,
    )
    await expect(place.open(Date.now)).rejects.toThrow('found 99')
  })

  test('several processes migrate a directory of version 1 at the same time, and it keeps its records', async () => {
    const place = await subject().newPlace()
    await place.write(1, ofVersion1(place))
    const opened = await Promise.all([place.open(Date.now), place.open(Date.now), place.open(Date.now)])
    for (const { store } of opened) {
      expect(await store.records.account('kept')).toBeDefined()
      expect(await store.records.staticTokensOfOtherPeppers('a fingerprint')).toBe(0)
      expect(await store.verification.iamTokenStatus(OF_BEFORE)).toMatchObject({ active: true })
      // Earlier versions deleted revocations. The audit trail has them all.
      const revocations = await store.records.revocations({ after: '', size: 10 })
      expect(revocations).toMatchObject([{ tokenId: 'purged' }])
    }
    for (const { store } of opened) await store.close()
  })

  test('an account that was disabled before the migration revokes its old tokens for good', async () => {
    const place = await subject().newPlace()
    await place.write(1, [...ofVersion1(place), 'UPDATE accounts SET enabled = 0'])
    const { store } = await place.open(Date.now)
    const account = (await store.records.account('kept')) as Account
    await store.change('a test', (change) => change.setAccountEnabled(account, true))
    for (const [changeNumber, active] of [
      [0, false],
      [await store.records.changeNumber(), true],
    ] as const)
      expect(await store.verification.iamTokenStatus({ ...OF_BEFORE, changeNumber })).toMatchObject({
        active,
      })
    await store.close()
  })

  test('a directory has the same records when it is opened again', async () => {
    const place = await subject().newPlace()
    const first = await place.open(Date.now)
    await first.store.change('a test', (change) => change.createAccount('kept'))
    const kept = await first.store.records.account('kept')
    await first.store.close()
    const second = await place.open(Date.now)
    expect(await second.store.records.account('kept')).toEqual(kept)
    await second.store.close()
  })
}

/** Statements that make a directory of version 1, with an account, a project and a service user. */
const ofVersion1 = ({ location }: Place): string[] => [
  ...migrationsFrom(0, location.type, 'a test', 1),
  "INSERT INTO accounts (id, account, created_at_ms) VALUES ('account', 'kept', 0)",
  "INSERT INTO projects (id, account_id, name, created_at_ms) VALUES ('project', 'account', 'alpha', 0)",
  `INSERT INTO users (id, account_id, name, type, password_hash, created_at_ms)
     VALUES ('user', 'account', 'robot', 'service_user', 'a hash', 0)`,
  "INSERT INTO account_permissions (user_id) VALUES ('user')",
  `INSERT INTO audit (at_ms, actor, action, account, subject, details)
     VALUES (0, 'a test', 'token.revoke', 'kept', 'purged', '{}')`,
]

/** A token that was issued in it. */
const OF_BEFORE = {
  tokenId: 'a token of before',
  ancestors: [],
  subjectId: 'user',
  generation: 1,
  changeNumber: 0,
  account: 'kept',
  projectId: 'project',
  permissionScopes: ['account', 'projects'],
}

/**
 * Expects every acknowledged account, and expects each account to have its project, its user and three
 * records in the audit trail. Then closes the store.
 */
export async function expectWhole(store: DirectoryStore, acknowledged: readonly string[]): Promise<void> {
  const accounts = (await store.records.accounts({ after: '', size: 100_000 })).map(({ account }) => account)
  expect(accounts).toEqual(expect.arrayContaining([...acknowledged]))
  const audit = await store.records.audit('', { after: '0', size: 1_000_000 })
  expect(audit).toHaveLength(3 * accounts.length)
  const recorded = Map.groupBy(audit, ({ account }) => account)
  for (const account of accounts) {
    expect(recorded.get(account)?.map(({ action, subject }) => [action, subject])).toEqual([
      ['account.create', account],
      ['project.create', 'project'],
      ['control_panel_user.create', 'person'],
    ])
    expect(await store.records.project(account, 'project')).toBeDefined()
    expect(await store.records.user(account, 'person', 'control_panel_user')).toBeDefined()
  }
  await store.close()
}
