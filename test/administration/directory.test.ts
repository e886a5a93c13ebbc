/** What administration does to the directory and to tokens: created, listed, changed, disabled, deleted. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  ACCOUNT_SCOPE,
  account,
  administer,
  client,
  directory,
  machine,
  projectsScope,
  reasonOf,
  running,
} from '../support/sidecar/administration.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

administer()

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

  test('a list shows the end of each and its note, and the audit trail keeps both', async () => {
    const key = { account, userName: 'person', name: 'key' }
    const { value, token } = await directory.createStaticToken({ ...key, note: 'for the reports' })
    await directory.createStaticToken({ ...key, name: 'other' })
    const { tokens } = await directory.listStaticTokens({ account, userName: 'person' })
    const shown = { lastFour: value.slice(-4), note: 'for the reports' }
    expect(token).toMatchObject(shown)
    expect(tokens.find(({ name }) => name === 'key')).toMatchObject(shown)
    expect(tokens.find(({ name }) => name === 'other')).toMatchObject({ note: '' })
    const { records } = await directory.listAuditRecords({ account, action: 'static_token.create' })
    expect(records[0]).toMatchObject({
      subject: 'key',
      subjectId: token?.tokenId,
      details: { user: 'person', last_four: shown.lastFour, note: shown.note },
    })
  })

  test('a note is at most 255 characters', async () => {
    const request = { account, userName: 'person', name: 'key', note: 'x'.repeat(256) }
    await expect(directory.createStaticToken(request)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^note: expected at most 255 characters /),
    })
    await directory.createStaticToken({ ...request, note: 'x'.repeat(255) })
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

describe('address restriction (§1)', () => {
  test.each<[claim: string, ranges: string[], address: string | undefined, reason: string]>([
    ['no ranges, no restriction', [], undefined, 'ALLOWED'],
    ['inside a range', ['10.0.0.0/8'], '10.1.2.3', 'ALLOWED'],
    ['outside every range', ['10.0.0.0/8', '192.0.2.7'], '192.0.2.8', 'ADDRESS_NOT_ALLOWED'],
    ['no address where there is a restriction', ['10.0.0.0/8'], undefined, 'ADDRESS_NOT_ALLOWED'],
    ['an IPv4 address written as IPv6', ['10.0.0.0/8'], '::ffff:10.1.2.3', 'ALLOWED'],
    ['an IPv4 address written as IPv6 in hexadecimal', ['10.0.0.0/8'], '::ffff:a01:203', 'ALLOWED'],
    ['an address written as IPv6', ['::ffff:10.1.0.0'], '10.1.0.0', 'ALLOWED'],
    ['inside a range written as IPv6', ['::ffff:10.0.0.0/104'], '10.1.2.3', 'ALLOWED'],
    ['outside a range written as IPv6', ['::ffff:10.0.0.0/104'], '11.1.2.3', 'ADDRESS_NOT_ALLOWED'],
    ['the whole of IPv4 written as IPv6 is not IPv6', ['::ffff:0:0/96'], '::1', 'ADDRESS_NOT_ALLOWED'],
    ['IPv6 inside a range', ['2001:db8::/32'], '2001:db8:1::1', 'ALLOWED'],
    ['IPv6 outside', ['2001:db8::/32'], '2001:db9::1', 'ADDRESS_NOT_ALLOWED'],
    ['the whole of IPv6 is not IPv4', ['::/0'], '10.1.2.3', 'ADDRESS_NOT_ALLOWED'],
  ])('%s', async (_claim, ranges, clientAddress, reason) => {
    const { token } = await machine()
    await directory.setAddressRestriction({ account, ranges })
    expect(await reasonOf(token.value, clientAddress === undefined ? {} : { clientAddress })).toBe(reason)
  })

  test('what is no range is refused as a whole, each one with what was expected instead', async () => {
    const ranges = ['10.0.0.1', '10.0.0.0/33', 'host.example']
    const description = 'expected an IPv4 or IPv6 address or range, for example 10.0.0.0/8'
    await expect(directory.setAddressRestriction({ account, ranges })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [
        { field: 'ranges[1]', description },
        { field: 'ranges[2]', description },
      ],
    })
    expect((await directory.getAddressRestriction({ account })).ranges).toEqual([])
  })

  test.each<[claim: string, ranges: string[], refused: boolean]>([
    ['lets this machine administer by listing it', ['192.0.2.0/24', '127.0.0.1'], false],
    ['lets no user administer from elsewhere', ['192.0.2.0/24'], true],
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
      ranges: ['10.1.2.3/8', '2001:DB8::5/32', '::ffff:192.0.2.7/120'],
    })
    expect(ranges).toEqual(['10.0.0.0/8', '192.0.2.0/24', '2001:db8::/32'])
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
