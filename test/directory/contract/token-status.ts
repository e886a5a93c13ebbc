/** Whether a token is active after changes of its user, project or account, and who may get one (§5.1). */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { IamTokenQuery, Permission, UserRecord } from '../../../sidecar/directory/directory.ts'
import { changing, newPanelUser, newServiceUser, PASSWORD_HASH, theProject, theUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

interface Holder {
  readonly account: Account
  readonly user: UserRecord
  /** When their tokens were issued. */
  readonly changeNumber: number
}

/** Several changes, each in its own transaction. */
type Event = readonly ((change: DirectoryChange, holder: Holder) => Promise<unknown>)[]

const ACCOUNT_WIDE: Permission = { scope: 'account' }
const ON_ALPHA: Permission = { scope: 'projects', projects: ['alpha'] }
const ON_BETA: Permission = { scope: 'projects', projects: ['beta'] }

const enableUser =
  (enabled: boolean): Event[number] =>
  async (change, { account, user }) =>
    change.setUserEnabled(await theUser(change.records, account, user.name, user.type), enabled)
const enableAccount =
  (enabled: boolean): Event[number] =>
  (change, { account }) =>
    change.setAccountEnabled(account, enabled)
const enableProject =
  (enabled: boolean): Event[number] =>
  async (change, { account }) =>
    change.setProjectEnabled(await theProject(change.records, account, 'alpha'), enabled)
const permit =
  (...permissions: Permission[]): Event[number] =>
  (change, { user }) =>
    change.setPermissions(user, permissions)
const replacePassword: Event[number] = (change, { user }) => change.setPassword(user, 'another hash')
const deleteUser: Event[number] = (change, { user }) => change.deleteUser(user)
const createUser: Event[number] = (change, { account, user }) =>
  change.createUser(account, {
    name: user.name,
    type: user.type,
    passwordHash: user.type === 'service_user' ? PASSWORD_HASH : undefined,
  })
const deleteAccount: Event[number] = (change, { account }) => change.deleteAccount(account)
const createAccount: Event[number] = (change, { account }) => change.createAccount(account.account)
const deleteProject =
  (name: string): Event[number] =>
  async (change, { account }) =>
    change.deleteProject(await theProject(change.records, account, name))
const createProject: Event[number] = (change, { account }) => change.createProject(account, 'alpha')

export function tokenStatusContract(subject: () => Subject): void {
  const revokeIt: Event[number] = (change, { account, user }) =>
    change.revoke(`token of ${user.id}`, account.account)
  const revokeAnother: Event[number] = (change, { account }) =>
    change.revoke('another token', account.account)

  /** Events for the holder of an account-scoped IAM token, and whether the token is active afterwards. */
  const ACCOUNT_TOKENS: readonly [event: string, active: boolean, event: Event][] = [
    ['nothing happens', true, []],
    ['it is revoked', false, [revokeIt]],
    ['another token is revoked', true, [revokeAnother]],
    ['the password is replaced', false, [replacePassword]],
    ['the user is disabled', false, [enableUser(false)]],
    ['the user is disabled and enabled again', false, [enableUser(false), enableUser(true)]],
    ['the user is deleted', false, [deleteUser]],
    ['the user is deleted, and a new one with the same name is created', false, [deleteUser, createUser]],
    ['the account is disabled', false, [enableAccount(false)]],
    ['the account is disabled and enabled again', false, [enableAccount(false), enableAccount(true)]],
    ['the account is enabled, which it was', true, [enableAccount(true)]],
    ['the account is deleted', false, [deleteAccount]],
    [
      'the account is deleted, and a new one with the same number is created',
      false,
      [deleteAccount, createAccount],
    ],
    ['the permission is removed', false, [permit()]],
    ['the permission is narrowed to projects', false, [permit(ON_ALPHA, ON_BETA)]],
    ['the permission is removed and granted again', false, [permit(), permit(ACCOUNT_WIDE)]],
    ['the permission is granted, which it was', true, [permit(ACCOUNT_WIDE)]],
    ['another permission is added', true, [permit(ACCOUNT_WIDE, ON_ALPHA)]],
    ['a project is deleted', true, [deleteProject('alpha')]],
  ]
  test.each(ACCOUNT_TOKENS)(
    'an account-scoped token after this: %s: active: %s',
    async (_event, active, event) => {
      const holder = await newServiceUser(subject(), [ACCOUNT_WIDE])
      await expectStatus(queryOf(holder, ['account']), holder, event, active)
    },
  )

  /** The same for a token of the project alpha, whose holder has a permission for it. */
  const PROJECT_TOKENS: readonly [event: string, active: boolean, event: Event][] = [
    ['nothing happens', true, []],
    ['it is revoked', false, [revokeIt]],
    ['the project is disabled', false, [enableProject(false)]],
    ['the project is disabled and enabled again', false, [enableProject(false), enableProject(true)]],
    ['the project is enabled, which it was', true, [enableProject(true)]],
    ['the account is disabled and enabled again', false, [enableAccount(false), enableAccount(true)]],
    ['the project is deleted', false, [deleteProject('alpha')]],
    [
      'the project is deleted, and a new one with the same name is created',
      false,
      [deleteProject('alpha'), createProject],
    ],
    ['another project is deleted', true, [deleteProject('beta')]],
    ['the permission is changed to another project', false, [permit(ON_BETA)]],
    ['the permission is changed to another project and back', false, [permit(ON_BETA), permit(ON_ALPHA)]],
    ['the permission is removed and granted again', false, [permit(), permit(ON_ALPHA)]],
    ['the permission is removed and granted for the whole account', false, [permit(), permit(ACCOUNT_WIDE)]],
    ['the permission is changed to the whole account', true, [permit(ACCOUNT_WIDE)]],
    [
      'the permission is changed to the whole account and back',
      true,
      [permit(ACCOUNT_WIDE), permit(ON_ALPHA)],
    ],
    [
      'the permission is changed to the whole account and then to another project',
      false,
      [permit(ACCOUNT_WIDE), permit(ON_BETA)],
    ],
    [
      'the permission is changed to the whole account, removed and granted again',
      false,
      [permit(ACCOUNT_WIDE), permit(), permit(ACCOUNT_WIDE)],
    ],
    ['another permission is added', true, [permit(ON_ALPHA, ON_BETA)]],
    ['the account is deleted', false, [deleteAccount]],
  ]
  test.each(PROJECT_TOKENS)(
    'a project-scoped token after this: %s: active: %s',
    async (_event, active, event) => {
      const holder = await newServiceUser(subject(), [ON_ALPHA])
      const { id } = await theProject(subject().store.records, holder.account, 'alpha')
      await expectStatus(queryOf(holder, ['account', 'projects'], id), holder, event, active)
    },
  )

  /** The same for a control panel user, who needs no permission (§1). */
  const PANEL_TOKENS: readonly [event: string, active: boolean, event: Event][] = [
    ['nothing happens', true, []],
    ['it is revoked', false, [revokeIt]],
    ['the user is disabled and enabled again', false, [enableUser(false), enableUser(true)]],
    ['the user is deleted', false, [deleteUser]],
    ['the account is disabled', false, [enableAccount(false)]],
  ]
  test.each(PANEL_TOKENS)(
    'a control panel user’s token after this: %s: active: %s',
    async (_event, active, event) => {
      const holder = await newPanelUser(subject())
      await expectStatus(queryOf(holder, ['account']), holder, event, active)
    },
  )

  /** Queries that differ from the records in one field. */
  const WRONG_QUERIES: readonly [what: string, change: Partial<IamTokenQuery>][] = [
    ['an unknown holder', { subjectId: '0'.repeat(32) }],
    ['an earlier generation', { generation: 0 }],
    ['a later generation', { generation: 2 }],
    ['an earlier change than its permission', { changeNumber: 0 }],
    ['another account', { account: 'another' }],
    ['the account in capitals', { account: 'ACCOUNT-0' }],
    ['an unknown project', { projectId: '0'.repeat(32) }],
    ['an empty project', { projectId: '' }],
    ['a kind that needs a permission for projects', { permissionScopes: ['projects'] }],
    ['a kind that needs a permission that no user has', { permissionScopes: ['something'] }],
  ]
  test.each(WRONG_QUERIES)('a token with %s is not active', async (_what, change) => {
    const holder = await newServiceUser(subject(), [ACCOUNT_WIDE])
    const { verification } = subject().store
    expect(await verification.iamTokenStatus({ ...queryOf(holder, ['account']), ...change })).toEqual({
      active: false,
      addresses: [],
    })
  })

  test('a token of a kind that needs no permission is active without one', async () => {
    const holder = await newServiceUser(subject())
    await expectStatus(queryOf(holder, []), holder, [], true)
  })

  /** Events for the holder of a static token. */
  const STATIC_TOKENS: readonly [event: string, active: boolean, event: Event][] = [
    ['nothing happens', true, []],
    ['another token is revoked', true, [revokeAnother]],
    ['the user is disabled', false, [enableUser(false)]],
    ['the user is disabled and enabled again', true, [enableUser(false), enableUser(true)]],
    ['the user is deleted', false, [deleteUser]],
    ['the user is deleted, and a new one with the same name is created', false, [deleteUser, createUser]],
    ['the account is disabled', false, [enableAccount(false)]],
    ['the account is disabled and enabled again', true, [enableAccount(false), enableAccount(true)]],
    ['the account is deleted', false, [deleteAccount]],
  ]
  test.each(STATIC_TOKENS)('a static token after this: %s: active: %s', async (_event, active, event) => {
    const { id, hash, holder } = await newStaticToken()
    for (const step of event) await changing(subject(), (change) => step(change, holder))
    expect(await subject().store.verification.staticToken(hash)).toEqual({
      id,
      kind: 'static_token',
      account: holder.account.account,
      createdAtMs: subject().clock.nowMs,
      holder: { id: holder.user.id, name: 'person' },
      active,
      addresses: [],
    })
  })

  test('a revoked static token is not active, and its name is free again', async () => {
    const { id, hash, holder } = await newStaticToken()
    const { verification } = subject().store
    await changing(subject(), (change) => change.revoke(id, holder.account.account))
    expect(await verification.staticToken(hash)).toMatchObject({ id, active: false })
    await changing(subject(), (change) =>
      change.addStaticToken(holder.user, {
        kind: 'static_token',
        name: 'key',
        hash: randomBytes(32),
        pepper: 'a fingerprint',
      }),
    )
    expect(await verification.staticToken(hash)).toMatchObject({ id, active: false })
  })

  test('an unknown static token is not found', async () => {
    const { verification } = subject().store
    expect(await verification.staticToken(randomBytes(32))).toBeUndefined()
    expect(await verification.staticToken(Buffer.alloc(0))).toBeUndefined()
  })

  test('the address ranges of the account are returned with every token of it', async () => {
    const { hash, holder } = await newStaticToken()
    const other = await newServiceUser(subject(), [ACCOUNT_WIDE])
    const ranges = ['10.0.0.0/8', '192.0.2.1/32', '2001:db8::/32']
    for (const { account } of [holder, other])
      await changing(subject(), (change) => change.setAddressRules(account, ranges))
    const { verification } = subject().store
    expect(await verification.staticToken(hash)).toMatchObject({ active: true, addresses: ranges })
    expect(await verification.iamTokenStatus(queryOf(other, ['account']))).toEqual({
      active: true,
      addresses: ranges,
    })
  })

  /** §5.1: permissions of a service user, and the scopes for which they may get a token. */
  const GRANTS: readonly [held: string, permissions: readonly Permission[], grants: string[]][] = [
    ['nothing', [], []],
    ['a permission with scope Account', [ACCOUNT_WIDE], ['account', 'alpha', 'beta']],
    ['a permission with scope Projects, alpha selected', [ON_ALPHA], ['alpha']],
    ['a permission with scope Projects, both selected', [ON_ALPHA, ON_BETA], ['alpha', 'beta']],
    ['both permissions', [ACCOUNT_WIDE, ON_ALPHA], ['account', 'alpha', 'beta']],
  ]
  test.each(GRANTS)('§5.1: a user with %s', async (_held, permissions, grants) => {
    const { account, user } = await newServiceUser(subject(), permissions)
    await changing(subject(), (change) => change.createProject(account, 'disabled'))
    await changing(subject(), async (change) =>
      change.setProjectEnabled(await theProject(change.records, account, 'disabled'), false),
    )
    const ids = new Map<string, string | undefined>([['account', undefined]])
    for (const name of ['alpha', 'beta', 'disabled', 'nowhere'])
      ids.set(name, (await subject().store.records.project(account.account, name))?.id)
    const { verification } = subject().store
    for (const [scope, projectId] of ids) {
      const asked = scope === 'account' ? undefined : scope
      const scopes = scope === 'account' ? ['account'] : ['account', 'projects']
      const granted = await verification.permits(user.id, account.account, asked, scopes)
      const changeNumber = await subject().store.records.changeNumber()
      expect(granted, scope).toEqual(grants.includes(scope) ? { projectId, changeNumber } : undefined)
    }
    expect(await verification.permits(user.id, 'another account', undefined, ['account'])).toBeUndefined()
    expect(await verification.permits('nobody', account.account, undefined, ['account'])).toBeUndefined()
  })

  async function newStaticToken(): Promise<{ id: string; hash: Buffer; holder: Holder }> {
    const holder = await newPanelUser(subject())
    const hash = randomBytes(32)
    const id = await changing(subject(), (change) =>
      change.addStaticToken(holder.user, {
        kind: 'static_token',
        name: 'key',
        hash,
        pepper: 'a fingerprint',
      }),
    )
    return { id, hash, holder }
  }

  /** Expects the token to be active before the event, so that the event is what changes its status. */
  async function expectStatus(
    query: IamTokenQuery,
    holder: Holder,
    event: Event,
    active: boolean,
  ): Promise<void> {
    const { verification } = subject().store
    expect(await verification.iamTokenStatus(query)).toEqual({ active: true, addresses: [] })
    for (const step of event) await changing(subject(), (change) => step(change, holder))
    expect(await verification.iamTokenStatus(query)).toEqual({ active, addresses: [] })
  }
}

function queryOf(
  { account, user, changeNumber }: Holder,
  permissionScopes: readonly string[],
  projectId?: string,
): IamTokenQuery {
  return {
    tokenId: `token of ${user.id}`,
    ancestors: [],
    subjectId: user.id,
    generation: user.generation,
    changeNumber,
    account: account.account,
    projectId,
    permissionScopes,
  }
}
