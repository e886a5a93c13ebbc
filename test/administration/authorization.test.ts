/**
 * Rights over the wire: a call or two by each sort of requester. Which right each operation needs is in
 * `operations.test.ts`, and who has it in `test/usecases/authorize.test.ts`.
 */
import { expect, test } from 'vitest'
import type { Client, DirectoryClient } from '../../clients/typescript/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { ACCOUNT, OTHER_ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

/** Callers of the configuration with their keys. Each has the name as its token. */
const CALLERS = {
  clerk: `rights: [administer:${ACCOUNT}]`,
  reader: 'rights: [read]',
  revoker: 'rights: [revoke]',
  leaver: 'rights: [everything], expires_at: 2020-01-01T00:00:00Z',
}
const callerTokenOf = (name: string) => `the-caller-token-in-the-file-of-the-${name}`
const callers = Object.entries(CALLERS).map(
  ([name, keys]) => `  - { name: ${name}, token_file: ${newFile(callerTokenOf(name))}, ${keys} }\n`,
)
const running = await runSidecar({ config: newFile(`callers:\n${callers.join('')}`, 'config.yaml') })
const { administration, run } = running.sidecar

const account = ACCOUNT
const { secrets } = await applyFile(administration, TESTER, {
  accounts: [
    {
      account,
      projects: ['alpha'],
      service_users: [{ name: 'robot', permissions: [{ scope: 'account' }], roles: ['iam.admin'] }],
      control_panel_users: [
        { name: 'olga', owner: true, static_tokens: ['key'] },
        { name: 'adam', roles: ['iam.admin'] },
        { name: 'pia' },
      ],
    },
    { account: OTHER_ACCOUNT, control_panel_users: [{ name: 'olga', owner: true }] },
  ],
})
const secretOf = (name: string) => secrets.find(({ user }) => user === name)?.value.reveal() ?? ''
const panelToken = async (name: string, of = account, project?: string) =>
  (await run(TESTER, 'reissueControlPanelUserToken', { account: of, name, project })).value.reveal()
const login = { userName: 'robot', account, password: secretOf('robot') }
const byToken = async (iamToken: string | Promise<string>) => running.connect({ iamToken: await iamToken })
const byCaller = (name: string) => running.connect({ callerToken: callerTokenOf(name) })

const CLIENTS: Readonly<Record<string, Client>> = {
  'an operator': operatorOf(running),
  'an owner': await byToken(panelToken('olga')),
  'a user with iam.admin': await byToken(panelToken('adam')),
  'a machine with iam.admin': await byToken(
    (await running.client.issue({ password: login, scope: { account } })).value,
  ),
  'another user': await byToken(panelToken('pia')),
  'an owner of another account': await byToken(panelToken('olga', OTHER_ACCOUNT)),
  'a caller who administers': byCaller('clerk'),
  'a caller who reads': byCaller('reader'),
  'a caller who revokes': byCaller('revoker'),
  'a caller who has expired': byCaller('leaver'),
  'an owner by a static token': await byToken(secretOf('olga')),
  'an owner by a token of a project': await byToken(panelToken('olga', account, 'alpha')),
  nobody: running.client,
}

type Call = (directory: DirectoryClient) => Promise<unknown>
const about = { account, name: 'pia' }
let projects = 0
const CALLS = {
  'create an account': (to) => to.createAccount({ account: '99' }),
  'create a project': (to) => to.createProject({ account, name: `project ${++projects}` }),
  'list users': (to) => to.listServiceUsers({ account }),
  'read the trail of every account': (to) => to.listAuditRecords({}),
  'look for their own token': (to) => to.getControlPanelUserToken(about),
  'copy the token of a user': (to) => to.copyControlPanelUserToken(about),
  'make an owner': (to) => to.updateControlPanelUser({ ...about, owner: true }),
  'revoke the token of an owner': (to) => to.revokeStaticToken({ account, userName: 'olga', name: 'key' }),
} satisfies Readonly<Record<string, Call>>
type Name = keyof typeof CALLS
const ask = (who: string, call: Name) => CALLS[call]((CLIENTS[who] as Client).directory)

const ALLOWED: readonly [who: string, call: Name][] = [
  ['an operator', 'create an account'],
  ['an operator', 'read the trail of every account'],
  ['an owner', 'create a project'],
  ['a user with iam.admin', 'create a project'],
  ['a machine with iam.admin', 'create a project'],
  ['another user', 'look for their own token'],
  ['a caller who administers', 'create a project'],
  ['a caller who reads', 'read the trail of every account'],
]
test.each(ALLOWED)('%s may %s', async (who, call) => {
  await ask(who, call)
})

const REFUSED: readonly [who: string, call: Name, reason: string][] = [
  ['an owner', 'create an account', 'NOT_ADMINISTRATOR'],
  ['an owner', 'read the trail of every account', 'NOT_ADMINISTRATOR'],
  ['an owner', 'copy the token of a user', 'NOT_ADMINISTRATOR'],
  ['a user with iam.admin', 'make an owner', 'NOT_OWNER'],
  ['a user with iam.admin', 'revoke the token of an owner', 'NOT_OWNER'],
  ['a machine with iam.admin', 'make an owner', 'NOT_OWNER'],
  ['another user', 'list users', 'NOT_ADMINISTRATOR'],
  ['an owner of another account', 'list users', 'NOT_ADMINISTRATOR'],
  ['a caller who administers', 'create an account', 'CALLER_RIGHT_MISSING'],
  ['a caller who administers', 'copy the token of a user', 'CALLER_RIGHT_MISSING'],
  ['a caller who reads', 'create a project', 'CALLER_RIGHT_MISSING'],
  ['a caller who revokes', 'list users', 'CALLER_RIGHT_MISSING'],
  ['a caller who has expired', 'list users', 'CALLER_TOKEN_INVALID'],
  ['an owner by a static token', 'list users', 'REQUESTER_NOT_AUTHENTICATED'],
  ['an owner by a token of a project', 'list users', 'REQUESTER_NOT_AUTHENTICATED'],
  ['nobody', 'list users', 'REQUESTER_NOT_AUTHENTICATED'],
]
test.each(REFUSED)('%s may not %s: %s', async (who, call, reason) => {
  await expect(ask(who, call)).rejects.toMatchObject({ reason })
})

test('a requester without the right learns that first, whatever else is wrong with the request', async () => {
  const permissions = [{ scope: 0 as const, projects: [] }]
  const request = { account, name: 'a\u0000name', permissions }
  for (const [who, code] of [
    ['another user', 'PERMISSION_DENIED'],
    ['an owner', 'INVALID_ARGUMENT'],
  ] as const)
    await expect((CLIENTS[who] as Client).directory.createServiceUser(request)).rejects.toMatchObject({
      code,
    })
})

test.each(['127.0.0.1:0', 'unix:'])(
  'an owner outside an address restriction lifts it and does nothing else, over %s',
  async (address) => {
    const flags = { 'grpc.address': address === 'unix:' ? `unix:${newFolder()}/sidecar.sock` : address }
    const { connect } = await runSidecar({ folder: running.folder, flags })
    const { directory } = connect({ iamToken: await panelToken('olga') })
    const set = (ranges: string[]) => directory.setAddressRestriction({ account, ranges })
    await expect(set(['192.0.2.0/24'])).rejects.toMatchObject({ reason: 'REQUESTER_EXCLUDED' })
    await directory.setAddressRestriction({
      ...{ account, ranges: ['192.0.2.0/24'], allowExcludingRequester: true },
    })
    const create = () => CALLS['create a project'](directory)
    await expect(create()).rejects.toMatchObject({ reason: 'ADDRESS_NOT_ALLOWED' })
    expect(await directory.getAddressRestriction({ account })).toEqual({ ranges: ['192.0.2.0/24'] })
    await set(['127.0.0.1'])
    await create()
    await set([])
  },
)
