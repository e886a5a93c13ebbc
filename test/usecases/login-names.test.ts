/** Names in a login, the scopes for which a user can get tokens, and the roles of those. */
import { createHash } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { UNSCOPED_KIND } from '../../sidecar/authority/authority.ts'
import { userIn } from '../../sidecar/directory/found.ts'
import {
  accountFor,
  projectFor,
  type Reference,
  type ReferenceInAccount,
  userFor,
} from '../../sidecar/usecases/references.ts'
import { type RoleMapping, rolesOf } from '../../sidecar/usecases/roles.ts'
import { accountsFor, projectsFor } from '../../sidecar/usecases/scopes-of-user.ts'
import { ACCOUNT_KIND, PROJECT_KIND } from '../support/matrices/engines.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openServices } from '../support/sidecar/services.ts'

const ACCOUNT = '4711'
const MANY = '4712'
/** More than are read at once. They are sorted by name. */
const PROJECTS = Array.from({ length: 501 }, (_, index) => `0-project-${String(index).padStart(3, '0')}`)
const LAST = PROJECTS.at(-1) ?? ''

const { administration, run } = await openServices()
await applyFile(administration, TESTER, {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha', 'beta', 'closed'],
      service_users: [
        { name: 'whole', permissions: [{ scope: 'account' }] },
        { name: 'some', permissions: [{ scope: 'projects', projects: ['alpha', 'closed'] }] },
        {
          name: 'half',
          permissions: [{ scope: 'projects', projects: ['alpha'] }, { scope: 'account' }],
        },
        { name: 'nothing', permissions: [] },
      ],
      control_panel_users: [{ name: 'person' }],
    },
    {
      account: MANY,
      projects: PROJECTS,
      service_users: [
        { name: 'whole', permissions: [{ scope: 'account' }] },
        { name: 'last', permissions: [{ scope: 'projects', projects: [LAST] }] },
      ],
    },
  ],
})
await run(TESTER, 'updateProject', { account: ACCOUNT, name: 'closed', enabled: false })

const userNamed = (name: string, account = ACCOUNT) =>
  userIn(administration.records, account, name, name === 'person' ? 'control_panel_user' : 'service_user')
const ids = {
  user: (await userNamed('whole')).id,
  project: (await run(TESTER, 'getProject', { account: ACCOUNT, name: 'alpha' })).id,
  account: (await run(TESTER, 'getAccount', { account: ACCOUNT })).id,
}

/** No account has a space in its number. */
const nowhere = (name: string) => `no account ${createHash('sha256').update(name).digest('hex')}`
const IMPOSSIBLE = 'a\u0000b'
const HERE: Reference = { name: ACCOUNT }

test.each<[claim: string, reference: Reference, account: string]>([
  ['a name, which is its number', HERE, ACCOUNT],
  ['the name of none, which is for the login to find out', { name: '99' }, '99'],
  ['what is no name', { name: IMPOSSIBLE }, nowhere(IMPOSSIBLE)],
  ['its id', { id: ids.account }, ACCOUNT],
  ['both, which agree', { id: ids.account, name: ACCOUNT }, ACCOUNT],
  ['both, which do not agree', { id: ids.account, name: MANY }, nowhere(ids.account)],
  ['the id of none', { id: 'none' }, nowhere('none')],
  ['the id of something else', { id: ids.user }, nowhere(ids.user)],
  ['what is no id', { id: IMPOSSIBLE }, nowhere(IMPOSSIBLE)],
])('an account by %s', async (_claim, reference, account) => {
  expect(await accountFor(administration, reference)).toBe(account)
})

/** The same of what is in an account: of a user, and of a project. */
const IN_ACCOUNT: readonly [
  what: 'user' | 'project',
  name: string,
  resolve: (reference: ReferenceInAccount) => Promise<readonly (string | undefined)[]>,
][] = [
  [
    'user',
    'whole',
    async (reference) => {
      const { account, userName } = await userFor(administration, reference)
      return [account, userName]
    },
  ],
  [
    'project',
    'alpha',
    async (reference) => {
      const { account, project } = await projectFor(administration, reference)
      return [account, project]
    },
  ],
]

for (const [what, name, resolve] of IN_ACCOUNT) {
  const id = ids[what]
  test.each<[claim: string, reference: ReferenceInAccount, account: string, name: string]>([
    ['a name', { name, account: HERE }, ACCOUNT, name],
    ['a name, in an account by its id', { name, account: { id: ids.account } }, ACCOUNT, name],
    ['a name, in no account', { name, account: { id: 'none' } }, nowhere('none'), name],
    ['what is no name', { name: IMPOSSIBLE, account: HERE }, nowhere(IMPOSSIBLE), 'unknown'],
    ['the id', { id }, ACCOUNT, name],
    ['both, which agree', { id, name }, ACCOUNT, name],
    ['both, which do not agree', { id, name: 'other' }, nowhere(id), 'unknown'],
    ['the id of none', { id: 'none' }, nowhere('none'), 'unknown'],
    ['the id of something else', { id: ids.account }, nowhere(ids.account), 'unknown'],
    ['what is no id', { id: IMPOSSIBLE }, nowhere(IMPOSSIBLE), 'unknown'],
  ])(`a ${what} by %s`, async (_claim, reference, account, found) => {
    expect(await resolve(reference)).toEqual([account, found])
  })
}

test('a store is never asked for what can be no id: some fail on it', async () => {
  const asked = (['accountById', 'userById', 'projectById'] as const).map((each) =>
    vi.spyOn(administration.records, each),
  )
  await accountFor(administration, { id: IMPOSSIBLE })
  await userFor(administration, { id: IMPOSSIBLE })
  await projectFor(administration, { id: IMPOSSIBLE })
  for (const each of asked) expect(each).not.toHaveBeenCalled()
})

test.each<[user: string, projects: string[], accounts: string[]]>([
  ['whole', ['alpha', 'beta'], [ACCOUNT]],
  ['some', ['alpha'], []],
  ['half', ['alpha', 'beta'], [ACCOUNT]],
  ['nothing', [], []],
  // A control panel user needs no permission (§1).
  ['person', ['alpha', 'beta'], [ACCOUNT]],
])('%s gets tokens for the enabled projects %j and the accounts %j', async (name, projects, accounts) => {
  const user = await userNamed(name)
  expect((await projectsFor(administration, user)).map((each) => each.name)).toEqual(projects)
  expect((await accountsFor(administration, user)).map((each) => each.account)).toEqual(accounts)
})

test('projects are found beyond those that are read at once', async () => {
  const named = async (user: string) =>
    (await projectsFor(administration, await userNamed(user, MANY))).map(({ name }) => name)
  expect(await named('whole')).toEqual(PROJECTS)
  expect(await named('last')).toEqual([LAST])
})

const MAPPING: RoleMapping = {
  account: ['member', 'reader'],
  projects: ['project-member', 'reader'],
  byRole: new Map([
    ['iam.admin', ['admin', 'member']],
    ['hidden', []],
  ]),
}
const OF_ACCOUNT = { scope: 'account' } as const
const OF_ALPHA = { scope: 'projects', projects: ['alpha'] } as const

test.each<
  [claim: string, project: string | undefined, of: Partial<Parameters<typeof rolesOf>[1]>, roles: string[]]
>([
  [
    'a permission for the account, on the account',
    undefined,
    { permissions: [OF_ACCOUNT] },
    ['member', 'reader'],
  ],
  ['and on a project', 'alpha', { permissions: [OF_ACCOUNT] }, ['member', 'reader']],
  ['a permission for a project, there', 'alpha', { permissions: [OF_ALPHA] }, ['project-member', 'reader']],
  ['on another one', 'beta', { permissions: [OF_ALPHA] }, []],
  ['on the account', undefined, { permissions: [OF_ALPHA] }, []],
  ['both', 'alpha', { permissions: [OF_ALPHA, OF_ACCOUNT] }, ['project-member', 'reader', 'member']],
  [
    'roles, which are mapped or keep their name',
    undefined,
    { roles: ['iam.admin', 'auditor', 'hidden'] },
    ['admin', 'member', 'auditor'],
  ],
])('the roles of %s', (_claim, project, of, roles) => {
  const token = {
    kind: project === undefined ? ACCOUNT_KIND : PROJECT_KIND,
    scope: { account: ACCOUNT, ...(project !== undefined && { project }) },
    subject: { id: 'u', name: 'u', type: 'service_user' },
    ...{ tokenId: 't', issuedAtMs: 0, expiresAtMs: undefined },
  }
  const user = { permissions: [], roles: [], ...of }
  expect(rolesOf(token, user, MAPPING)).toEqual(roles)
  expect(rolesOf({ ...token, kind: UNSCOPED_KIND }, user, MAPPING)).toEqual([])
})
