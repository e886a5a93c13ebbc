/** The audit trail: who changed what, and when; for whom it is; no secret in it. */
import { describe, expect, test } from 'vitest'
import type { DirectoryClient } from '../../sidecar/client/index.ts'
import {
  ACCOUNT_SCOPE,
  account,
  administer,
  client,
  directory,
  projectsScope,
  running,
} from '../support/administration.ts'

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

  test('of an earlier account of the same number is for operators alone', async () => {
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
