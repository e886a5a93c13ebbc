/** What administration does to the directory and to tokens: created, listed, changed, disabled, deleted, recorded. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Check, Client, DirectoryClient } from '../../sidecar/client/index.ts'
import { newFolder, type RunningSidecar, runSidecar } from '../helpers/sidecar.ts'

let running: RunningSidecar
let client: Client
let directory: DirectoryClient
/** A new account for each test, so that none sees another's. */
let account: string
let accounts = 0

/** How far the sidecar's clock is ahead of ours. */
const clock = {
  aheadMs: 0,
  /** Every token that was issued by now. */
  expire() {
    this.aheadMs = 25 * 3_600_000
  },
}

beforeAll(async () => {
  running = await runSidecar({ now: () => Date.now() + clock.aheadMs })
  client = running.connect({
    callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
  })
  directory = client.directory
})

beforeEach(async () => {
  clock.aheadMs = 0
  account = `account-${++accounts}`
  await directory.createAccount({ account })
})

const ACCOUNT_SCOPE = { scope: 1 as const, projects: [] }
const projectsScope = (...projects: string[]) => ({ scope: 2 as const, projects })

/** A service user with these permissions and a token of theirs. */
async function machine(
  permissions: { scope: 1 | 2; projects: string[] }[] = [ACCOUNT_SCOPE],
  project?: string,
) {
  const { password } = await directory.createServiceUser({ account, name: 'machine', permissions })
  const login = { userName: 'machine', account, password }
  const scope = project === undefined ? { account } : { account, project }
  return { login, scope, token: await client.issue({ password: login, scope }) }
}

/** The reason that a check of this token gives. */
async function reasonOf(
  value: string,
  options: { header?: string; clientAddress?: string } = {},
): Promise<string> {
  const { header = 'X-Auth-Token', clientAddress } = options
  const api = header === 'X-Token' ? 'reports' : 'dedicated-servers'
  const answer = await client.check({
    api,
    credentials: [[header, value]],
    ...(clientAddress !== undefined && { clientAddress }),
  })
  return answer.reason
}

describe('what takes effect on a service user’s token at once', () => {
  test.each<[what: string, change: () => Promise<unknown>]>([
    ['replacing the password', () => directory.replaceServiceUserPassword({ account, name: 'machine' })],
    ['disabling the user', () => directory.updateServiceUser({ account, name: 'machine', enabled: false })],
    ['deleting the user', () => directory.deleteServiceUser({ account, name: 'machine' })],
    [
      'taking the permission away',
      () => directory.updateServiceUser({ account, name: 'machine', permissions: { permissions: [] } }),
    ],
    ['disabling the account', () => directory.updateAccount({ account, enabled: false })],
    ['deleting the account', () => directory.deleteAccount({ account })],
  ])('%s', async (_what, change) => {
    const { token, login, scope } = await machine()
    expect(await reasonOf(token.value)).toBe('ALLOWED')
    await change()
    expect(await reasonOf(token.value)).toBe('CREDENTIAL_REVOKED')
    await expect(client.issue({ password: login, scope })).rejects.toMatchObject({
      code: expect.stringMatching(/UNAUTHENTICATED|PERMISSION_DENIED/),
    })
  })

  test.each<[what: string, change: () => Promise<unknown>]>([
    [
      'selecting another project',
      () =>
        directory.updateServiceUser({
          account,
          name: 'machine',
          permissions: { permissions: [projectsScope('beta')] },
        }),
    ],
    ['disabling the project', () => directory.updateProject({ account, name: 'alpha', enabled: false })],
    ['deleting the project', () => directory.deleteProject({ account, name: 'alpha' })],
    [
      'deleting the project and making one of the same name',
      async () => {
        await directory.deleteProject({ account, name: 'alpha' })
        await directory.createProject({ account, name: 'alpha' })
        const permissions = { permissions: [projectsScope('alpha')] }
        await directory.updateServiceUser({ account, name: 'machine', permissions })
      },
    ],
  ])('on a token of the project: %s', async (_what, change) => {
    for (const name of ['alpha', 'beta']) await directory.createProject({ account, name })
    const { token } = await machine([projectsScope('alpha')], 'alpha')
    expect(await reasonOf(token.value)).toBe('ALLOWED')
    await change()
    expect(await reasonOf(token.value)).toBe('CREDENTIAL_REVOKED')
  })

  test('a user of the same name made later does not bring the tokens of the first back', async () => {
    const { token } = await machine()
    await directory.deleteServiceUser({ account, name: 'machine' })
    await machine()
    expect(await reasonOf(token.value)).toBe('CREDENTIAL_REVOKED')
  })

  test('enabling the user again does not bring the IAM tokens from before back', async () => {
    const { token } = await machine()
    for (const enabled of [false, true])
      await directory.updateServiceUser({ account, name: 'machine', enabled })
    expect(await reasonOf(token.value)).toBe('CREDENTIAL_REVOKED')
  })
})

describe('static tokens (§4.2)', () => {
  beforeEach(() => directory.createControlPanelUser({ account, name: 'person' }))

  test('the value is shown at creation and opens what takes static tokens', async () => {
    const made = await directory.createStaticToken({ account, userName: 'person', name: 'key' })
    expect(made.header).toBe('X-Token')
    expect(await reasonOf(made.value, { header: 'X-Token' })).toBe('ALLOWED')
    const { tokens } = await directory.listStaticTokens({ account, userName: 'person' })
    expect(tokens).toEqual([{ ...made.token, name: 'key', revokedAt: undefined }])
    expect(JSON.stringify(tokens)).not.toContain(made.value)
  })

  test.each<[what: string, change: () => Promise<unknown>]>([
    ['revoking it', () => directory.revokeStaticToken({ account, userName: 'person', name: 'key' })],
    [
      'disabling its holder',
      () => directory.updateControlPanelUser({ account, name: 'person', enabled: false }),
    ],
    ['deleting its holder', () => directory.deleteControlPanelUser({ account, name: 'person' })],
  ])('%s denies at once', async (_what, change) => {
    const { value } = await directory.createStaticToken({ account, userName: 'person', name: 'key' })
    await change()
    expect(await reasonOf(value, { header: 'X-Token' })).toBe('CREDENTIAL_REVOKED')
  })

  test('a key name is free again once its token is revoked', async () => {
    const request = { account, userName: 'person', name: 'key' }
    await directory.createStaticToken(request)
    await expect(directory.createStaticToken(request)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    await directory.revokeStaticToken(request)
    await expect(directory.createStaticToken(request)).resolves.toBeDefined()
  })
})

describe('a control panel user’s IAM token (§5.1)', () => {
  beforeEach(() => directory.createControlPanelUser({ account, name: 'person' }))

  test.each<[reason: string, befall: () => Promise<unknown>, question: Partial<Check>]>([
    ['ALLOWED', async () => {}, {}],
    ['TOKEN_KIND_NOT_ACCEPTED', async () => {}, { api: 'reports' }],
    ['ACCOUNT_MISMATCH', async () => {}, { target: { account: 'another' } }],
    ['CREDENTIAL_REVOKED', () => directory.reissueControlPanelUserToken({ account, name: 'person' }), {}],
    ['CREDENTIAL_EXPIRED', async () => clock.expire(), {}],
    [
      'ADDRESS_NOT_ALLOWED',
      () => directory.setAddressRestriction({ account, ranges: ['192.0.2.7'] }),
      { clientAddress: '192.0.2.8' },
    ],
  ])(
    'every decision on it, as %s, says that it is for testing, and names the conflict about its holder',
    async (reason, befall, question) => {
      const { token } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
      await befall()
      const credentials = [['X-Auth-Token', token?.value ?? '']] as const
      const answer = await client.check({ api: 'iam', ...question, credentials })
      expect(answer).toMatchObject({ reason, advice: [expect.stringContaining('testing only')] })
      expect(answer.conflicts.map(({ id }) => id)).toContain('iam-token-holder-contradiction')
      expect(token?.advice).toEqual(answer.advice)
    },
  )

  test('copied it is the same, reissued another, and the one before no longer stands', async () => {
    const { token: first } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    const { token: copy } = await directory.copyControlPanelUserToken({ account, name: 'person' })
    expect(copy).toEqual(first)
    const { records } = await directory.listAuditRecords({ account })
    expect(records.at(-1)).toMatchObject({ action: 'control_panel_user.copy_token', subject: 'person' })
    const { token: second } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    expect(await reasonOf(first?.value ?? '')).toBe('CREDENTIAL_REVOKED')
    expect(await reasonOf(second?.value ?? '')).toBe('ALLOWED')
  })

  test.each<[what: string, befall: (value: string) => Promise<unknown>, reason: string]>([
    ['was revoked', (value) => client.revoke({ value }), 'CREDENTIAL_REVOKED'],
    [
      'is of before its holder was disabled',
      async () => {
        for (const enabled of [false, true])
          await directory.updateControlPanelUser({ account, name: 'person', enabled })
      },
      'CREDENTIAL_REVOKED',
    ],
    ['has expired', async () => clock.expire(), 'CREDENTIAL_EXPIRED'],
  ])('one that %s is not given out again', async (_what, befall, reason) => {
    const { token } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    await befall(token?.value ?? '')
    await expect(directory.copyControlPanelUserToken({ account, name: 'person' })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason,
      message: 'the IAM token of control panel user `person` no longer stands; reissue makes a new one',
    })
  })

  test('there is one for the account and one for each project', async () => {
    await directory.createProject({ account, name: 'alpha' })
    const { token: ofAccount } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    const request = { account, name: 'person', project: 'alpha' }
    const { token: ofProject } = await directory.reissueControlPanelUserToken(request)
    expect(ofProject?.scope).toEqual({ account, project: 'alpha' })
    expect(await reasonOf(ofAccount?.value ?? '')).toBe('ALLOWED')
    expect(await reasonOf(ofProject?.value ?? '')).toBe('ALLOWED')
  })
})

describe('address restriction (§1)', () => {
  test.each<[claim: string, ranges: string[], address: string | undefined, reason: string]>([
    ['no ranges, no restriction', [], undefined, 'ALLOWED'],
    ['inside a range', ['10.0.0.0/8'], '10.1.2.3', 'ALLOWED'],
    ['outside every range', ['10.0.0.0/8', '192.0.2.7'], '192.0.2.8', 'ADDRESS_NOT_ALLOWED'],
    ['no address where there is a restriction', ['10.0.0.0/8'], undefined, 'ADDRESS_NOT_ALLOWED'],
    ['an IPv4 address written as IPv6', ['10.0.0.0/8'], '::ffff:10.1.2.3', 'ALLOWED'],
    ['an IPv4 address written as IPv6 in hexadecimal', ['10.0.0.0/8'], '::ffff:a01:203', 'ALLOWED'],
    ['a range written as IPv6', ['::ffff:10.1.0.0'], '10.1.0.0', 'ALLOWED'],
    ['IPv6 inside a range', ['2001:db8::/32'], '2001:db8:1::1', 'ALLOWED'],
    ['IPv6 outside', ['2001:db8::/32'], '2001:db9::1', 'ADDRESS_NOT_ALLOWED'],
    ['the whole of IPv6 is not IPv4', ['::/0'], '10.1.2.3', 'ADDRESS_NOT_ALLOWED'],
  ])('%s', async (_claim, ranges, clientAddress, reason) => {
    const { token } = await machine()
    await directory.setAddressRestriction({ account, ranges })
    expect(await reasonOf(token.value, clientAddress === undefined ? {} : { clientAddress })).toBe(reason)
  })

  test.each(['10.0.0.0/33', '010.0.0.1', '10.0.0', 'host.example', '::1/129', '10.0.0.0/8/8', ''])(
    '`%s` is no range',
    async (range) => {
      await expect(
        directory.setAddressRestriction({ account, ranges: ['10.0.0.1', range] }),
      ).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        violations: [
          {
            field: 'ranges[1]',
            description: 'expected an IPv4 or IPv6 address or range, for example 10.0.0.0/8',
          },
        ],
      })
    },
  )

  test.each<[claim: string, ranges: string[], refused: boolean]>([
    ['lets this machine administer by listing it', ['192.0.2.0/24', '127.0.0.1'], false],
    ['lets nobody administer from elsewhere', ['192.0.2.0/24'], true],
  ])('%s', async (_claim, ranges, refused) => {
    await directory.createControlPanelUser({ account, name: 'owner', owner: true })
    const { token } = await directory.reissueControlPanelUserToken({ account, name: 'owner' })
    await directory.setAddressRestriction({ account, ranges })
    const onSocket = await runSidecar({
      folder: running.folder,
      flags: { 'grpc.address': `unix:${newFolder()}/sidecar.sock` },
    })
    for (const connect of [running.connect, onSocket.connect]) {
      const asking = connect({ iamToken: token?.value ?? '' }).directory.listProjects({ account })
      if (refused)
        await expect(asking).rejects.toMatchObject({
          code: 'PERMISSION_DENIED',
          reason: 'ADDRESS_NOT_ALLOWED',
        })
      else await expect(asking).resolves.toBeDefined()
    }
  })

  test('ranges are kept in canonical form', async () => {
    const { ranges } = await directory.setAddressRestriction({
      account,
      ranges: ['10.1.2.3/8', '2001:DB8::5/32'],
    })
    expect(ranges).toEqual(['10.0.0.0/8', '2001:db8::/32'])
  })
})

describe('lists', () => {
  test('page through every name once, in byte order', async () => {
    const names = ['B', 'a', 'b', 'z', 'zz', 'é', '名']
    for (const name of names.toReversed()) await directory.createProject({ account, name })
    const seen: string[] = []
    let pageToken = ''
    do {
      const page = await directory.listProjects({ account, pageSize: 3, pageToken })
      expect(page.projects.length).toBeLessThanOrEqual(3)
      seen.push(...page.projects.map(({ name }) => name))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(seen).toEqual(names)
  })

  test.each<[field: string, request: { pageSize?: number; pageToken?: string }]>([
    ['page_size', { pageSize: 1001 }],
    ['page_size', { pageSize: -1 }],
    ['page_token', { pageToken: 'not a token' }],
  ])('a bad %s is named', async (field, request) => {
    await expect(directory.listProjects({ account, ...request })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field }],
    })
  })
})

describe('the audit trail', () => {
  test('records who changed what, in order, and no secret', async () => {
    const { password } = await directory.createServiceUser({
      account,
      name: 'machine',
      permissions: [ACCOUNT_SCOPE],
    })
    const { password: second } = await directory.replaceServiceUserPassword({ account, name: 'machine' })
    await directory.createControlPanelUser({ account, name: 'person', owner: true })
    const { value } = await directory.createStaticToken({ account, userName: 'person', name: 'key' })
    const { records } = await directory.listAuditRecords({ account })
    expect(records.map(({ action }) => action)).toEqual([
      'account.create',
      'service_user.create',
      'service_user.set_permissions',
      'service_user.replace_password',
      'control_panel_user.create',
      'static_token.create',
    ])
    expect(new Set(records.map(({ actor }) => actor))).toEqual(new Set(['caller administrator']))
    for (const secret of [password, second, value]) expect(JSON.stringify(records)).not.toContain(secret)
  })

  test('names the account of a token that was revoked by its id', async () => {
    await directory.createControlPanelUser({ account, name: 'person' })
    const { token: key } = await directory.createStaticToken({ account, userName: 'person', name: 'key' })
    const { token: copied } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    const ids = [key?.tokenId ?? '', copied?.tokenId ?? '']
    for (const tokenId of ids) await client.revoke({ tokenId })
    const { records } = await directory.listAuditRecords({ account })
    const revoked = records.filter(({ action }) => action === 'token.revoke')
    expect(revoked.map(({ subject }) => subject)).toEqual(ids)
  })

  test('of an earlier account of the same number is for administrators alone', async () => {
    await directory.createProject({ account, name: 'of the first' })
    await directory.deleteAccount({ account })
    await directory.createAccount({ account })
    await directory.createControlPanelUser({ account, name: 'owner', owner: true })
    const { token } = await directory.reissueControlPanelUserToken({ account, name: 'owner' })
    const owner = running.connect({ iamToken: token?.value ?? '' }).directory
    const actions = async (asked: DirectoryClient) =>
      (await asked.listAuditRecords({ account })).records.map(({ action }) => action)
    const own = ['account.create', 'control_panel_user.create', 'control_panel_user.reissue_token']
    expect(await actions(owner)).toEqual(own)
    expect(await actions(directory)).toEqual(['account.create', 'project.create', 'account.delete', ...own])
  })

  test('a change that fails leaves no record', async () => {
    const before = await directory.listAuditRecords({ account })
    const permissions = [projectsScope('missing')]
    await expect(
      directory.createServiceUser({ account, name: 'machine', permissions }),
    ).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'NO_SUCH_PROJECT',
    })
    expect(await directory.listAuditRecords({ account })).toEqual(before)
    await expect(directory.getServiceUser({ account, name: 'machine' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })
})

describe('bad input names the field', () => {
  test.each<[what: string, ask: () => Promise<unknown>, field: string]>([
    ['an empty name', () => directory.createProject({ account, name: '' }), 'name'],
    ['a control character', () => directory.createProject({ account, name: 'a\u0000b' }), 'name'],
    ['a name too long', () => directory.createProject({ account, name: 'x'.repeat(256) }), 'name'],
    ['an account with a slash', () => directory.createAccount({ account: 'a/b' }), 'account'],
    [
      'a permission without a scope',
      () => directory.createServiceUser({ account, name: 'm', permissions: [{ scope: 0, projects: [] }] }),
      'permissions[0]',
    ],
    [
      'a permission for projects without one',
      () =>
        directory.createServiceUser({ account, name: 'm', permissions: [ACCOUNT_SCOPE, projectsScope()] }),
      'permissions[1]',
    ],
    [
      'a role that is no name',
      () => directory.createControlPanelUser({ account, name: 'p', roles: ['iam.admin', 'IAM Admin'] }),
      'roles[1]',
    ],
    [
      'more roles than anybody needs',
      () =>
        directory.createControlPanelUser({
          account,
          name: 'p',
          roles: Array.from({ length: 101 }, (_, n) => `r${n}`),
        }),
      'roles',
    ],
    [
      'more projects than a user can have selected',
      () =>
        directory.createServiceUser({
          account,
          name: 'm',
          permissions: [projectsScope(...Array.from({ length: 1001 }, (_, n) => `p${n}`))],
        }),
      'permissions',
    ],
  ])('%s', async (_what, ask, field) => {
    await expect(ask()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', violations: [{ field }] })
  })
})
