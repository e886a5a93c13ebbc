/** The audit trail: every change is recorded once, in order, permanently, and without a secret. */
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { archiveAudit } from '../../../sidecar/authority/administration/audit-archive.ts'
import { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { ServiceUser, UserRecord } from '../../../sidecar/directory/directory.ts'
import { newFile, newFolder, whenTheFileEnds } from '../../support/suite/resources.ts'
import { changing, newServiceUser, PASSWORD_HASH, theProject, theUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

const SECRETS = {
  password: '$argon2id$v=19$canary-password-hash',
  hash: Buffer.from('canary-static-token-hash'),
}

/** Of records, and of static tokens. */
const ID = expect.stringMatching(/^([\da-f]{32}|[\w-]{22})$/)

const KEY = { kind: 'static_token', name: 'key', pepper: 'a fingerprint' }

interface Actors {
  readonly account: Account
  readonly robot: UserRecord
  readonly person: UserRecord
}

type RecordedChange = readonly [
  action: string,
  subject: (actors: Actors) => string,
  details: object,
  change: (change: DirectoryChange, actors: Actors) => Promise<unknown>,
]

/** Every kind of change, with its record: action, subject, details. Other tests make them, too. */
export const RECORDED_CHANGES: readonly RecordedChange[] = [
  ['account.create', () => 'made', {}, (change) => change.createAccount('made')],
  ['account.disable', inAccount, {}, (change, { account }) => change.setAccountEnabled(account, false)],
  ['account.enable', inAccount, {}, (change, { account }) => change.setAccountEnabled(account, true)],
  ['account.delete', inAccount, {}, (change, { account }) => change.deleteAccount(account)],
  ['project.create', () => 'gamma', {}, (change, { account }) => change.createProject(account, 'gamma')],
  [
    'project.disable',
    () => 'alpha',
    {},
    async (change, { account }) => change.setProjectEnabled(await alpha(change, account), false),
  ],
  [
    'project.enable',
    () => 'alpha',
    {},
    async (change, { account }) => change.setProjectEnabled(await alpha(change, account), true),
  ],
  [
    'project.delete',
    () => 'alpha',
    {},
    async (change, { account }) => change.deleteProject(await alpha(change, account)),
  ],
  [
    'service_user.create',
    () => 'new',
    {},
    (change, { account }) =>
      change.createUser(account, { name: 'new', type: 'service_user', passwordHash: SECRETS.password }),
  ],
  ['service_user.disable', () => 'robot', {}, (change, { robot }) => change.setUserEnabled(robot, false)],
  ['service_user.enable', () => 'robot', {}, (change, { robot }) => change.setUserEnabled(robot, true)],
  [
    'service_user.set_roles',
    () => 'robot',
    { roles: ['iam.admin'], credentials_ended: true },
    (change, { robot }) => change.setRoles(robot, ['iam.admin']),
  ],
  [
    'service_user.set_validator',
    () => 'robot',
    { validator: true, credentials_ended: true },
    (change, { robot }) => change.setValidator(robot, true),
  ],
  [
    'service_user.set_permissions',
    () => 'robot',
    { permissions: [{ scope: 'account' }] },
    (change, { robot }) => change.setPermissions(robot, [{ scope: 'account' }]),
  ],
  [
    'service_user.replace_password',
    () => 'robot',
    {},
    (change, { robot }) => change.setPassword(robot, SECRETS.password),
  ],
  [
    'service_user.rehash_password',
    () => 'robot',
    {},
    (change, { robot }) => change.rehashPassword(withHash(robot, PASSWORD_HASH), SECRETS.password),
  ],
  ['service_user.delete', () => 'robot', {}, (change, { robot }) => change.deleteUser(robot)],
  [
    'control_panel_user.create',
    () => 'new person',
    {},
    (change, { account }) => change.createUser(account, { name: 'new person', type: 'control_panel_user' }),
  ],
  [
    'control_panel_user.create',
    () => 'new owner',
    { owner: true },
    (change, { account }) =>
      change.createUser(account, { name: 'new owner', type: 'control_panel_user', owner: true }),
  ],
  [
    'control_panel_user.set_owner',
    () => 'person',
    { owner: true, credentials_ended: true },
    (change, { person }) => change.setOwner(person, true),
  ],
  [
    'control_panel_user.reissue_token',
    () => 'person',
    { token_id: 'an id' },
    (change, { person }) => change.setPanelToken(person, '', 'claims', 'an id'),
  ],
  [
    'control_panel_user.copy_token',
    () => 'person',
    { token_id: 'an id' },
    (change, { person }) => change.recordTokenCopied(person, 'an id'),
  ],
  [
    'static_token.create',
    () => 'key',
    { user: 'person', user_id: ID, last_four: 'Gk3x', note: 'for the reports' },
    (change, { person }) =>
      change.addStaticToken(person, {
        ...KEY,
        ...{ hash: SECRETS.hash, lastFour: 'Gk3x', note: 'for the reports' },
      }),
  ],
  [
    'address_restriction.set',
    inAccount,
    { cidrs: ['10.0.0.0/8'] },
    (change, { account }) => change.setAddressRules(account, ['10.0.0.0/8']),
  ],
  ['token.revoke', () => 'a token', {}, (change, { account }) => change.revoke('a token', account.account)],
]

/** The method of `DirectoryChange` that makes it. */
export function methodOf([, , , change]: RecordedChange): string {
  return /\bchange\.(\w+)\(/.exec(String(change))?.[1] ?? ''
}

/** The user, in the form that a login reads. */
function withHash(user: UserRecord, passwordHash: string): ServiceUser {
  return { ...user, passwordHash, addresses: [] }
}

function inAccount({ account }: Actors): string {
  return account.account
}

function alpha(change: DirectoryChange, account: Account) {
  return theProject(change.records, account, 'alpha')
}

export function auditContract(subject: () => Subject): void {
  test.each(RECORDED_CHANGES)('%s', async (action, subjectOf, details, change) => {
    const { store, clock } = subject()
    const actors = await newActors(subject())
    const before = await everything(subject())
    clock.nowMs += 1
    await store.change('the actor', (changes) => change(changes, actors))
    const [record, ...more] = (await everything(subject())).slice(before.length)
    expect(more).toEqual([])
    expect(record).toEqual({
      sequence: expect.any(Number),
      atMs: clock.nowMs,
      actor: 'the actor',
      action,
      account: action === 'account.create' ? 'made' : actors.account.account,
      subject: subjectOf(actors),
      subjectId: action === 'token.revoke' ? 'a token' : ID,
      details,
    })
    expect(record?.sequence).toBeGreaterThan(before.at(-1)?.sequence ?? 0)
  })

  test('every change has a row above', () => {
    const changes = Object.getOwnPropertyNames(DirectoryChange.prototype)
    const tried = RECORDED_CHANGES.map(methodOf)
    // Archiving has a test of its own below, and days of last use have none: `last-used-days.ts`.
    const others = ['constructor', 'forgetAudit', 'raiseLastUsedDays']
    expect(changes.filter((name) => !others.includes(name) && !tried.includes(name))).toEqual([])
  })

  test('a revocation names the key and its user, also when the user is deleted', async () => {
    const { store } = subject()
    const { account, person } = await newActors(subject())
    const key = await changing(subject(), (change) =>
      change.addStaticToken(person, { ...KEY, hash: randomBytes(32) }),
    )
    await changing(subject(), async (change) => {
      await change.deleteUser(person)
      await change.revoke(key, account.account)
      await change.revoke('of the deleted one', account.account, person.id)
      await change.revoke('of somebody', account.account, 'an unknown id')
    })
    const { records } = await store.records.auditPage({
      ...{ account: account.account, newestFirst: true, size: 3 },
    })
    const holder = { user: 'person', user_id: person.id }
    expect(records).toMatchObject([
      { subject: 'of somebody', subjectId: 'of somebody', details: { user_id: 'an unknown id' } },
      { subject: 'of the deleted one', subjectId: 'of the deleted one', details: holder },
      { subject: 'key', subjectId: key, details: holder },
    ])
  })

  test('records are found by the name and by the id of their subject', async () => {
    const { store } = subject()
    const { account, person } = await newActors(subject())
    const found = async (text: string) => {
      const query = { account: account.account, filter: { subject: text }, size: 10 }
      return (await store.records.auditPage(query)).records.map(({ action }) => action)
    }
    expect(await found('person')).toEqual(['control_panel_user.create'])
    expect(await found(person.id)).toEqual(['control_panel_user.create'])
    expect(await found(person.id.slice(1))).toEqual([])
  })

  test('revoking a token again is not recorded', async () => {
    const { newAccount } = subject()
    const { account } = await newAccount()
    const revoke = () => changing(subject(), (change) => change.revoke('once', account))
    await revoke()
    const before = await everything(subject())
    await revoke()
    expect(await everything(subject())).toEqual(before)
  })

  test('a password that was replaced meanwhile is not rehashed, and the generation stays', async () => {
    const { store } = subject()
    const { account, robot } = await newActors(subject())
    const rehash = (before: string) =>
      changing(subject(), (change) => change.rehashPassword(withHash(robot, before), SECRETS.password))
    const recorded = await everything(subject())
    await rehash('another hash')
    expect(await everything(subject())).toEqual(recorded)
    const look = async () => {
      const found = await store.verification.serviceUser(account.account, 'robot')
      return [found?.passwordHash, found?.generation]
    }
    expect(await look()).toEqual([PASSWORD_HASH, robot.generation])
    await rehash(PASSWORD_HASH)
    expect(await look()).toEqual([SECRETS.password, robot.generation])
  })

  test('records of an earlier account with the same number can be left out', async () => {
    const { store, newAccount } = subject()
    const first = await newAccount()
    await changing(subject(), async (change) => {
      await change.createProject(first, 'of the first')
      await change.deleteAccount(first)
      await change.createAccount(first.account)
    })
    const actions = async (earlier: boolean) => {
      const { records } = await store.records.auditPage({ account: first.account, earlier, size: 100 })
      return records.map(({ action }) => action)
    }
    expect(await actions(true)).toEqual([
      'account.create',
      'project.create',
      'account.delete',
      'account.create',
    ])
    expect(await actions(false)).toEqual(['account.create'])
  })

  test('changes of one transaction are recorded in order, and can be listed for one account', async () => {
    const { store, newAccount } = subject()
    const [one, other] = [await newAccount(), await newAccount()]
    await changing(subject(), async (change) => {
      for (const name of ['c', 'a', 'b']) {
        await change.createProject(one, name)
        await change.createProject(other, name)
      }
    })
    const records = await store.records.audit(one.account, { after: '0', size: 100 })
    expect(records.map((record) => record.subject)).toEqual([one.account, 'c', 'a', 'b'])
    const [, second] = records
    const rest = await store.records.audit(one.account, { after: String(second?.sequence), size: 1 })
    expect(rest.map((record) => record.subject)).toEqual(['a'])
  })

  test.each([
    ['changed', "UPDATE audit SET actor = 'somebody else'"],
    ['deleted', 'DELETE FROM audit'],
  ])('no record can be %s', async (_done, sql) => {
    const { database, newAccount } = subject()
    await newAccount()
    const before = await everything(subject())
    await expect(async () => database.all(sql)).rejects.toThrow('the directory does not answer')
    expect(await everything(subject())).toEqual(before)
  })

  describe('archived', () => {
    /** A directory of its own with three old records and two young ones. */
    async function archiving() {
      const clock = { nowMs: 1_000_000 }
      const { store, database } = await (await subject().newPlace()).open(() => clock.nowMs)
      whenTheFileEnds(() => store.close())
      const create = async (...names: string[]) => {
        for (const name of names) await store.change('a test', (change) => change.createAccount(name))
      }
      await create('a', 'b', 'c')
      clock.nowMs += 1_000
      await create('d', 'e')
      const left = async () =>
        (await store.records.audit('', { after: '0', size: 100 })).map(({ subject: about }) => about)
      return { store, database, clock, left }
    }

    test('records are in a file before they are deleted, the deletion is recorded, and numbers go on rising', async () => {
      const { store, database, clock, left } = await archiving()
      const folder = join(newFolder(), 'archive')
      const before = await store.records.changeNumber()
      const [file = '', ...more] = await archiveAudit(store, folder, clock.nowMs)
      expect(more).toEqual([])
      const lines = readFileSync(file, 'utf8').trim().split('\n')
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { sequence: 1, action: 'account.create', subject: 'a', at: '1970-01-01T00:16:40.000Z' },
        { sequence: 2, subject: 'b' },
        { sequence: 3, subject: 'c' },
      ])
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(await left()).toEqual(['d', 'e', file])
      const [, , archived] = await store.records.audit('', { after: '0', size: 100 })
      expect(archived).toMatchObject({ action: 'audit.archive', details: { through: 3, records: 3 } })
      expect(await store.records.changeNumber()).toBe(before + 1)
      expect(await archiveAudit(store, folder, clock.nowMs)).toEqual([])
      await expect(async () => database.all('DELETE FROM audit')).rejects.toThrow('does not answer')
    })

    test('all of them: the record of the deletion stays', async () => {
      const { store, clock, left } = await archiving()
      const [file] = await archiveAudit(store, newFolder(), clock.nowMs + 1)
      expect(await left()).toEqual([file])
    })

    test('records whose file cannot be written are kept', async () => {
      const { store, clock, left } = await archiving()
      const folder = newFile('not a folder')
      await expect(archiveAudit(store, folder, clock.nowMs)).rejects.toThrow()
      expect(await left()).toEqual(['a', 'b', 'c', 'd', 'e'])
    })

    test('what comes after a younger record stays, although a clock that was set back made it older', async () => {
      const { store, clock, left } = await archiving()
      const old = clock.nowMs
      clock.nowMs = 0
      await store.change('a test', (change) => change.createAccount('f'))
      const [file] = await archiveAudit(store, newFolder(), old)
      expect(await left()).toEqual(['d', 'e', 'f', file])
    })
  })

  test('the records contain no secret', async () => {
    const actors = await newActors(subject())
    await changing(subject(), async (change) => {
      await change.setPassword(actors.robot, SECRETS.password)
      await change.addStaticToken(actors.person, { ...KEY, hash: randomBytes(32) })
    })
    const recorded = JSON.stringify(await everything(subject()))
    for (const secret of [
      SECRETS.password,
      PASSWORD_HASH,
      SECRETS.hash.toString(),
      SECRETS.hash.toString('hex'),
      SECRETS.hash.toString('base64'),
    ])
      expect(recorded).not.toContain(secret)
  })
}

async function newActors(subject: Subject): Promise<Actors> {
  const { account, user: robot } = await newServiceUser(subject)
  await changing(subject, (change) =>
    change.createUser(account, { name: 'person', type: 'control_panel_user' }),
  )
  const person = await theUser(subject.store.records, account, 'person', 'control_panel_user')
  return { account, robot, person }
}

function everything({ store }: Subject) {
  return store.records.audit('', { after: '0', size: 100_000 })
}
