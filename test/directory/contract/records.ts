/** Records: each one is returned as it was written, until it is deleted. */

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import { AlreadyExists } from '../../../sidecar/directory/database.ts'
import type { UserRecord } from '../../../sidecar/directory/directory.ts'
import { changing, newPanelUser, newServiceUser, PASSWORD_HASH, theProject, theUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

const ID = /^[0-9a-f]{32}$/

export function recordsContract(subject: () => Subject): void {
  test('an account', async () => {
    const { store, newAccount, clock } = subject()
    const { account } = await newAccount()
    const made = await store.records.account(account)
    const id = expect.stringMatching(ID)
    expect(made).toMatchObject({ account, id, enabled: true, createdAtMs: clock.nowMs })
    await changing(subject(), async (change) => change.setAccountEnabled(await newest(change), false))
    expect(await store.records.account(account)).toEqual({ ...made, enabled: false })
    await changing(subject(), async (change) => change.setAccountEnabled(await newest(change), true))
    expect(await store.records.account(account)).toEqual(made)
    expect(await store.records.accountById(made?.id ?? '')).toEqual(made)

    async function newest(change: DirectoryChange): Promise<Account> {
      return (await change.records.account(account)) as Account
    }
  })

  test('a project', async () => {
    const { store, newAccount, clock } = subject()
    const account = await newAccount()
    await changing(subject(), (change) => change.createProject(account, 'alpha'))
    const made = await theProject(store.records, account, 'alpha')
    expect(made).toMatchObject({
      account: account.account,
      name: 'alpha',
      id: expect.stringMatching(ID),
      enabled: true,
      createdAtMs: clock.nowMs,
    })
    await changing(subject(), (change) => change.setProjectEnabled(made, false))
    expect(await theProject(store.records, account, 'alpha')).toEqual({ ...made, enabled: false })
    await changing(subject(), (change) => change.setProjectEnabled(made, true))
    expect(await theProject(store.records, account, 'alpha')).toEqual(made)
    expect(await store.records.projectById(made.id)).toEqual(made)
  })

  test('a service user', async () => {
    const { store, clock } = subject()
    const { account, user } = await newServiceUser(subject(), [
      { scope: 'projects', projects: ['beta', 'alpha', 'beta'] },
      { scope: 'account' },
    ])
    expect(user).toMatchObject({
      account: account.account,
      name: 'robot',
      id: expect.stringMatching(ID),
      type: 'service_user',
      enabled: true,
      generation: 1,
      permissions: [{ scope: 'account' }, { scope: 'projects', projects: ['alpha', 'beta'] }],
      owner: false,
      roles: [],
      validator: false,
      createdAtMs: clock.nowMs,
    })
    expect(await store.records.userById(user.id)).toEqual(user)
    expect(await store.verification.serviceUser(account.account, 'robot')).toEqual({
      id: user.id,
      name: 'robot',
      account: account.account,
      passwordHash: PASSWORD_HASH,
      generation: 1,
      addresses: [],
    })
  })

  test('a control panel user', async () => {
    const { store } = subject()
    const { account, user } = await newPanelUser(subject())
    expect(user).toMatchObject({ type: 'control_panel_user', owner: false, permissions: [], roles: [] })
    await changing(subject(), async (change) => {
      await change.setOwner(user, true)
      await change.setRoles(user, ['iam.admin', 'billing', 'iam.admin'])
    })
    const after = { ...user, owner: true, roles: ['billing', 'iam.admin'], generation: user.generation + 1 }
    expect(await theUser(store.records, account, 'person', 'control_panel_user')).toEqual(after)
    await changing(subject(), async (change) => {
      await change.setOwner(user, false)
      await change.setRoles(user, [])
    })
    expect(await theUser(store.records, account, 'person', 'control_panel_user')).toEqual({
      ...user,
      generation: after.generation,
    })
    expect(await store.verification.serviceUser(account.account, 'person')).toBeUndefined()
  })

  test('active static tokens of another pepper are counted', async () => {
    const { store } = subject()
    const { account, user } = await newPanelUser(subject())
    const counted = () => store.records.staticTokensOfOtherPeppers('of this host')
    const add = (name: string, pepper: string) =>
      changing(subject(), (change) =>
        change.addStaticToken(user, { kind: 'static_token', name, hash: randomBytes(32), pepper }),
      )
    const before = await counted()
    await add('own', 'of this host')
    expect(await counted()).toBe(before)
    await add('strange', 'of another')
    const id = await add('revoked', 'of another')
    expect(await counted()).toBe(before + 2)
    await changing(subject(), (change) => change.revoke(id, account.account))
    expect(await counted()).toBe(before + 1)
    await changing(subject(), (change) => change.deleteAccount(account))
    expect(await counted()).toBe(before)
  })

  test('a static token', async () => {
    const { store, clock } = subject()
    const { account, user } = await newPanelUser(subject())
    const hash = randomBytes(32)
    const id = await changing(subject(), (change) =>
      change.addStaticToken(user, { kind: 'static_token', name: 'key', hash, pepper: 'a fingerprint' }),
    )
    const made = await store.records.activeStaticToken(user.id, 'key')
    expect(made).toMatchObject({
      id,
      account: account.account,
      userName: 'person',
      name: 'key',
      lastFour: '',
      note: '',
      createdAtMs: clock.nowMs,
      revokedAtMs: undefined,
      lastUsedDay: undefined,
    })
    expect(await store.records.staticTokens(user.id, { after: '', size: 10 })).toEqual([made])
    await changing(subject(), (change) => change.revoke(id, account.account))
    expect(await store.records.activeStaticToken(user.id, 'key')).toBeUndefined()
    expect(await store.records.staticTokens(user.id, { after: '', size: 10 })).toEqual([
      { ...made, revokedAtMs: clock.nowMs },
    ])
  })

  test('the claims of the tokens that a control panel user can copy, by project', async () => {
    const { store } = subject()
    const { user } = await newPanelUser(subject())
    expect(await store.records.panelToken(user.id, '')).toBeUndefined()
    for (const [project, claims] of [
      ['', 'first'],
      ['alpha', 'of alpha'],
      ['', 'second'],
    ] as const)
      await changing(subject(), (change) => change.setPanelToken(user, project, claims, 'an id'))
    expect(await store.records.panelToken(user.id, '')).toBe('second')
    expect(await store.records.panelToken(user.id, 'alpha')).toBe('of alpha')
  })

  test('the account of a token by its id: a static token, or one that can be copied', async () => {
    const { store } = subject()
    const { account, user } = await newPanelUser(subject())
    const ofStatic = await changing(subject(), (change) =>
      change.addStaticToken(user, {
        kind: 'static_token',
        name: 'key',
        hash: randomBytes(32),
        pepper: 'one',
      }),
    )
    // `_` would match any character in a pattern.
    const [id, near] = ['abcdefghij_lmnopqrstuv', 'abcdefghijklmnopqrstuv']
    const claims = JSON.stringify({ jti: near, exp: 1000 })
    await changing(subject(), (change) => change.setPanelToken(user, '', claims, near))
    expect(await store.records.tokenById(ofStatic)).toEqual({ account: account.account })
    expect(await store.records.tokenById(near)).toEqual({ account: account.account, holderId: user.id })
    expect(await store.records.tokenById(id)).toBeUndefined()
  })

  test('address ranges are replaced as a whole, and returned with every token status', async () => {
    const { store } = subject()
    const { account } = await newServiceUser(subject())
    const look = async () => [
      await store.records.addressRules(account.id),
      (await store.verification.serviceUser(account.account, 'robot'))?.addresses,
    ]
    expect(await look()).toEqual([[], []])
    const ranges = ['10.0.0.0/8', '192.0.2.1/32', '2001:db8::/32']
    await changing(subject(), (change) => change.setAddressRules(account, [...ranges, '10.0.0.0/8']))
    expect(await look()).toEqual([ranges, ranges])
    await changing(subject(), (change) => change.setAddressRules(account, ['::1/128']))
    expect(await look()).toEqual([['::1/128'], ['::1/128']])
    await changing(subject(), (change) => change.setAddressRules(account, []))
    expect(await look()).toEqual([[], []])
  })

  test('a token is revoked once: a second revocation returns the time of the first one', async () => {
    const { store, clock, newAccount } = subject()
    const { account } = await newAccount()
    const first = clock.nowMs
    expect(await changing(subject(), (change) => change.revoke('twice', account))).toBe(first)
    clock.nowMs += 1000
    expect(await changing(subject(), (change) => change.revoke('twice', account))).toBe(first)
    const all = await store.records.revocations({ after: '', size: 1000 })
    expect(all.filter(({ tokenId }) => tokenId === 'twice')).toEqual([
      { tokenId: 'twice', revokedAtMs: first },
    ])
  })

  test('a revocation is kept, whatever the clock says at later ones', async () => {
    const { store, clock, newAccount } = subject()
    const { account } = await newAccount()
    const before = clock.nowMs
    await changing(subject(), (change) => change.revoke('kept', account))
    for (const years of [0, 1, 100, -30]) {
      clock.nowMs = before + years * 365 * 86_400_000
      await changing(subject(), (change) => change.revoke(`another, after ${years}`, account))
    }
    clock.nowMs = before
    const ids = (await store.records.revocations({ after: '', size: 1000 })).map(({ tokenId }) => tokenId)
    expect(ids).toContain('kept')
  })

  /** Records whose second creation is refused. */
  const TWICE: readonly [
    what: string,
    make: (change: DirectoryChange, people: People) => Promise<unknown>,
  ][] = [
    ['an account', (change, { account }) => change.createAccount(account.account)],
    ['a project', (change, { account }) => change.createProject(account, 'alpha')],
    [
      'a user',
      (change, { account }) =>
        change.createUser(account, { name: 'robot', type: 'service_user', passwordHash: PASSWORD_HASH }),
    ],
    [
      'a user of the other type',
      (change, { account }) => change.createUser(account, { name: 'robot', type: 'control_panel_user' }),
    ],
    [
      'a static token that is not revoked',
      (change, { user }) =>
        change.addStaticToken(user, {
          kind: 'static_token',
          name: 'key',
          hash: randomBytes(32),
          pepper: 'a fingerprint',
        }),
    ],
    [
      'the hash of a static token',
      (change, { user, hash }) =>
        change.addStaticToken(user, { kind: 'static_token', name: 'other', hash, pepper: 'a fingerprint' }),
    ],
  ]
  test.each(TWICE)('%s with the same name is refused, and nothing changes', async (_what, make) => {
    const people = await withToken(subject())
    const { store } = subject()
    const before = await store.records.audit('', { after: '0', size: 10_000 })
    await expect(changing(subject(), (change) => make(change, people))).rejects.toThrow(AlreadyExists)
    expect(await store.records.audit('', { after: '0', size: 10_000 })).toEqual(before)
  })

  test('names are unique within an account only', async () => {
    const { account } = await newServiceUser(subject())
    const other = await newServiceUser(subject())
    expect(other.account.account).not.toBe(account.account)
    expect(other.user.name).toBe('robot')
  })

  /** Records to delete, and how to find them. */
  const DELETED: readonly [
    what: string,
    remove: (change: DirectoryChange, people: People) => Promise<unknown>,
    make: (change: DirectoryChange, people: People) => Promise<unknown>,
    find: (subject: Subject, people: People) => Promise<{ id: string } | undefined>,
  ][] = [
    [
      'an account',
      (change, { account }) => change.deleteAccount(account),
      (change, { account }) => change.createAccount(account.account),
      ({ store }, { account }) => store.records.account(account.account),
    ],
    [
      'a project',
      async (change, { account }) => change.deleteProject(await theProject(change.records, account, 'alpha')),
      (change, { account }) => change.createProject(account, 'alpha'),
      ({ store }, { account }) => store.records.project(account.account, 'alpha'),
    ],
    [
      'a user',
      (change, { user }) => change.deleteUser(user),
      (change, { account }) =>
        change.createUser(account, { name: 'robot', type: 'service_user', passwordHash: PASSWORD_HASH }),
      ({ store }, { account }) => store.records.user(account.account, 'robot', 'service_user'),
    ],
  ]
  test.each(DELETED)('%s that is deleted frees its name', async (_what, remove, make, find) => {
    const people = await withToken(subject())
    const before = await find(subject(), people)
    expect(before).toBeDefined()
    await changing(subject(), (change) => remove(change, people))
    expect(await find(subject(), people)).toBeUndefined()
    await changing(subject(), (change) => make(change, people))
    expect((await find(subject(), people))?.id).not.toBe(before?.id)
  })

  test('deleting an account deletes its records, and a new account with the same number is empty', async () => {
    const { store } = subject()
    const { account, user } = await newServiceUser(subject())
    await changing(subject(), (change) => change.deleteAccount(account))
    await changing(subject(), (change) => change.createAccount(account.account))
    const page = { after: '', size: 10 }
    expect(await store.records.projects(account.account, page)).toEqual([])
    expect(await store.records.users(account.account, 'service_user', page)).toEqual([])
    expect(await store.records.userById(user.id)).toBeUndefined()
    expect(await store.verification.serviceUser(account.account, 'robot')).toBeUndefined()
  })

  test('a permission for a deleted project is not returned, and one for an unknown project is refused', async () => {
    const { store } = subject()
    const { account, user } = await newServiceUser(subject(), [
      { scope: 'projects', projects: ['alpha', 'beta'] },
    ])
    await changing(subject(), async (change) =>
      change.deleteProject(await theProject(change.records, account, 'alpha')),
    )
    const { permissions } = await theUser(store.records, account, 'robot', 'service_user')
    expect(permissions).toEqual([{ scope: 'projects', projects: ['beta'] }])
    await expect(
      changing(subject(), (change) =>
        change.setPermissions(user, [{ scope: 'projects', projects: ['alpha'] }]),
      ),
    ).rejects.toMatchObject({ name: 'NoSuchProject' })
  })
}

interface People {
  readonly account: Account
  readonly user: UserRecord
  readonly hash: Buffer
}

/** Creates a service user with a static token named `key`. */
async function withToken(subject: Subject): Promise<People> {
  const people = await newServiceUser(subject)
  const hash = randomBytes(32)
  await changing(subject, (change) =>
    change.addStaticToken(people.user, { kind: 'static_token', name: 'key', hash, pepper: 'a fingerprint' }),
  )
  return { ...people, hash }
}
