/** Who may administer what (§5.1): every call of `DirectoryService`, by every sort of requester. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Client, DirectoryClient } from '../../clients/typescript/index.ts'
import { DirectoryServiceService } from '../../proto/gen/portcullis/v1/directory.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, OTHER_ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'
import { entitledTo, type Method, RIGHTS } from './rights.ts'

/** Sorts of requesters, and how each of them is refused what they may not do. */
const REQUESTERS = {
  operator: 'PERMISSION_DENIED',
  owner: 'PERMISSION_DENIED',
  'iam.admin': 'PERMISSION_DENIED',
  'service user with iam.admin': 'PERMISSION_DENIED',
  self: 'PERMISSION_DENIED',
  'another control panel user': 'PERMISSION_DENIED',
  'service user': 'PERMISSION_DENIED',
  'owner of another account': 'PERMISSION_DENIED',
  'iam.admin of another account': 'PERMISSION_DENIED',
  'user of the same name in another account': 'PERMISSION_DENIED',
  'caller who administers the account': 'PERMISSION_DENIED',
  'caller who administers another account': 'PERMISSION_DENIED',
  'caller who reads': 'PERMISSION_DENIED',
  'caller who revokes': 'PERMISSION_DENIED',
  'caller without rights': 'PERMISSION_DENIED',
  'caller who has expired': 'UNAUTHENTICATED',
  'owner by a static token': 'UNAUTHENTICATED',
  'owner by a project-scoped token': 'UNAUTHENTICATED',
  'owner by a token of before': 'UNAUTHENTICATED',
  anonymous: 'UNAUTHENTICATED',
} as const

type Requester = keyof typeof REQUESTERS
const ALL = Object.keys(REQUESTERS) as Requester[]

/** The control panel user whom the calls are about; the requester `self` is this user. */
const SELF = 'panel'

const clients = new Map<Requester, Client>()
const directoryOf = (requester: Requester): DirectoryClient => (clients.get(requester) as Client).directory

/** Callers of the configuration with their keys. Each has the name as its token. */
const CALLERS = {
  'caller who administers the account': `rights: [administer:${ACCOUNT}]`,
  'caller who administers another account': `rights: [administer:${OTHER_ACCOUNT}]`,
  'caller who reads': 'rights: [read]',
  'caller who revokes': 'rights: [revoke]',
  'caller without rights': 'rights: []',
  'caller who has expired': 'rights: [everything], expires_at: 2020-01-01T00:00:00Z',
} as const

const callerTokenOf = (name: string) => `the-token-of-the-${name.replaceAll(' ', '-')}`

beforeAll(async () => {
  const callers = Object.entries(CALLERS).map(
    ([name, keys]) => `  - { name: ${name}, token_file: ${newFile(callerTokenOf(name))}, ${keys} }\n`,
  )
  const config = newFile(`callers:\n${callers.join('')}`, 'config.yaml')
  const running = await runSidecar({ config })
  const { administration, run } = running.sidecar
  const { secrets } = await applyFile(administration, TESTER, {
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
          { name: SELF },
          { name: 'other', roles: ['member'] },
        ],
      },
      {
        account: OTHER_ACCOUNT,
        control_panel_users: [
          { name: 'owner', owner: true },
          { name: 'admin', roles: ['iam.admin'] },
          { name: SELF },
        ],
      },
    ],
  })
  const panelToken = async (account: string, name: string, project?: string) =>
    (await run(TESTER, 'reissueControlPanelUserToken', { account, name, project })).value.reveal()
  const machineToken = async (userName: string) => {
    const password = secrets.find((secret) => secret.user === userName)?.value.reveal() ?? ''
    const scope = { account: ACCOUNT }
    return (await running.client.issue({ password: { userName, account: ACCOUNT, password }, scope })).value
  }
  const before = await panelToken(ACCOUNT, 'owner')
  const { value: staticToken } = await run(TESTER, 'createStaticToken', {
    account: ACCOUNT,
    userName: 'owner',
    name: 'key',
    note: '',
  })
  const tokens: Readonly<Record<string, string>> = {
    owner: await panelToken(ACCOUNT, 'owner'),
    'iam.admin': await panelToken(ACCOUNT, 'admin'),
    'service user with iam.admin': await machineToken('admin-machine'),
    self: await panelToken(ACCOUNT, SELF),
    'another control panel user': await panelToken(ACCOUNT, 'other'),
    'service user': await machineToken('machine'),
    'owner of another account': await panelToken(OTHER_ACCOUNT, 'owner'),
    'iam.admin of another account': await panelToken(OTHER_ACCOUNT, 'admin'),
    'user of the same name in another account': await panelToken(OTHER_ACCOUNT, SELF),
    'owner by a static token': staticToken.reveal(),
    'owner by a project-scoped token': await panelToken(ACCOUNT, 'owner', 'alpha'),
    'owner by a token of before': before,
  }
  for (const [requester, iamToken] of Object.entries(tokens))
    clients.set(requester as Requester, running.connect({ iamToken }))
  const callerToken = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
  clients.set('operator', running.connect({ callerToken }))
  for (const name of Object.keys(CALLERS) as (keyof typeof CALLERS)[])
    clients.set(name, running.connect({ callerToken: callerTokenOf(name) }))
  clients.set('anonymous', running.client)
})

describe.each(ALL)('%s', (requester) => {
  test.each(Object.keys(DirectoryServiceService) as Method[])('%s', async (method) => {
    const code = await codeOf(requester, method)
    if (entitledTo(method).some((each) => each === requester))
      expect(['UNAUTHENTICATED', 'PERMISSION_DENIED']).not.toContain(code)
    else expect(code).toBe(REQUESTERS[requester])
  })
})

/** What is for owners: each makes an owner, or is done to the owner `name`. */
const OWNERS_RULE: readonly [what: string, ask: (to: DirectoryClient, name: string) => Promise<unknown>][] = [
  [
    'make another owner',
    (to, name) => to.createControlPanelUser({ account: ACCOUNT, name: `${name} 2`, owner: true }),
  ],
  [
    'make an owner of a user',
    (to) => to.updateControlPanelUser({ account: ACCOUNT, name: 'other', owner: true }),
  ],
  [
    'say of a user that they are no owner',
    (to) => to.updateControlPanelUser({ account: ACCOUNT, name: 'other', owner: false }),
  ],
  ['disable an owner', (to, name) => to.updateControlPanelUser({ account: ACCOUNT, name, enabled: false })],
  [
    'take roles from an owner',
    (to, name) => to.updateControlPanelUser({ account: ACCOUNT, name, roles: { roles: [] } }),
  ],
  ['take ownership away', (to, name) => to.updateControlPanelUser({ account: ACCOUNT, name, owner: false })],
  ['delete an owner', (to, name) => to.deleteControlPanelUser({ account: ACCOUNT, name })],
]

describe.each(OWNERS_RULE)('%s', (what, ask) => {
  const target = (requester: Requester) => `${what} as ${requester}`

  test.each(['operator', 'owner', 'caller who administers the account'] as const)(
    '%s may',
    async (requester) => {
      const name = target(requester)
      await directoryOf('operator').createControlPanelUser({ account: ACCOUNT, name, owner: true })
      await ask(directoryOf(requester), name)
    },
  )

  test.each(['iam.admin', 'service user with iam.admin'] as const)('%s may not', async (requester) => {
    const name = target(requester)
    await directoryOf('operator').createControlPanelUser({ account: ACCOUNT, name, owner: true })
    await expect(ask(directoryOf(requester), name)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'NOT_OWNER',
      message: 'only an owner of the account may do this',
    })
    const { user } = await directoryOf('operator').getControlPanelUser({ account: ACCOUNT, name })
    expect(user).toMatchObject({ owner: true, enabled: true })
  })
})

test('users with iam.admin cannot make themselves owners', async () => {
  await expect(
    directoryOf('iam.admin').updateControlPanelUser({ account: ACCOUNT, name: 'admin', owner: true }),
  ).rejects.toMatchObject({ code: 'PERMISSION_DENIED', reason: 'NOT_OWNER' })
})

test('a user with iam.admin learns that a user is missing before whether they would be an owner', async () => {
  await expect(
    directoryOf('iam.admin').updateControlPanelUser({ account: ACCOUNT, name: 'missing', owner: true }),
  ).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('no user gets the credentials of another control panel user, not even an account administrator', async () => {
  for (const requester of ['owner', 'iam.admin', 'service user with iam.admin'] as const) {
    const directory = directoryOf(requester)
    for (const asking of [
      directory.copyControlPanelUserToken({ account: ACCOUNT, name: SELF }),
      directory.reissueControlPanelUserToken({ account: ACCOUNT, name: SELF }),
      directory.createStaticToken({ account: ACCOUNT, userName: SELF, name: 'key' }),
    ])
      await expect(asking).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: 'only the control panel user whose token it is may do this',
      })
  }
})

test('a control panel user cannot look after the static tokens of another', async () => {
  await expect(
    directoryOf('self').listStaticTokens({ account: ACCOUNT, userName: 'owner' }),
  ).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message:
      'only the control panel user themselves, the account owner or a user with the role iam.admin may do this',
  })
})

// Whom a call is about is said by one field of each request, and never by whichever field is there.
test('a control panel user is not taken for the user of a call because a key has their name', async () => {
  await directoryOf('operator').createStaticToken({ account: ACCOUNT, userName: 'owner', name: SELF })
  await expect(
    directoryOf('self').revokeStaticToken({ account: ACCOUNT, userName: 'owner', name: SELF }),
  ).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
})

test('a service user is not taken for the control panel user of a call because they have the same name', async () => {
  const account = OTHER_ACCOUNT
  await expect(
    directoryOf('service user').getControlPanelUser({ account: ACCOUNT, name: 'machine' }),
  ).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  await expect(directoryOf('self').getControlPanelUser({ account, name: SELF })).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  })
})

test('the audit trail of every account is for operators alone', async () => {
  for (const requester of ['owner', 'iam.admin', 'service user with iam.admin', 'self'] as const)
    await expect(directoryOf(requester).listAuditRecords({})).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    })
  expect((await directoryOf('operator').listAuditRecords({})).records.length).toBeGreaterThan(0)
})

test('a requester without the right learns that first, whatever else is wrong with the request', async () => {
  const permissions = [{ scope: 0 as const, projects: [] }]
  const request = { account: ACCOUNT, name: 'a\u0000name', permissions, roles: ['no role'] }
  await expect(directoryOf('self').createServiceUser(request)).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  })
  await expect(directoryOf('owner').createServiceUser(request)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  })
})

/**
 * Asks about things that are missing where it can, so that what is allowed changes little for the next row.
 */
async function codeOf(requester: Requester, method: Method): Promise<string> {
  const { need, about } = RIGHTS[method]
  // A request to change a user is about a missing one; the others are about the user who is `self`.
  const changes = /^(create|update|delete)ControlPanelUser$/.test(method)
  const request = {
    account: need === 'operator' ? 'missing' : ACCOUNT,
    name: about === 'name' && !changes ? SELF : 'missing/',
    userName: SELF,
    project: 'missing',
  }
  try {
    await (directoryOf(requester)[method] as (request: object) => Promise<object>)(request)
    return 'OK'
  } catch (error) {
    return (error as { code: string }).code
  }
}
