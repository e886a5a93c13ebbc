/**
 * Who gets a session of somebody else by an invitation: a person who administers the account and is logged
 * in, and no other user.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Client } from '../../clients/typescript/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'
import { PASSWORD, SESSION, startPanel } from '../support/console/control-panel.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const account = ACCOUNT
const TOKEN = 'a-caller-token-for-tests-long-enough'
const clerk = { name: 'clerk', token_file: newFile(TOKEN), rights: [`administer:${ACCOUNT}`] }
const panel = await startPanel({ config: newFile(JSON.stringify({ callers: [clerk] }), 'portcullis.json') })
const { running } = panel
const { run } = running.sidecar
const caller = running.connect({ callerToken: TOKEN })
const operator = running.connect({
  callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
})
const refused = {
  code: 'PERMISSION_DENIED',
  reason: 'NOT_ADMINISTRATOR',
  message:
    'only the account owner or a user with the role iam.admin, logged in to the control panel, may do this',
}

/** A service user with `iam.admin` that the caller made, by its IAM token. */
async function machine(name: string): Promise<Client> {
  const { password } = await caller.directory.createServiceUser({
    ...{ account, name, roles: ['iam.admin'] },
    permissions: [{ scope: PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }],
  })
  const { value } = await running.client.issue({
    password: { userName: name, account, password },
    scope: { account },
  })
  return running.connect({ iamToken: value })
}

test('a caller who administers the account gets no invitation by a service user that it makes', async () => {
  const { directory } = await machine('robot')
  expect((await directory.listControlPanelUsers({ account })).users).toHaveLength(3)
  await expect(directory.createInvitation({ account, userName: 'pia' })).rejects.toMatchObject(refused)
})

test('nor one of an owner, whom it makes none for a moment', async () => {
  const { directory } = await machine('other robot')
  await caller.directory.createControlPanelUser({ account, name: 'oscar', owner: true })
  await caller.directory.updateControlPanelUser({ account, name: 'oscar', owner: false })
  await expect(directory.createInvitation({ account, userName: 'oscar' })).rejects.toMatchObject(refused)
})

test.each(['olga', 'adam'])('%s invites when logged in, and not by an IAM token', async (name) => {
  const { value } = await run(TESTER, 'reissueControlPanelUserToken', { account, name })
  const { directory } = running.connect({ iamToken: value.reveal() })
  await expect(directory.createInvitation({ account, userName: 'pia' })).rejects.toMatchObject(refused)
  const shown = await panel.loggedIn(name)
  expect((await shown.call('CreateInvitation', { account, user_name: 'pia' })).status).toBe(200)
})

// It would replace the password without the one of before, and remove the second factor.
test('users cannot invite themselves', async () => {
  for (const name of ['olga', 'adam']) {
    const shown = await panel.loggedIn(name)
    const { status, text } = await shown.call('CreateInvitation', { account, user_name: name })
    expect([status, text]).toEqual([403, expect.stringContaining('Profile, Security')])
  }
  // An operator has no password here.
  await operator.directory.createInvitation({ account, userName: 'olga' })
})

test('an invitation and a session of before give nothing of an owner whom the user becomes', async () => {
  const name = 'petra'
  await operator.directory.createControlPanelUser({ account, name })
  const held = await panel.loggedIn(name)
  const adam = await panel.loggedIn('adam')
  const { secret } = (await adam.call('CreateInvitation', { account, user_name: name })).json
  const olga = await panel.loggedIn('olga')
  const made = await olga.call('UpdateControlPanelUser', { account, name, owner: true })
  expect(made.status).toBe(200)
  const accepted = await panel.browser().post(`${SESSION}/invitation/accept`, { secret, password: PASSWORD })
  expect(accepted).toMatchObject({ status: 401, json: { reason: 'LINK_INVALID' } })
  expect((await held.get(SESSION)).json).toMatchObject({ signedIn: false })
})
