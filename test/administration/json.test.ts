/**
 * The JSON of the administration commands: one convention, held to the contract, whose descriptors say what
 * there may be.
 */
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { ROWS, type Row } from '../../sidecar/cli/administration/administration-rows.ts'
import { isListed } from '../../sidecar/cli/administration/listed-pages.ts'
import { userIn } from '../../sidecar/directory/found.ts'
import { PanelChange } from '../../sidecar/directory/panel-change.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { keysIn, messageOf, offencesIn, SNAKE_CASE } from '../support/contract/contract-json.ts'
import { storedCredential } from '../support/identity/application-credentials.ts'
import { command } from '../support/processes/command-line.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { PEOPLE, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const running = await runSidecar()

/** The output of a command. */
async function printed(line: string): Promise<string> {
  const { code, stdout, stderr } = await command([...line.split(' '), '--data', running.folder])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

async function jsonOf(line: string): Promise<Record<string, unknown>> {
  const text = await printed(`${line} --json`)
  expect(text).toMatch(/^[^\n]+\n$/)
  return JSON.parse(text) as Record<string, unknown>
}

/** Id of a session that olga begins. */
async function newSession(account: string): Promise<string> {
  const panel = await running.sidecar.administration.controlPanel()
  const holder = await userIn(panel.records, account, 'olga', 'control_panel_user')
  const browser = { hash: randomBytes(32), address: '127.0.0.1', client: 'a browser' }
  const session = { holder, way: 'link', endsAtMs: panel.sessions.endsAtMs(), ...browser }
  return panel.change(TESTER, (change) => new PanelChange(change).beginSession(session))
}

const asked = (line: string) => `${line} --address ${running.address}`

/** A new account with records of each type. Returns the ids that a command can name, and every secret. */
async function newAccount(account: string) {
  const { administration } = running.sidecar
  const applied = await applyFile(administration, TESTER, {
    accounts: [
      {
        ...{ account, projects: ['alpha', 'beta'] },
        service_users: [
          {
            ...{ name: 'job', roles: ['iam.admin'] },
            permissions: [{ scope: 'account' }, { scope: 'projects', projects: ['alpha'] }],
          },
        ],
        control_panel_users: [{ name: 'olga', static_tokens: ['reporting', 'other'] }],
      },
    ],
  })
  const olga = { account, name: 'olga', userName: 'olga' }
  await run(administration, TESTER, 'revokeStaticToken', { ...olga, name: 'other' })
  await run(administration, TESTER, 'setAddressRestriction', { account, ranges: ['2001:db8::/32'] })
  const shown = [
    await jsonOf(asked(`control-panel-user reissue-token ${account} olga`)),
    await jsonOf(asked(`control-panel-user invite ${account} olga`)),
  ]
  return {
    session: await newSession(account),
    credential: await storedCredential(administration, account, 'job'),
    secrets: [...applied.secrets.map(({ value }) => value.reveal()), ...secretsIn(shown)],
  }
}

const NAMES: Readonly<Record<string, string>> = {
  ...{ project: 'alpha', 'service-user': 'job', 'control-panel-user': 'olga', 'static-token': 'reporting' },
}

/** The command line of a row that finds what it names. */
function lineOf(
  { group, verb, arguments: names, example = [] }: Row,
  account: string,
  { session, credential }: { readonly session: string; readonly credential: string },
): string {
  const values: Readonly<Record<string, string | undefined>> = {
    account: group === 'account' && verb === 'create' ? `${account}-new` : account,
    name: verb === 'create' ? 'new' : NAMES[group],
    user: group === 'application-credential' ? 'job' : 'olga',
    ...{ session, id: credential, range: '10.0.0.0/8' },
  }
  return [group, verb, ...names.map((name) => values[/\w+/.exec(name)?.[0] ?? '']), ...example].join(' ')
}

/** The answer of the contract that a row shows: of the method that it calls. */
async function answerOf({ call }: Row): Promise<string> {
  let called = ''
  const get = (_: object, method: string) => async () => {
    called = method
    throw new Error('this is all that is asked')
  }
  const ask = async () => {
    const answer = await call(new Proxy({}, { get }) as never, ['an account', 'a name'], {} as never)
    if (isListed(answer)) await answer.pages.next()
  }
  await ask().catch(() => undefined)
  return `${called.charAt(0).toUpperCase()}${called.slice(1)}Response`
}

/**
 * Answers that hold a secret, because it is shown nowhere else, or because showing it is what they are for
 * (§5.1).
 */
const SHOWS_A_SECRET = [
  'CreateServiceUserResponse',
  'ReplaceServiceUserPasswordResponse',
  'ReissueControlPanelUserTokenResponse',
  'CopyControlPanelUserTokenResponse',
  'CreateStaticTokenResponse',
  'CreateInvitationResponse',
]

describe('the JSON of an administration command keeps to the contract', () => {
  test.each(ROWS.map((row) => [`${row.group} ${row.verb}`, row] as const))('%s', async (name, row) => {
    const account = name.replace(' ', '-')
    const { secrets, ...ids } = await newAccount(account)
    const json = await jsonOf(asked(lineOf(row, account, ids)))
    const answer = await answerOf(row)
    expect(offencesIn(json, messageOf(answer))).toEqual([])
    const shown = secretsIn(json)
    expect(shown.length > 0).toBe(SHOWS_A_SECRET.includes(answer))
    if (shown.length === 0) for (const secret of secrets) expect(JSON.stringify(json)).not.toContain(secret)
  })
})

test.each<[claim: string, json: object, message: string, offences: string[]]>([
  ['a key in camelCase', { createdAt: '2026-01-01T00:00:00.000Z' }, 'Account', ['createdAt is no field']],
  ['a time that is a number', { created_at: 1 }, 'Account', ['created_at is no time']],
  ['an enum as a number', { scope: 2 }, 'Permission', ['scope is no word of PermissionScope']],
  [
    'an enum as on the wire',
    { scope: 'PERMISSION_SCOPE_ACCOUNT' },
    'Permission',
    ['scope is no word of PermissionScope'],
  ],
  ['a duration that is a number', { cache_for: 5 }, 'CheckResponse', ['cache_for is no duration']],
  ['a reason in lower case', { reason: 'allowed' }, 'CheckResponse', ['reason is no word of Reason']],
  ['a list that is a string', { projects: 'alpha' }, 'Permission', ['projects is no list']],
  [
    'a fault far inside',
    { users: [{ permissions: [{ scope: 1 }] }] },
    'ListServiceUsersResponse',
    ['users[0].permissions[0].scope is no word of PermissionScope'],
  ],
])('the convention is broken by %s', (_claim, json, message, offences) => {
  expect(offencesIn(json, messageOf(message))).toEqual(offences)
})

describe('the JSON for programs', () => {
  const ID = expect.stringMatching(/^[0-9a-f]{32}$/)
  const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const SERVICE_USER = {
    account: '2',
    name: 'job',
    id: ID,
    enabled: true,
    permissions: [{ scope: 'account' }, { scope: 'projects', projects: ['alpha'] }],
    roles: [],
    created_at: TIME,
    validator: false,
  }

  test('of a service user: the same alone and in a list, permissions as in a directory file', async () => {
    await jsonOf(asked('account create 2'))
    await jsonOf(asked('project create 2 alpha'))
    const made = await jsonOf(
      asked('service-user create 2 job --permission account --permission project:alpha'),
    )
    expect(made).toEqual({ user: SERVICE_USER, password: expect.any(String) })
    expect(await jsonOf(asked('service-user show 2 job'))).toEqual({ user: SERVICE_USER })
    expect(await jsonOf(asked('service-user list 2'))).toEqual({ users: [SERVICE_USER] })
  })

  test('of tokens: no project where there is none, no revoked_at where it was not', async () => {
    await jsonOf(asked('control-panel-user create 2 olga'))
    const scopeOf = async (line: string) => ((await jsonOf(asked(line))).token as { scope: object }).scope
    expect(await scopeOf('control-panel-user reissue-token 2 olga')).toEqual({ account: '2' })
    expect(await scopeOf('control-panel-user reissue-token 2 olga --project alpha')).toEqual({
      account: '2',
      project: 'alpha',
    })
    await jsonOf(asked('static-token create 2 olga a'))
    await jsonOf(asked('static-token create 2 olga b --note nightly'))
    await jsonOf(asked('static-token revoke 2 olga a'))
    const { tokens } = await jsonOf(asked('static-token list 2 olga'))
    const token = {
      token_id: expect.stringMatching(/^[\w-]{22}$/),
      account: '2',
      user_name: 'olga',
      last_four: expect.stringMatching(/^\w{4}$/),
      created_at: TIME,
    }
    expect(tokens).toEqual(
      expect.arrayContaining([
        { ...token, name: 'a', note: '', kind: 'static_token', revoked_at: TIME },
        { ...token, name: 'b', note: 'nightly', kind: 'static_token' },
      ]),
    )
  })

  test('of the audit trail: numbers ascend, details as they were recorded', async () => {
    const { records } = (await jsonOf(asked('audit list 2'))) as { records: { sequence: number }[] }
    expect(
      records.find((record) => 'action' in record && record.action === 'service_user.set_permissions'),
    ).toEqual({
      sequence: expect.any(Number),
      at: TIME,
      actor: 'caller administrator',
      action: 'service_user.set_permissions',
      account: '2',
      subject: 'job',
      subject_id: SERVICE_USER.id,
      details: {
        permissions: SERVICE_USER.permissions,
        by: { protocol: 'grpc', address: '127.0.0.1' },
      },
    })
  })

  test('of what is empty: lists without entries, and no field of what is gone', async () => {
    await jsonOf(asked('account create empty'))
    expect(await jsonOf(asked('project list empty'))).toEqual({ projects: [] })
    expect(await jsonOf(asked('address-restriction show empty'))).toEqual({ ranges: [] })
    expect(await jsonOf(asked('account delete empty'))).toEqual({ projects: 0, users: 0 })
  })
})

test('a person reads the same fields in a table', async () => {
  await jsonOf(asked('account create 3'))
  await jsonOf(asked('project create 3 alpha'))
  await jsonOf(asked('service-user create 3 job --permission account --permission project:alpha'))
  const [header = '', ...rows] = (await printed(asked('service-user list 3'))).trim().split('\n')
  expect(header.split(/ +/)).toEqual([
    'account',
    'name',
    'id',
    'enabled',
    'permissions',
    'roles',
    'created_at',
    'validator',
  ])
  expect(rows).toEqual([expect.stringMatching(/^3 +job .* Account, Projects: alpha .*Z +false$/)])
  expect(await printed(asked('service-user show 3 job'))).toMatch(/^created_at +\d{4}-.*Z$/m)
  expect(await printed(asked('service-user delete 3 job'))).toBe('done\n')
})

describe('the output of commands on the data folder has the same keys', () => {
  const people = newFile(JSON.stringify(PEOPLE), 'people.json')

  test.each([
    `directory apply ${people}`,
    'directory show',
    'directory replace-password 123456 account',
    'keys show',
  ])('%s', async (line) => {
    const keys = keysIn(await jsonOf(line))
    expect(keys).not.toHaveLength(0)
    expect(keys.filter((key) => !SNAKE_CASE.test(key))).toEqual([])
  })
})

/** Passwords and token values, wherever they stand. */
function secretsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) =>
    ['password', 'value', 'secret'].includes(key) && typeof each === 'string' ? [each] : secretsIn(each),
  )
}
