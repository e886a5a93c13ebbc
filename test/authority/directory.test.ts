/**
 * Directory files: a file describes the desired state, applying it twice changes nothing, and it is never
 * applied by half.
 */
import { userInfo } from 'node:os'
import { describe, expect, test, vi } from 'vitest'
import { commandLine } from '../../sidecar/authority/actor.ts'
import { accountsIn } from '../../sidecar/authority/administration/directory-listing.ts'
import { applyFile, type DirectoryFile, listDirectory } from '../../sidecar/index.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, PEOPLE, runSidecar } from '../support/sidecar/sidecar.ts'

type Account = DirectoryFile['accounts'][number]
const administration = async () => (await runSidecar()).sidecar.administration
const inAccount = (account: Omit<Account, 'account'>): DirectoryFile => ({
  accounts: [{ account: ACCOUNT, ...account }],
})

test('a list of a large account is read in pages, when they are asked for', async () => {
  const directory = await administration()
  const { records } = directory
  const people = {
    accounts: [{ account: ACCOUNT, projects: Array.from({ length: 1_001 }, (_, index) => `p-${index}`) }],
  }
  await applyFile(directory, TESTER, people)
  const asked = vi.spyOn(records, 'projects')
  for await (const { projects } of accountsIn(records)) {
    expect(asked).toHaveBeenCalledTimes(0)
    for (const [pages, names] of [500, 500, 1].entries()) {
      const { value } = await projects.next()
      expect([value?.length, asked.mock.calls.length]).toEqual([names, pages + 1])
    }
  }
})

describe('applying a directory file', () => {
  test('creates what the file names, and shows each new secret once', async () => {
    const { created, secrets } = await applyFile(await administration(), TESTER, PEOPLE)
    expect(created).toEqual({ accounts: 2, projects: 3, users: 6, static_tokens: 1 })
    expect(secrets.map(({ user, type, name }) => [user, type, name])).toEqual([
      ['account', 'password', undefined],
      ['alpha', 'password', undefined],
      ['nothing', 'password', undefined],
      ['disabled', 'password', undefined],
      ['owner', 'static_token', 'key'],
      ['stranger', 'password', undefined],
    ])
    expect(new Set(secrets.map(({ value }) => value.reveal())).size).toBe(secrets.length)
  })

  test('a second time creates nothing and shows nothing', async () => {
    const directory = await administration()
    await applyFile(directory, TESTER, PEOPLE)
    const before = await listDirectory(directory.records)
    const records = () => directory.records.audit('', { after: '', size: 1000 })
    const recorded = await records()
    expect(await applyFile(directory, TESTER, PEOPLE)).toEqual({
      created: { accounts: 0, projects: 0, users: 0, static_tokens: 0 },
      changed: [],
      secrets: [],
    })
    expect(await listDirectory(directory.records)).toEqual(before)
    expect(await records()).toEqual(recorded)
  })

  test('counts the passwords that it hashes: those of the service users who are missing', async () => {
    const directory = await administration()
    const followed: (number | string)[] = []
    const follow = (passwords: number) => {
      followed.push(passwords)
      return { add: (more: number) => followed.push(more), [Symbol.dispose]: () => followed.push('end') }
    }
    const apply = (...names: string[]) => {
      const service_users = names.map((name) => ({ name, permissions: [] }))
      return applyFile(directory, TESTER, inAccount({ service_users }), follow as never)
    }
    await apply('one', 'two')
    await apply('one', 'two', 'three')
    expect(followed).toEqual([2, 1, 1, 'end', 1, 1, 'end'])
  })

  test('creates all static tokens of the file, the first time and later', async () => {
    const directory = await administration()
    const owner = (...static_tokens: string[]) =>
      applyFile(directory, TESTER, inAccount({ control_panel_users: [{ name: 'owner', static_tokens }] }))
    expect((await owner('one', 'two')).secrets.map(({ name }) => name)).toEqual(['one', 'two'])
    expect((await owner('two', 'three')).secrets.map(({ name }) => name)).toEqual(['three'])
  })

  test('sets the permissions of the users in the file, and does not change other users', async () => {
    const directory = await administration()
    await applyFile(directory, TESTER, PEOPLE)
    await applyFile(
      directory,
      TESTER,
      inAccount({
        projects: ['beta'],
        service_users: [{ name: 'alpha', permissions: [{ scope: 'projects', projects: ['beta'] }] }],
      }),
    )
    const [account] = await listDirectory(directory.records)
    expect(account).toMatchObject({ account: ACCOUNT, projects: ['alpha', 'beta'] })
    expect(account?.serviceUsers.map(({ name, permissions }) => [name, permissions])).toEqual([
      ['account', [{ scope: 'account' }]],
      ['alpha', [{ scope: 'projects', projects: ['beta'] }]],
      ['disabled', [{ scope: 'account' }]],
      ['nothing', []],
    ])
  })

  test('reports the users that were changed', async () => {
    const directory = await administration()
    await applyFile(directory, TESTER, PEOPLE)
    const { changed } = await applyFile(
      directory,
      TESTER,
      inAccount({
        projects: ['alpha', 'beta'],
        service_users: [
          { name: 'account', permissions: [{ scope: 'account' }], roles: ['iam.admin'], enabled: false },
          { name: 'alpha', permissions: [{ scope: 'projects', projects: ['alpha', 'beta'] }] },
          { name: 'nothing', permissions: [] },
        ],
        control_panel_users: [{ name: 'owner', owner: true }],
      }),
    )
    expect(changed).toEqual([
      { account: ACCOUNT, user: 'account', what: ['roles', 'enabled'], credentialsEnded: true },
      { account: ACCOUNT, user: 'alpha', what: ['permissions'], credentialsEnded: false },
      { account: ACCOUNT, user: 'owner', what: ['owner'], credentialsEnded: true },
    ])
  })

  test('refuses repetitions, and names them', async () => {
    const directory = await administration()
    const twice = { name: 'job', permissions: [] }
    const file = {
      accounts: [
        { account: '1', service_users: [twice, twice], control_panel_users: [{ name: 'a' }, { name: 'a' }] },
        { account: '2' },
        { account: '1' },
      ],
    }
    await expect(applyFile(directory, TESTER, file)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [
        'accounts[2].account',
        'accounts[0].service_users[1].name',
        'accounts[0].control_panel_users[1].name',
      ].map((field) => ({ field, expected: 'no repetition of an earlier item' })),
    })
    expect(await listDirectory(directory.records)).toEqual([])
  })

  test('without `enabled`, a disabled user stays disabled', async () => {
    const directory = await administration()
    await applyFile(directory, TESTER, PEOPLE)
    await applyFile(directory, TESTER, inAccount({ service_users: [{ name: 'disabled', permissions: [] }] }))
    const [account] = await listDirectory(directory.records)
    expect(account?.serviceUsers.find(({ name }) => name === 'disabled')).toMatchObject({ enabled: false })
  })

  test.each<[claim: string, account: Omit<Account, 'account'>, message: string]>([
    [
      'a permission that selects a project that does not exist',
      { service_users: [{ name: 'job', permissions: [{ scope: 'projects', projects: ['gamma'] }] }] },
      `account \`${ACCOUNT}\` has no project \`gamma\``,
    ],
    [
      'a service user with the name of a control panel user',
      { service_users: [{ name: 'owner', permissions: [] }] },
      `user \`owner\` of account \`${ACCOUNT}\` is a control_panel_user, expected a service_user`,
    ],
    [
      'a control panel user with the name of a service user',
      { control_panel_users: [{ name: 'account' }] },
      `user \`account\` of account \`${ACCOUNT}\` is a service_user, expected a control_panel_user`,
    ],
  ])('%s is refused, and nothing of the file is applied', async (_claim, account, message) => {
    const directory = await administration()
    await applyFile(directory, TESTER, PEOPLE)
    const before = await listDirectory(directory.records)
    const file = inAccount({ ...account, projects: ['created before the error'] })
    await expect(applyFile(directory, TESTER, file)).rejects.toMatchObject({ message })
    expect(await listDirectory(directory.records)).toEqual(before)
  })
})

test('a listing contains no secret', async () => {
  const directory = await administration()
  const { secrets } = await applyFile(directory, TESTER, PEOPLE)
  const listing = JSON.stringify(await listDirectory(directory.records))
  expect(secrets.filter(({ value }) => listing.includes(value.reveal()))).toEqual([])
})

describe('the audit trail names the operating system user who changes the directory offline', () => {
  test('the current user', async () => {
    const directory = await administration()
    await applyFile(directory, commandLine(), PEOPLE)
    await run(directory, commandLine(), 'replaceServiceUserPassword', { account: ACCOUNT, name: 'account' })
    const records = await directory.records.audit('', { after: '', size: 1000 })
    expect(new Set(records.map(({ action }) => action))).toContain('service_user.replace_password')
    expect(new Set(records.map(({ actor }) => actor))).toEqual(
      new Set([`command line (${userInfo().username})`]),
    )
  })

  const nobody = () => {
    throw new Error('no such user')
  }
  test.each<[claim: string, actor: string, nameOf: () => string, uidOf: () => number | undefined]>([
    ['by name', 'command line (alice)', () => 'alice', () => 1000],
    ['by number if there is no name', 'command line (1000)', nobody, () => 1000],
    ['by number if the name is empty', 'command line (0)', () => '', () => 0],
    ['not at all if there is neither', 'command line', nobody, () => undefined],
  ])('%s: %s', (_claim, actor, nameOf, uidOf) => {
    expect(commandLine(nameOf, uidOf).name).toBe(actor)
  })
})
