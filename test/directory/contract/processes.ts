/**
 * Several processes on one directory: while it is created, while they write, and when one of them is killed.
 */
import { expect, test } from 'vitest'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { startWriter } from '../../support/directory/writer.ts'
import { passing } from '../../support/suite/resources.ts'
import { newServiceUser, theProject } from './people.ts'
import type { Account, Opened, Subject } from './subject.ts'

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
    const first = await place.open(Date.now)
    await first.store.change('a test', (change) => change.createAccount('kept'))
    await first.database.all(place.asOfVersion(99))
    await first.store.close()
    await expect(place.open(Date.now)).rejects.toThrow(
      /: expected a directory of version \d+ or earlier, found 99; a newer Portcullis wrote it$/,
    )
    await expect(place.open(Date.now)).rejects.toThrow('found 99')
  })

  /** Statements that make a directory of the current version one of version 1. */
  const AS_OF_VERSION_1: readonly string[] = [
    ...['accounts', 'projects', 'users', 'account_permissions', 'project_permissions'].map(
      (table) => `DROP INDEX IF EXISTS ${table}_copy`,
    ),
    'DROP INDEX IF EXISTS static_tokens_copy',
    'DROP INDEX IF EXISTS panel_tokens_copy',
    'ALTER TABLE project_permissions DROP COLUMN access_since',
    'ALTER TABLE project_permissions DROP COLUMN selected_since',
    ...['account_permissions', 'projects', 'accounts'].map(
      (table) => `ALTER TABLE ${table} DROP COLUMN since`,
    ),
    'ALTER TABLE revocations ADD COLUMN forget_at_ms INTEGER',
    'CREATE INDEX revocations_forget ON revocations (forget_at_ms)',
    'ALTER TABLE static_tokens DROP COLUMN pepper',
    'ALTER TABLE users DROP COLUMN validator',
    'DROP TABLE restorations',
    'DROP TABLE application_credentials',
    'DROP TABLE matrix_versions',
    ...['panel_passwords', 'panel_codes', 'passkeys'].map((table) => `DROP TABLE ${table}`),
    ...['panel_links', 'panel_sessions', 'panel_challenges'].map((table) => `DROP TABLE ${table}`),
    ...['last_used_day', 'last_four', 'note'].map(
      (column) => `ALTER TABLE static_tokens DROP COLUMN ${column}`,
    ),
    ...['touches', 'subject_id'].map((column) => `ALTER TABLE audit DROP COLUMN ${column}`),
  ]

  test('several processes migrate a directory of version 1 at the same time, and it keeps its records', async () => {
    const place = await subject().newPlace()
    const first = await place.open(Date.now)
    const of = (opened: Opened): Subject => ({
      ...subject(),
      ...opened,
      newAccount: async () => {
        await opened.store.change('a test', (change) => change.createAccount('kept'))
        return (await opened.store.records.account('kept')) as Account
      },
    })
    const { account, user } = await newServiceUser(of(first), [{ scope: 'account' }])
    await first.store.change('a test', (change) => change.revoke('purged', 'kept'))
    await first.database.all("DELETE FROM revocations WHERE token_id = 'purged'")
    for (const statement of AS_OF_VERSION_1) await first.database.all(statement)
    await first.database.all(place.asOfVersion(1))
    await first.store.close()
    const opened = await Promise.all([place.open(Date.now), place.open(Date.now), place.open(Date.now)])
    const token = {
      tokenId: 'a token of before',
      ancestors: [],
      subjectId: user.id,
      generation: user.generation,
      changeNumber: 0,
      account: account.account,
      projectId: (await theProject(opened[0].store.records, account, 'alpha')).id,
      permissionScopes: ['account', 'projects'],
    }
    for (const { store } of opened) {
      expect(await store.records.account('kept')).toBeDefined()
      expect(await store.records.staticTokensOfOtherPeppers('a fingerprint')).toBe(0)
      expect(await store.verification.iamTokenStatus(token)).toMatchObject({ active: true })
      // Earlier versions deleted revocations. The audit trail has them all.
      const revocations = await store.records.revocations({ after: '', size: 10 })
      expect(revocations).toMatchObject([{ tokenId: 'purged' }])
    }
    for (const { store } of opened) await store.close()
  })

  test('an account that was disabled before the migration revokes its old tokens for good', async () => {
    const place = await subject().newPlace()
    const first = await place.open(Date.now)
    const { store } = first
    const scene = { ...subject(), ...first }
    await store.change('a test', (change) => change.createAccount('kept'))
    const account = (await store.records.account('kept')) as Account
    const { user } = await newServiceUser({ ...scene, newAccount: async () => account }, [
      { scope: 'account' },
    ])
    await store.change('a test', (change) => change.setAccountEnabled(account, false))
    for (const statement of AS_OF_VERSION_1) await first.database.all(statement)
    await first.database.all(place.asOfVersion(1))
    await store.close()
    const second = await place.open(Date.now)
    await second.store.change('a test', (change) => change.setAccountEnabled(account, true))
    const token = {
      tokenId: 'a token of before',
      ancestors: [],
      subjectId: user.id,
      generation: user.generation,
      account: 'kept',
      projectId: undefined,
      permissionScopes: ['account'],
    }
    for (const [changeNumber, active] of [
      [0, false],
      [await second.store.records.changeNumber(), true],
    ] as const)
      expect(await second.store.verification.iamTokenStatus({ ...token, changeNumber })).toMatchObject({
        active,
      })
    await second.store.close()
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
