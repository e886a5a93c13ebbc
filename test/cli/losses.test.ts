/** The rights that a change removes from a user. */
import { describe, expect, test } from 'vitest'
import { lossesByFile, lossesOf, type Rights } from '../../sidecar/cli/administration/losses.ts'

const account = { scope: 'account' } as const
const projects = (...names: string[]) => ({ scope: 'projects', projects: names }) as const

test.each<[claim: string, before: Rights, after: Rights, losses: string[]]>([
  ['nothing is named', { permissions: [account], roles: ['a'], owner: true, enabled: true }, {}, []],
  [
    'the same again',
    { permissions: [projects('a', 'b')] },
    { permissions: [projects('b'), projects('a')] },
    [],
  ],
  [
    'one project of two',
    { permissions: [projects('a', 'b')] },
    { permissions: [projects('b')] },
    ['permission project:a'],
  ],
  [
    'another project',
    { permissions: [projects('a')] },
    { permissions: [projects('b')] },
    ['permission project:a'],
  ],
  ['the account for its projects', { permissions: [projects('a')] }, { permissions: [account] }, []],
  [
    'a project for the account',
    { permissions: [account] },
    { permissions: [projects('a')] },
    ['permission account'],
  ],
  [
    'all permissions',
    { permissions: [account, projects('a')] },
    { permissions: [] },
    ['permission account', 'permission project:a'],
  ],
  ['a role', { roles: ['a', 'b'] }, { roles: ['b', 'c'] }, ['role a']],
  ['ownership', { owner: true }, { owner: false }, ['ownership of the account']],
  ['ownership of a user who is not an owner', { owner: false }, { owner: false }, []],
  ['being a validator', { validator: true }, { validator: false }, ['being a validator']],
  ['being enabled', { enabled: true }, { enabled: false }, ['being enabled']],
  ['enabling a disabled user', { enabled: false }, { enabled: true }, []],
])('%s', (_claim, before, after, losses) => {
  expect(lossesOf(before, after)).toEqual(losses)
})

describe('a directory file', () => {
  const worker = { name: 'worker', enabled: true, permissions: [projects('a')], roles: [], validator: false }
  const listing = {
    serviceUsers: [worker, { ...worker, name: 'other' }],
    controlPanelUsers: [{ name: 'olga', enabled: true, owner: true, roles: ['iam.admin'] }],
  }

  const find = async (account: string, name: string, type: string) =>
    account === '1'
      ? (type === 'service_user' ? listing.serviceUsers : listing.controlPanelUsers).find(
          (user) => user.name === name,
        )
      : undefined

  test('removes rights only from the users that it names', async () => {
    const file = {
      accounts: [
        {
          account: '1',
          service_users: [{ name: 'worker', permissions: [] }],
          control_panel_users: [{ name: 'olga', owner: false }],
        },
      ],
    }
    expect(await lossesByFile(file, find)).toEqual([
      { account: '1', user: 'worker', what: ['permission project:a'] },
      { account: '1', user: 'olga', what: ['ownership of the account'] },
    ])
  })

  test('removes nothing from accounts and users that do not exist yet', async () => {
    const file = {
      accounts: [
        { account: '1', service_users: [{ name: 'new', permissions: [] }] },
        { account: '2', service_users: [{ name: 'worker', permissions: [] }] },
      ],
    }
    expect(await lossesByFile(file, find)).toEqual([])
  })
})
