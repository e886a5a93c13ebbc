/** The effects and answers of each operation on users and their tokens. */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { IssuedToken } from '../../sidecar/authority/authority.ts'
import type { Secret } from '../../sidecar/base/secret.ts'
import { ApplicationCredentialRecords } from '../../sidecar/directory/application-credential-records.ts'
import { ChangeWriter } from '../../sidecar/directory/change-writer.ts'
import { userIn } from '../../sidecar/directory/found.ts'
import type { OperationRequest } from '../../sidecar/usecases/administration/administer.ts'
import { storedCredential } from '../support/identity/application-credentials.ts'
import { STATIC_KIND } from '../support/matrices/engines.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openOffice } from '../support/sidecar/office.ts'
import { byToken, presenting } from '../support/sidecar/services.ts'

const NOW_MS = 1_800_000_000_000
const DAY_MS = 86_400_000
const clock = { nowMs: NOW_MS }
const pass = async (ms: number) => {
  clock.nowMs += ms
}
const { ask, done, listed, administration, authority, engine, kindFor, run } = await openOffice(
  '4711',
  () => clock.nowMs,
)
const root = byToken('root')

/** A new account for each test. */
let account = ''
let count = 0
beforeEach(async () => {
  account = `account-${++count}`
  await run(TESTER, 'createAccount', { account })
})

const actionsIn = async (of = account) =>
  (await administration.records.audit(of, { after: '0', size: 100 })).map(({ action }) => action)
const missing = (asked: Promise<unknown>) => expect(asked).rejects.toMatchObject({ reason: 'NOT_FOUND' })

const PIA = { account: '4711', name: 'pia', owner: false }
const ALPHA = { scope: 'projects', projects: ['alpha'] } as const
const WHOLE = { scope: 'account', projects: [] } as const

describe('service users', () => {
  beforeEach(() => run(TESTER, 'createProject', { account, name: 'alpha' }))
  const create = (name: string) =>
    done('createServiceUser', { account, name, permissions: [ALPHA, WHOLE], roles: ['member'] })
  const obtains = (name: string, password: Secret) =>
    authority.issue({ account, userName: name, password }, kindFor(), { account }).then(
      () => true,
      () => false,
    )

  test('are created, read, listed and deleted', async () => {
    const { user, password } = await create('robot')
    expect(user).toEqual(await run(TESTER, 'getServiceUser', { account, name: 'robot' }))
    expect(user).toMatchObject({ permissions: [{ scope: 'account' }, ALPHA], roles: ['member'] })
    expect(await obtains('robot', password)).toBe(true)
    expect(await done('getServiceUser', { account, name: 'robot' })).toEqual(user)
    const { user: first } = await create('a robot')
    await run(TESTER, 'createControlPanelUser', { account, name: 'pia' })
    expect(await listed('listServiceUsers', { account })).toEqual([first, user])
    expect(await done('deleteServiceUser', { account, name: 'robot' })).toBeUndefined()
    await missing(run(TESTER, 'getServiceUser', { account, name: 'robot' }))
  })

  test('change in what is said, and in nothing else', async () => {
    const { user } = await create('robot')
    const same = { account, name: 'robot', enabled: undefined, permissions: undefined, roles: undefined }
    const changed = async (change: Partial<OperationRequest<'updateServiceUser'>>) =>
      (await done('updateServiceUser', { ...same, ...change })).user
    expect(await done('updateServiceUser', same)).toEqual({ user, credentialsEnded: false })
    expect(await changed({ permissions: [WHOLE] })).toEqual({ ...user, permissions: [{ scope: 'account' }] })
    expect(await changed({ roles: [] })).toMatchObject({ roles: [], permissions: [{ scope: 'account' }] })
    expect(await changed({ enabled: false })).toMatchObject({ enabled: false, roles: [] })
    expect(await done('updateServiceUser', { ...same, roles: ['iam.admin'] })).toMatchObject({
      user: { roles: ['iam.admin'] },
      credentialsEnded: true,
    })
  })

  test('get a new password, and are validators or not', async () => {
    const { password: before } = await create('robot')
    const { password, ...others } = await done('replaceServiceUserPassword', { account, name: 'robot' })
    expect(others).toEqual({})
    expect([await obtains('robot', before), await obtains('robot', password)]).toEqual([false, true])
    for (const validator of [true, false]) {
      const request = { account, name: 'robot', validator }
      expect(await done('setServiceUserValidator', request)).toMatchObject({ user: { validator } })
      expect(await run(TESTER, 'getServiceUser', { account, name: 'robot' })).toMatchObject({
        validator,
      })
    }
  })

  type Requested = OperationRequest<'createServiceUser'>['permissions'][number]
  test.each<[claim: string, permission: Requested]>([
    ['no scope', { scope: undefined, projects: [] }],
    ['no scope, and a project', { scope: undefined, projects: ['alpha'] }],
    ['the account, and a project', { scope: 'account', projects: ['alpha'] }],
    ['no projects', { scope: 'projects', projects: [] }],
  ])('a permission for %s is refused with its place', async (_claim, permission) => {
    const permissions = [ALPHA, permission]
    const expected = (path: string) =>
      `INVALID_ARGUMENT: ${path}[1]: expected scope ACCOUNT without projects, or scope PROJECTS with one or more`
    const request = { account, name: 'robot', permissions, roles: [] }
    expect(await ask(root, 'createServiceUser', request)).toBe(expected('permissions'))
    const update = { ...request, enabled: undefined, roles: undefined }
    expect(await ask(root, 'updateServiceUser', update)).toBe(expected('permissions.permissions'))
  })
})

test.each<[what: string, ask: () => Promise<unknown>, field: string]>([
  ['an empty name', () => ask(root, 'createProject', { account, name: '' }), 'name'],
  ['a name too long', () => ask(root, 'createProject', { account, name: 'x'.repeat(256) }), 'name'],
  ['an account with a slash', () => ask(root, 'createAccount', { account: 'a/b' }), 'account'],
  [
    'a role that is no name',
    () => ask(root, 'createControlPanelUser', { ...PIA, roles: ['iam.admin', 'IAM Admin'] }),
    'roles[1]',
  ],
  [
    'too many roles',
    () =>
      ask(root, 'createControlPanelUser', { ...PIA, roles: Array.from({ length: 101 }, (_, n) => `r${n}`) }),
    'roles',
  ],
  [
    'more projects than a user can have selected',
    () => {
      const projects = Array.from({ length: 1001 }, (_, n) => `p${n}`)
      const permissions = [{ scope: 'projects' as const, projects }]
      return ask(root, 'createServiceUser', { account, name: 'm', permissions, roles: [] })
    },
    'permissions',
  ],
  [
    'a note too long',
    () => ask(root, 'createStaticToken', { account, userName: 'pia', name: 'key', note: 'x'.repeat(256) }),
    'note',
  ],
])('%s is refused by its field', async (_what, refused, field) => {
  expect(
    String(await refused())
      .split(': ')
      .slice(0, 2),
  ).toEqual(['INVALID_ARGUMENT', field])
})

describe('control panel users', () => {
  const create = (name: string, owner = false) =>
    done('createControlPanelUser', { account, name, owner, roles: ['member'] })

  test('are created, read, listed and deleted', async () => {
    const created = await create('pia')
    expect(created).toEqual(await run(TESTER, 'getControlPanelUser', { account, name: 'pia' }))
    expect(created).toMatchObject({ owner: false, roles: ['member'] })
    expect(await done('getControlPanelUser', { account, name: 'pia' })).toEqual(created)
    const first = await create('olga', true)
    expect(first).toMatchObject({ owner: true })
    await run(TESTER, 'createServiceUser', { account, name: 'robot', permissions: [] })
    expect(await listed('listControlPanelUsers', { account })).toEqual([first, created])
    expect(await done('deleteControlPanelUser', { account, name: 'pia' })).toBeUndefined()
    await missing(run(TESTER, 'getControlPanelUser', { account, name: 'pia' }))
  })

  test('change in what is said, and in nothing else', async () => {
    const user = await create('pia')
    const same = { account, name: 'pia', enabled: undefined, owner: undefined, roles: undefined }
    const changed = async (change: Partial<OperationRequest<'updateControlPanelUser'>>) =>
      (await done('updateControlPanelUser', { ...same, ...change })).user
    expect(await done('updateControlPanelUser', same)).toEqual({ user, credentialsEnded: false })
    expect(await changed({ roles: [] })).toMatchObject({ enabled: true, owner: false, roles: [] })
    expect(await changed({ owner: true })).toMatchObject({ enabled: true, owner: true, roles: [] })
    expect(await changed({ enabled: false })).toMatchObject({ enabled: false, owner: true, roles: [] })
  })
})

/** The answer to the user of an issued token, with its text. */
const shown = ({ value, ...others }: { readonly value: Secret }) => ({ ...others, text: value.reveal() })
const carried = ({ value, token }: IssuedToken) => {
  const { header, scheme = '' } = engine.tokenKinds.get(token.kind) ?? {}
  const { advice } = engine.decide({
    ...{ api: 'iam', kind: token.kind, scope: token.scope, holder: 'control_panel_user' },
  })
  expect(advice).not.toEqual([])
  return { header, scheme, token, advice, text: value.reveal() }
}

describe('IAM tokens of control panel users', () => {
  test.each([undefined, 'alpha'])(
    'for the project %s: there is one, a copy, and a new one',
    async (project) => {
      await run(TESTER, 'createControlPanelUser', { account, name: 'pia' })
      await run(TESTER, 'createProject', { account, name: 'alpha' })
      const request = { account, name: 'pia', project }
      expect(await done('getControlPanelUserToken', request)).toBeUndefined()
      const issued = await run(TESTER, 'reissueControlPanelUserToken', { account, name: 'pia', project })
      expect(await done('getControlPanelUserToken', request)).toEqual(issued.token)
      expect(shown(await done('copyControlPanelUserToken', request))).toEqual(carried(issued))
      expect((await actionsIn()).at(-1)).toBe('control_panel_user.copy_token')
      const again = await done('reissueControlPanelUserToken', request)
      expect(again.token.tokenId).not.toBe(issued.token.tokenId)
      expect(shown(again)).toEqual(
        carried(await run(TESTER, 'copyControlPanelUserToken', { account, name: 'pia', project })),
      )
    },
  )
})

test.each<[what: string, meanwhile: () => Promise<unknown>, reason: string]>([
  [
    'is of before its holder was disabled',
    async () => {
      for (const enabled of [false, true])
        await run(TESTER, 'updateControlPanelUser', { account, name: 'pia', enabled })
    },
    'CREDENTIAL_REVOKED',
  ],
  ['has expired', () => pass(DAY_MS), 'CREDENTIAL_EXPIRED'],
  ['was issued while the clock was ahead', () => pass(-DAY_MS), 'CREDENTIAL_EXPIRED'],
])('an IAM token that %s is not given out again', async (_what, meanwhile, reason) => {
  await run(TESTER, 'createControlPanelUser', { account, name: 'pia' })
  const request = { account, name: 'pia', project: undefined }
  await done('reissueControlPanelUserToken', request)
  await meanwhile()
  expect(await done('getControlPanelUserToken', request)).toBeUndefined()
  const what = reason === 'CREDENTIAL_EXPIRED' ? 'has expired' : 'is no longer active'
  expect(await ask(root, 'copyControlPanelUserToken', request)).toBe(
    `${reason}: the IAM token of control panel user \`pia\` ${what}; reissue it`,
  )
  clock.nowMs = NOW_MS
})

test('an IAM token of a control panel user is given out where the matrix has no API yet', async () => {
  await run(TESTER, 'createControlPanelUser', { account, name: 'pia' })
  const given = {
    engine: compile<string, string>({ ...supportMatrix, apis: [], statements: [], conflicts: [] }),
  }
  const request = { account, name: 'pia', project: undefined }
  expect(await done('reissueControlPanelUserToken', request, given)).toMatchObject({ advice: [] })
})

describe('static tokens', () => {
  beforeEach(() => run(TESTER, 'createControlPanelUser', { account, name: 'pia' }))
  const create = (name: string, note = '', given = {}) =>
    done('createStaticToken', { account, userName: 'pia', name, note }, given)
  const recordsOf = async () => {
    const { records } = administration
    const user = await userIn(records, account, 'pia', 'control_panel_user')
    return records.staticTokens(user.id, { after: '', size: 10 })
  }

  test('are created with a note, and say how to send them', async () => {
    const { header, scheme = '' } = engine.tokenKinds.get(STATIC_KIND) ?? {}
    const created = await create('key', 'for the build')
    const [token] = await recordsOf()
    expect(created).toEqual({ header, scheme, token, value: created.value })
    const lastFour = created.value.reveal().slice(-4)
    expect(token).toMatchObject({ name: 'key', note: 'for the build', lastFour })
    const verified = await authority.verify(created.value.reveal(), engine.tokenKinds)
    expect(verified).toMatchObject({ ok: true, token: { kind: STATIC_KIND } })
  })

  test('of a kind that the matrix of the call does not have go into no header', async () => {
    const kinds = supportMatrix.tokenKinds.filter(({ id }) => id !== STATIC_KIND)
    const given = { engine: compile<string, string>({ title: 'other', tokenKinds: kinds, apis: [] }) }
    expect(await create('key', '', given)).toMatchObject({ header: '', scheme: '' })
  })

  test('say with which scheme they are sent, where there is one', async () => {
    const kinds = supportMatrix.tokenKinds.map((kind) =>
      kind.id === STATIC_KIND ? { ...kind, header: 'Authorization', scheme: 'Bearer' } : kind,
    )
    const given = { engine: compile<string, string>({ title: 'other', tokenKinds: kinds, apis: [] }) }
    expect(await create('key', '', given)).toMatchObject({ header: 'Authorization', scheme: 'Bearer' })
  })

  test('are listed and revoked', async () => {
    for (const name of ['first', 'second']) await create(name)
    expect(await listed('listStaticTokens', { account, userName: 'pia' })).toEqual(await recordsOf())
    const request = { account, userName: 'pia', name: 'second' }
    const revoked = await done('revokeStaticToken', request)
    expect(revoked).toMatchObject({ name: 'second', revokedAtMs: NOW_MS })
    expect((await recordsOf()).map(({ name, revokedAtMs }) => [name, revokedAtMs]).toSorted()).toEqual([
      ['first', undefined],
      ['second', NOW_MS],
    ])
    const revocations = await administration.records.revocations({ after: '', size: 100 })
    expect(revocations.map(({ tokenId }) => tokenId)).toContain(revoked.id)
    expect(revocations.length).toBeGreaterThan(1)
    expect(await listed('listRevocations', {})).toEqual(revocations)
  })
})

test('application credentials are listed and deleted', async () => {
  await run(TESTER, 'createProject', { account, name: 'alpha' })
  await run(TESTER, 'createServiceUser', { account, name: 'robot', permissions: [{ scope: 'account' }] })
  for (const name of ['first', 'second']) await storedCredential(administration, account, 'robot', name)
  const recordsOf = async () => {
    const { records } = administration
    const { id } = await userIn(records, account, 'robot', 'service_user')
    return new ApplicationCredentialRecords(records.queries).list(id, { after: '', size: 10 })
  }
  const [first, second] = await recordsOf()
  const request = { account, userName: 'robot' }
  expect(await listed('listApplicationCredentials', request)).toEqual([first, second])
  const id = first?.id ?? ''
  expect(await done('deleteApplicationCredential', { ...request, id })).toBeUndefined()
  expect(await recordsOf()).toEqual([second])
})

test('a call without a credential is refused', async () => {
  expect(await ask(presenting(), 'getAccount', { account })).toMatch(/^REQUESTER_NOT_AUTHENTICATED/)
})

describe('in words', () => {
  const asService = (more: object) => ['createServiceUser', { permissions: [WHOLE], ...more }] as const
  const asPerson = (more: object) => ['createControlPanelUser', more] as const
  const role = 'expected the name of a role, for example iam.admin'

  test.each<[what: string, asked: readonly [string, object], outcome: string]>([
    ['a role with a space', asService({ roles: ['a', 'a b'] }), `INVALID_ARGUMENT: roles[1]: ${role}`],
    ['a role that ends with a dot', asPerson({ roles: ['iam.'] }), `INVALID_ARGUMENT: roles[0]: ${role}`],
    ['a long role', asPerson({ roles: ['a'.repeat(65)] }), `INVALID_ARGUMENT: roles[0]: ${role}`],
    [
      'too many roles',
      asService({ roles: Array(101).fill('a') }),
      'INVALID_ARGUMENT: roles: expected at most 100 roles, not 101',
    ],
    [
      'too many projects',
      asService({ permissions: [{ scope: 'projects', projects: Array(1_001).fill('alpha') }] }),
      'INVALID_ARGUMENT: permissions: expected at most 1000 projects selected, not 1001',
    ],
    ['a service user without a name', asService({ name: '' }), 'INVALID_ARGUMENT: name: expected '],
    ['a person without a name', asPerson({ name: '' }), 'INVALID_ARGUMENT: name: expected '],
  ])('%s is refused', async (_what, [operation, more], outcome) => {
    const request = { account, name: 'robot', ...more } as never
    expect(await ask(root, operation as 'createServiceUser', request)).toEqual(
      expect.stringContaining(outcome),
    )
  })

  test.each(['createServiceUser', 'createControlPanelUser'] as const)(
    '%s names the user that is there already',
    async (operation) => {
      const request = { account, name: 'robot', permissions: [WHOLE] } as never
      await done(operation, request)
      expect(await ask(root, operation, request)).toBe('ALREADY_EXISTS: user `robot` already exists')
    },
  )

  test('the longest role, the most roles and the most projects are accepted', async () => {
    await run(TESTER, 'createProject', { account, name: 'alpha' })
    const roles = ['a'.repeat(64), ...Array.from({ length: 99 }, (_, index) => `r${index}`)]
    const selected = { scope: 'projects' as const, projects: Array(1_000).fill('alpha') as string[] }
    const permissions = [WHOLE, selected]
    const { user } = await done('createServiceUser', { account, name: 'robot', permissions, roles })
    expect(user.roles).toHaveLength(100)
    expect(user.permissions).toEqual([{ scope: 'account' }, ALPHA])
  })

  test('an update has the same limits', async () => {
    for (const type of ['ServiceUser', 'ControlPanelUser'] as const) {
      await done(`create${type}`, { account, name: type, permissions: [] } as never)
      expect(await ask(root, `update${type}`, { account, name: type, roles: ['a b'] })).toBe(
        `INVALID_ARGUMENT: roles[0]: ${role}`,
      )
    }
  })

  test('a new user has no role, and does not own the account', async () => {
    expect(await done('createControlPanelUser', { account, name: 'pia' })).toMatchObject({
      ...{ roles: [], owner: false },
    })
    expect((await done('createServiceUser', { account, name: 'robot', permissions: [] })).user.roles).toEqual(
      [],
    )
  })
})

test('a page that cannot be is refused before its user is looked for', async () => {
  const page = { account, userName: 'nobody', pageSize: 0, pageToken: 'x' }
  expect(await ask(root, 'listStaticTokens', page)).toMatch(/^INVALID_ARGUMENT: page_token: /)
})

test('an existing static token and a missing IAM token are named', async () => {
  await run(TESTER, 'createControlPanelUser', { account, name: 'pia' })
  const key = { account, userName: 'pia', name: 'key' }
  await done('createStaticToken', key)
  expect(await ask(root, 'createStaticToken', key)).toBe('ALREADY_EXISTS: static token `key` already exists')
  expect(await ask(root, 'copyControlPanelUserToken', { account, name: 'pia' })).toBe(
    'NOT_FOUND: there is no such IAM token of control panel user `pia`; reissue makes one',
  )
})

describe('an update that changes nothing', () => {
  const created = async (type: 'ServiceUser' | 'ControlPanelUser', more: object) => {
    await done(`create${type}`, { account, name: 'one', permissions: [], ...more } as never)
    return { account, name: 'one', before: await actionsIn() }
  }

  test('is not recorded, and is heard of by other processes', async () => {
    const { before, ...named } = await created('ControlPanelUser', { owner: true })
    const repeated = vi.spyOn(ChangeWriter.prototype, 'repeat')
    const same = { ...named, enabled: true, owner: true }
    expect(await done('updateControlPanelUser', same)).toMatchObject({ credentialsEnded: false })
    expect(await actionsIn()).toEqual(before)
    expect(repeated.mock.calls).toMatchObject([['control_panel_user.enable', { name: 'one' }]])
    repeated.mockRestore()
  })

  test('of a validator is not recorded', async () => {
    const { before, ...named } = await created('ServiceUser', {})
    const set = (validator: boolean) => done('setServiceUserValidator', { ...named, validator })
    expect(await set(false)).toMatchObject({ credentialsEnded: false })
    expect(await actionsIn()).toEqual(before)
    expect(await set(true)).toMatchObject({ credentialsEnded: true })
    const after = await actionsIn()
    expect(await set(true)).toMatchObject({ credentialsEnded: false })
    expect(await actionsIn()).toEqual(after)
  })
})

test.each<[what: string, change: object, ends: boolean]>([
  ['an owner', { owner: true }, true],
  ['an administrator by a role', { roles: ['iam.admin'] }, true],
  ['neither', { roles: [] }, false],
])('the credentials of a user end who becomes %s', async (_what, change, ends) => {
  await done('createControlPanelUser', { account, name: 'pia' })
  expect(await done('updateControlPanelUser', { account, name: 'pia', ...change })).toMatchObject({
    credentialsEnded: ends,
  })
})

describe('an IAM token of a control panel user', () => {
  const asked = (project: string) => ({ account, name: 'pia', project })
  beforeEach(async () => {
    await run(TESTER, 'createControlPanelUser', { account, name: 'pia' })
    await run(TESTER, 'createProject', { account, name: 'alpha' })
  })

  test('is of the kind and the scope of its project', async () => {
    const { token } = await run(TESTER, 'reissueControlPanelUserToken', asked('alpha'))
    expect(token).toMatchObject({ kind: kindFor('alpha').id, scope: { account, project: 'alpha' } })
    expect(await run(TESTER, 'getControlPanelUserToken', asked('alpha'))).toEqual(token)
    expect(await run(TESTER, 'getControlPanelUserToken', asked(''))).toBeUndefined()
  })

  test('is not made for a project that is not there', async () => {
    await missing(run(TESTER, 'reissueControlPanelUserToken', asked('beta')))
  })

  test('and a static token without a note has none', async () => {
    const { token } = await run(TESTER, 'createStaticToken', { account, userName: 'pia', name: 'key' })
    expect(token.note).toBe('')
  })
})
