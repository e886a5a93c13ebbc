/** The audit trail: who changed what, and when; for whom it is; no secret in it. */
import { describe, expect, test } from 'vitest'
import type { DirectoryClient } from '../../clients/typescript/index.ts'
import { tokenOf } from '../../sidecar/usecases/administration/paging.ts'
import {
  ACCOUNT_SCOPE,
  account,
  administer,
  client,
  directory,
  projectsScope,
  running,
} from '../support/sidecar/administration.ts'

administer()

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

  test('names the account, the key and the user of a token that was revoked by its id', async () => {
    const { user } = await directory.createControlPanelUser({ account, name: 'person' })
    const { token: key } = await directory.createStaticToken({ account, userName: 'person', name: 'key' })
    const { token: copied } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    const ids = [key?.tokenId ?? '', copied?.tokenId ?? '']
    for (const tokenId of ids) await client.revoke({ tokenId })
    const { records } = await directory.listAuditRecords({ account })
    const revoked = records.filter(({ action }) => action === 'token.revoke')
    expect(revoked.map(({ subjectId }) => subjectId)).toEqual(ids)
    expect(revoked.map(({ subject }) => subject)).toEqual(['key', copied?.tokenId])
    for (const { details } of revoked) expect(details).toMatchObject({ user: 'person', user_id: user?.id })
  })

  test('of an earlier account of the same number is for operators alone', async () => {
    await directory.createProject({ account, name: 'of the first' })
    await directory.deleteAccount({ account })
    await directory.createAccount({ account })
    await directory.createControlPanelUser({ account, name: 'owner', owner: true })
    const { token } = await directory.reissueControlPanelUserToken({ account, name: 'owner' })
    const owner = running.connect({ iamToken: token?.value ?? '' }).directory
    const actions = async (asked: DirectoryClient, request = {}) =>
      (await asked.listAuditRecords({ account, ...request })).records.map(({ action }) => action)
    const own = ['account.create', 'control_panel_user.create', 'control_panel_user.reissue_token']
    const earlier = ['account.create', 'project.create', 'account.delete']
    expect(await actions(owner)).toEqual(own)
    expect(await actions(directory)).toEqual([...earlier, ...own])
    // Neither a filter nor a token of somebody else's page leads there.
    expect(await actions(owner, { newestFirst: true })).toEqual(own.toReversed())
    expect(await actions(owner, { action: 'project' })).toEqual([])
    const [first] = (await directory.listAuditRecords({ account, pageSize: 1 })).records
    const after = String(first?.sequence)
    expect(await actions(owner, { pageToken: tokenOf(after) })).toEqual(own)
    const before = String(Number(after) + 3)
    expect(await actions(owner, { pageToken: tokenOf(`before ${before}`), newestFirst: true })).toEqual([])
  })

  test('is listed from either end, by what records contain and by time', async () => {
    for (const name of ['alpha', 'beta', 'gamma']) await directory.createProject({ account, name })
    await directory.deleteProject({ account, name: 'beta' })
    const { records } = await directory.listAuditRecords({ account })
    const listed = async (request: Parameters<typeof directory.listAuditRecords>[0]) => {
      const found: string[] = []
      for (let pageToken = ''; ; ) {
        const page = await directory.listAuditRecords({ account, pageSize: 2, ...request, pageToken })
        found.push(...page.records.map(({ action, subject }) => `${action} ${subject}`))
        if (page.nextPageToken === '') return found
        pageToken = page.nextPageToken
      }
    }
    const all = records.map(({ action, subject }) => `${action} ${subject}`)
    expect(await listed({})).toEqual(all)
    expect(await listed({ newestFirst: true })).toEqual(all.toReversed())
    expect(await listed({ subject: 'BETA' })).toEqual(['project.create beta', 'project.delete beta'])
    expect(await listed({ action: 'create', newestFirst: true })).toEqual([
      'project.create gamma',
      'project.create beta',
      'project.create alpha',
      `account.create ${account}`,
    ])
    expect(await listed({ actor: 'caller adm', subject: 'a', action: 'delete' })).toEqual([
      'project.delete beta',
    ])
    expect(await listed({ actor: 'somebody else' })).toEqual([])
    const at = records[3]?.at as Date
    const times = records.map((record) => Number(record.at))
    expect(await listed({ since: at })).toEqual(all.filter((_, index) => (times[index] ?? 0) >= Number(at)))
    expect(await listed({ until: at })).toEqual(all.filter((_, index) => (times[index] ?? 0) < Number(at)))
  })

  test.each<[field: string, request: Parameters<DirectoryClient['listAuditRecords']>[0], expected: RegExp]>([
    ['actor', { actor: 'x'.repeat(501) }, /at most 500 characters/],
    ['action', { action: 'a\u0000b' }, /without NUL/],
    ['subject', { subject: 'x'.repeat(501) }, /at most 500 characters/],
    ['since', { since: new Date(-1) }, /between the years 1970 and 9999/],
    ['until', { until: new Date(8.64e15) }, /between the years 1970 and 9999/],
    ['until', { since: new Date(1000), until: new Date(1000) }, /a time after `since`/],
    ['page_size', { pageSize: 1001 }, /0 \(the default\) to 1000/],
    ['page_token', { pageToken: '!' }, /next_page_token of the previous response/],
    ['page_token', { pageToken: tokenOf('before 1 ') }, /next_page_token of the previous response/],
    ['page_token', { pageToken: tokenOf('before 1') }, /this one is of a list with newest_first true/],
    [
      'page_token',
      { pageToken: tokenOf('1'), newestFirst: true },
      /a token of the same direction; this one is of a list with newest_first false/,
    ],
  ])('a bad %s of %j is named', async (field, request, expected) => {
    await expect(directory.listAuditRecords({ account, ...request })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field }],
      message: expect.stringMatching(expected),
    })
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
