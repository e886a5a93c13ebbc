/** Who may administer what (§5.1): every call of `DirectoryService`, by every sort of caller. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../sidecar/client/index.ts'
import { DirectoryServiceService } from '../../sidecar/gen/portcullis/v1/directory.ts'
import { TESTER } from '../support/actor.ts'
import { ACCOUNT, newFile, OTHER_ACCOUNT, runSidecar } from '../support/sidecar.ts'

type Caller =
  | 'administrator'
  | 'owner'
  | 'iam.admin'
  | 'iam.admin machine'
  | 'panel user'
  | 'service user'
  | 'owner by a static token'
  | 'owner by a project-scoped token'
  | 'owner of another account'
  | 'caller without rights'
  | 'nobody'

/**
 * Calls by what they need. `self`: the control panel user whom they are about, here `panel`, whatever they may give out
 * is theirs alone; `holder`: that user, or whoever administers the account.
 */
const NEEDS: Readonly<
  Record<keyof typeof DirectoryServiceService, 'administrator' | 'account' | 'self' | 'holder'>
> = {
  createAccount: 'administrator',
  getAccount: 'account',
  listAccounts: 'administrator',
  updateAccount: 'administrator',
  deleteAccount: 'administrator',
  createProject: 'account',
  getProject: 'account',
  listProjects: 'account',
  updateProject: 'account',
  deleteProject: 'account',
  createServiceUser: 'account',
  getServiceUser: 'account',
  listServiceUsers: 'account',
  updateServiceUser: 'account',
  deleteServiceUser: 'account',
  replaceServiceUserPassword: 'account',
  createControlPanelUser: 'account',
  getControlPanelUser: 'holder',
  listControlPanelUsers: 'account',
  updateControlPanelUser: 'account',
  deleteControlPanelUser: 'account',
  copyControlPanelUserToken: 'self',
  reissueControlPanelUserToken: 'self',
  createStaticToken: 'self',
  listStaticTokens: 'holder',
  revokeStaticToken: 'holder',
  getAddressRestriction: 'account',
  setAddressRestriction: 'account',
  listRevocations: 'administrator',
  listAuditRecords: 'account',
}

const MAY: Readonly<Record<Caller, readonly string[]>> = {
  administrator: ['administrator', 'account', 'self', 'holder'],
  owner: ['account', 'holder'],
  'iam.admin': ['account', 'holder'],
  'iam.admin machine': ['account', 'holder'],
  'panel user': ['self', 'holder'],
  'service user': [],
  'owner by a static token': [],
  'owner by a project-scoped token': [],
  'owner of another account': [],
  'caller without rights': [],
  nobody: [],
}

type Directory = Client['directory']

const clients = new Map<Caller, Client>()

beforeAll(async () => {
  const token = newFile('a-caller-token-of-more-than-32-characters')
  const config = newFile(`callers: [{ name: job, token_file: ${token} }]\n`, 'config.yaml')
  const running = await runSidecar({ config })
  const { administration } = running.sidecar
  const { secrets } = await administration.apply(TESTER, {
    accounts: [
      {
        account: ACCOUNT,
        projects: ['alpha'],
        service_users: [
          { name: 'machine', permissions: [{ scope: 'account' }] },
          { name: 'admin-machine', permissions: [{ scope: 'account' }], roles: ['iam.admin'] },
        ],
        control_panel_users: [
          { name: 'owner', owner: true },
          { name: 'admin', roles: ['iam.admin'] },
          { name: 'panel' },
        ],
      },
      { account: OTHER_ACCOUNT, control_panel_users: [{ name: 'owner', owner: true }] },
    ],
  })
  const panelToken = async (account: string, name: string) =>
    (await administration.tokens.reissuePanelToken(TESTER, account, name, undefined)).value.reveal()
  const machineToken = async (userName: string) => {
    const password = secrets.find((secret) => secret.user === userName)?.value.reveal() ?? ''
    const scope = { account: ACCOUNT }
    return (await running.client.issue({ password: { userName, account: ACCOUNT, password }, scope })).value
  }
  const callerToken = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
  clients.set('administrator', running.connect({ callerToken }))
  clients.set('owner', running.connect({ iamToken: await panelToken(ACCOUNT, 'owner') }))
  clients.set('iam.admin', running.connect({ iamToken: await panelToken(ACCOUNT, 'admin') }))
  clients.set('iam.admin machine', running.connect({ iamToken: await machineToken('admin-machine') }))
  const { value: staticToken } = await administration.tokens.createStaticToken(
    TESTER,
    ACCOUNT,
    'owner',
    'key',
  )
  clients.set('owner by a static token', running.connect({ iamToken: staticToken.reveal() }))
  const { value: inProject } = await administration.tokens.reissuePanelToken(
    TESTER,
    ACCOUNT,
    'owner',
    'alpha',
  )
  clients.set('owner by a project-scoped token', running.connect({ iamToken: inProject.reveal() }))
  clients.set('panel user', running.connect({ iamToken: await panelToken(ACCOUNT, 'panel') }))
  clients.set('service user', running.connect({ iamToken: await machineToken('machine') }))
  clients.set(
    'owner of another account',
    running.connect({ iamToken: await panelToken(OTHER_ACCOUNT, 'owner') }),
  )
  clients.set(
    'caller without rights',
    running.connect({ callerToken: 'a-caller-token-of-more-than-32-characters' }),
  )
  clients.set('nobody', running.client)
})

describe.each(Object.keys(MAY) as Caller[])('%s', (caller) => {
  test.each(Object.keys(DirectoryServiceService) as (keyof typeof DirectoryServiceService)[])(
    '%s',
    async (method) => {
      const unknown = caller === 'nobody' || caller.startsWith('owner by')
      const refused = unknown ? 'UNAUTHENTICATED' : 'PERMISSION_DENIED'
      const code = await codeOf(caller, method)
      if (MAY[caller].includes(NEEDS[method]))
        expect(['UNAUTHENTICATED', 'PERMISSION_DENIED']).not.toContain(code)
      else expect(code).toBe(refused)
    },
  )
})

test.each<[what: string, ask: (directory: Directory) => Promise<unknown>]>([
  [
    'make themselves one',
    (to) => to.updateControlPanelUser({ account: ACCOUNT, name: 'admin', owner: true }),
  ],
  ['make another one', (to) => to.createControlPanelUser({ account: ACCOUNT, name: 'new', owner: true })],
  ['disable one', (to) => to.updateControlPanelUser({ account: ACCOUNT, name: 'owner', enabled: false })],
  [
    'take roles from one',
    (to) => to.updateControlPanelUser({ account: ACCOUNT, name: 'owner', roles: { roles: [] } }),
  ],
  ['delete one', (to) => to.deleteControlPanelUser({ account: ACCOUNT, name: 'owner' })],
])('users with iam.admin are no owners, and cannot %s', async (_what, ask) => {
  for (const caller of ['iam.admin', 'iam.admin machine'] as const)
    await expect(ask((clients.get(caller) as Client).directory)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'NOT_OWNER',
      message: 'only an owner of the account may make, change or delete an owner',
    })
})

test('an owner may do to another owner what iam.admin may not', async () => {
  const { directory } = clients.get('owner') as Client
  const name = 'second'
  await directory.createControlPanelUser({ account: ACCOUNT, name, owner: true })
  await directory.updateControlPanelUser({ account: ACCOUNT, name, enabled: false })
  await directory.deleteControlPanelUser({ account: ACCOUNT, name })
})

test('nobody gets the credentials of another control panel user, whoever administers the account', async () => {
  for (const caller of ['owner', 'iam.admin', 'iam.admin machine'] as const) {
    const { directory } = clients.get(caller) as Client
    const name = 'panel'
    for (const asking of [
      directory.copyControlPanelUserToken({ account: ACCOUNT, name }),
      directory.reissueControlPanelUserToken({ account: ACCOUNT, name }),
      directory.createStaticToken({ account: ACCOUNT, userName: name, name: 'key' }),
    ])
      await expect(asking).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: 'only the control panel user whose token it is may do this',
      })
  }
})

test('a control panel user cannot look after the static tokens of another', async () => {
  const { directory } = clients.get('panel user') as Client
  await expect(directory.listStaticTokens({ account: ACCOUNT, userName: 'owner' })).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message:
      'only the control panel user themselves, the account owner or a user with the role iam.admin may do this',
  })
})

test('the audit trail of every account is for administrators alone', async () => {
  const ask = (caller: Caller) => (clients.get(caller) as Client).directory.listAuditRecords({})
  await expect(ask('owner')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  expect((await ask('administrator')).records.length).toBeGreaterThan(0)
})

/** Asks about things that are not there, so that what is allowed changes nothing for the next row. */
async function codeOf(caller: Caller, method: keyof typeof DirectoryServiceService): Promise<string> {
  const { directory } = clients.get(caller) as Client
  const account = NEEDS[method] === 'administrator' ? 'missing' : ACCOUNT
  const request = {
    account,
    name: method === 'getControlPanelUser' ? 'panel' : 'missing/',
    userName: 'panel',
    project: 'missing',
  }
  const about = /ControlPanelUserToken|getControlPanelUser/.test(method)
    ? { ...request, name: 'panel' }
    : request
  try {
    await (directory[method] as (request: object) => Promise<object>)(about)
    return 'OK'
  } catch (error) {
    return (error as { code: string }).code
  }
}
