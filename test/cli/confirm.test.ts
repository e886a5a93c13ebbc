/**
 * Destructive commands ask on a terminal, and change nothing unless the answer is yes. Scripts are never
 * asked: test/administration/json.test.ts runs all commands without a terminal.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { listDirectory } from '../../sidecar/authority/administration/directory-listing.ts'
import { ROWS } from '../../sidecar/cli/administration/administration-rows.ts'
import { everyCommand } from '../../sidecar/cli/empty-program.ts'
import { buildProgram } from '../../sidecar/cli/program.ts'
import { confirm } from '../../sidecar/cli/terminal/confirm.ts'
import { storedCredential } from '../support/identity/application-credentials.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const running = await runSidecar()
process.env.PORTCULLIS_GRPC_ADDRESS = running.address
process.env.PORTCULLIS_DATA = running.folder
const admin = running.connect({
  callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
}).directory

let account = ''
let accounts = 0
let password = ''
let credential = ''

/** A new account with records of each type. */
async function newAccount(): Promise<void> {
  account = `account-${++accounts}`
  await admin.createAccount({ account })
  for (const name of ['alpha', 'beta']) await admin.createProject({ account, name })
  ;({ password } = await admin.createServiceUser({
    account,
    name: 'worker',
    permissions: [{ scope: 2, projects: ['alpha', 'beta'] }],
    roles: ['iam.admin'],
  }))
  credential = await storedCredential(running.sidecar.administration, account, 'worker')
  await admin.createServiceUser({ account, name: 'guard' })
  await admin.createControlPanelUser({ account, name: 'olga', owner: true })
  await admin.createControlPanelUser({ account, name: 'igor', roles: ['iam.admin'] })
  await admin.createStaticToken({ account, userName: 'olga', name: 'reporting' })
}

/** The complete state of the directory, to compare before and after a command. */
const everything = async () => {
  const listing = await listDirectory(running.sidecar.administration.records)
  const { records } = await admin.listAuditRecords({ account, pageSize: 1000 })
  return { listing, records }
}

/**
 * The order matters: each command needs records that the ones before have not deleted. `ACCOUNT` stands for
 * the account, and `CREDENTIAL` for an application credential of `worker`.
 */
const CASES: readonly (readonly [command: string, question: string])[] = [
  [
    'application-credential delete ACCOUNT worker CREDENTIAL',
    'Delete application credential CREDENTIAL of user worker of account ACCOUNT? It and its tokens stop working.',
  ],
  [
    'service-user update ACCOUNT worker --permission project:beta',
    'Take permission project:alpha from service user worker of account ACCOUNT? Tokens based on that stop working.',
  ],
  [
    'service-user update ACCOUNT guard --role iam.admin',
    'Raise the rights of service user guard of account ACCOUNT? The user can no longer log in with the current credentials, and needs a new password.',
  ],
  [
    'service-user update ACCOUNT guard --role billing',
    'Take role iam.admin from service user guard of account ACCOUNT? Tokens based on that stop working.',
  ],
  [
    'service-user grant-validator ACCOUNT guard',
    'Raise the rights of service user guard of account ACCOUNT? The user can no longer log in with the current credentials, and needs a new password.',
  ],
  [
    'control-panel-user update ACCOUNT igor --owner --role billing',
    'Take role iam.admin from control panel user igor of account ACCOUNT? Tokens based on that stop working.\nRaise the rights of control panel user igor of account ACCOUNT? The user can no longer log in with the current credentials, and needs an invitation.',
  ],
  [
    'control-panel-user reissue-token ACCOUNT olga',
    'Reissue the IAM token of control panel user olga of account ACCOUNT for the account? The earlier one stops working.',
  ],
  [
    'control-panel-user reissue-token ACCOUNT olga --project alpha',
    'Reissue the IAM token of control panel user olga of account ACCOUNT for project alpha? The earlier one stops working.',
  ],
  [
    'control-panel-user update ACCOUNT olga --no-owner',
    'Take ownership of the account from control panel user olga of account ACCOUNT? Tokens based on that stop working.',
  ],
  [
    'static-token revoke ACCOUNT olga reporting',
    'Revoke static token reporting of user olga of account ACCOUNT? It never works again.',
  ],
  [
    'service-user replace-password ACCOUNT worker',
    'Replace the password of service user worker of account ACCOUNT? The tokens of the user stop working.',
  ],
  [
    'directory replace-password ACCOUNT worker',
    'Replace the password of service user worker of account ACCOUNT? The tokens of the user stop working.',
  ],
  [
    'address-restriction set ACCOUNT 10.0.0.0/8',
    'Restrict account ACCOUNT to 10.0.0.0/8? That locks out callers on the machine of the sidecar, which have the address 127.0.0.1.',
  ],
  [
    'service-user withdraw-validator ACCOUNT guard',
    'Withdraw the right to validate tokens from service user guard of account ACCOUNT? Programs that validate tokens of other accounts as this user stop working.',
  ],
  [
    'service-user disable ACCOUNT worker',
    'Disable service user worker of account ACCOUNT? The tokens of the user stop working.',
  ],
  [
    'control-panel-user disable ACCOUNT olga',
    'Disable control panel user olga of account ACCOUNT? The tokens of the user open nothing until the user is enabled again.',
  ],
  [
    'project disable ACCOUNT alpha',
    'Disable project alpha of account ACCOUNT? Tokens for it open nothing until it is enabled again.',
  ],
  ['account disable ACCOUNT', 'Disable account ACCOUNT? Its tokens open nothing until it is enabled again.'],
  [
    'service-user delete ACCOUNT worker',
    'Delete service user worker of account ACCOUNT? The tokens of the user stop working.',
  ],
  ['project delete ACCOUNT alpha', 'Delete project alpha of account ACCOUNT? Tokens for it stop working.'],
  [
    'control-panel-user delete ACCOUNT igor',
    'Delete control panel user igor of account ACCOUNT? The tokens of the user stop working.',
  ],
  ['account delete ACCOUNT', 'Delete account ACCOUNT with 1 project and 2 users?'],
]

const inAccount = (text: string) => text.replaceAll('ACCOUNT', account).replaceAll('CREDENTIAL', credential)
const words = (line: string) => inAccount(line).split(' ')

describe('on a terminal', () => {
  beforeAll(newAccount)

  test.each(CASES)('%s asks, changes nothing after a no, and runs after a yes', async (line, question) => {
    const before = await everything()
    const terminal = new FakeTerminal('n', 'y')
    expect(await command(words(line), terminal)).toEqual({
      code: 2,
      stdout: '',
      stderr: 'portcullis: not confirmed, so nothing was changed\n',
    })
    expect(terminal.questions).toEqual([`${inAccount(question)} [y/N] `])
    expect(await everything()).toEqual(before)
    expect(await command(words(line), terminal)).toMatchObject({ code: 0, stderr: '' })
    expect(await everything()).not.toEqual(before)
  })
})

describe('with --yes on a terminal', () => {
  beforeAll(newAccount)

  test('no command asks', async () => {
    const before = await everything()
    for (const [line] of CASES)
      expect(await command([...words(line), '--yes'], new FakeTerminal()), line).toMatchObject({
        ...{ code: 0, stderr: '' },
      })
    expect(await everything()).not.toEqual(before)
  })
})

describe('on a terminal with another account', () => {
  beforeAll(newAccount)

  test('under --json the refusal is JSON', async () => {
    const { code, stdout, stderr } = await command(
      ['project', 'delete', account, 'alpha', '--json'],
      new FakeTerminal('no'),
    )
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'CANCELLED',
        reason: 'NOT_CONFIRMED',
        message: 'not confirmed, so nothing was changed',
        violations: [],
      },
    })
  })

  test('a missing account is reported without a question', async () => {
    const terminal = new FakeTerminal()
    expect(await command(['account', 'delete', 'nowhere'], terminal)).toEqual({
      code: 2,
      stdout: '',
      stderr: 'portcullis: NOT_FOUND: there is no account `nowhere`\n',
    })
  })

  test.each([
    'service-user update ACCOUNT worker --permission project:alpha --permission project:beta',
    'service-user update ACCOUNT worker --permission account',
    'service-user update ACCOUNT worker --role iam.admin',
    'control-panel-user update ACCOUNT olga --owner --role iam.admin',
    'address-restriction set ACCOUNT 127.0.0.0/8 10.0.0.0/8',
    'address-restriction set ACCOUNT --none',
    'account enable ACCOUNT',
    'project create ACCOUNT gamma',
  ])('%s removes nothing, so it does not ask', async (line) => {
    const terminal = new FakeTerminal()
    expect(await command(words(line), terminal)).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('revoke', () => {
  beforeAll(newAccount)

  const issue = () =>
    running.client.issue({
      password: { userName: 'worker', account, password },
      scope: { account, project: 'alpha' },
    })
  const isActive = async (value: string) =>
    (await running.client.check({ api: 'cdn', credentials: [['X-Auth-Token', value]] })).reason === 'ALLOWED'

  test('by value asks', async () => {
    const { value } = await issue()
    const line = ['revoke', '-H', `@${newFile(`X-Auth-Token: ${value}`)}`]
    const terminal = new FakeTerminal('n', 'y')
    expect(await command(line, terminal)).toMatchObject({ code: 2, stdout: '' })
    expect(await isActive(value)).toBe(true)
    expect(await command(line, terminal)).toMatchObject({ code: 0, stderr: '' })
    expect(await isActive(value)).toBe(false)
    expect(terminal.questions[0]).toBe('Revoke this token? It never works again. [y/N] ')
  })

  test('by id asks, and names the id', async () => {
    const { value, tokenId } = await issue()
    const terminal = new FakeTerminal('n')
    expect(await command(['revoke', '--token-id', tokenId], terminal)).toMatchObject({ code: 2 })
    expect(await isActive(value)).toBe(true)
    expect(terminal.questions).toEqual([`Revoke token ${tokenId}? It never works again. [y/N] `])
    expect(await command(['revoke', '--token-id', tokenId, '-y'], terminal)).toMatchObject({ code: 0 })
    expect(await isActive(value)).toBe(false)
  })
})

test('keys rotate asks, and does not change the file if the answer is no', async () => {
  const folder = newFolder()
  const file = join(folder, 'signing-keys.json')
  const keys = readFileSync(join(running.folder, 'signing-keys.json'), 'utf8')
  // A key must be staged for some time before it may sign.
  writeFileSync(file, keys.replaceAll(/"since_ms": ?\d+/g, '"since_ms":1'), { mode: 0o600 })
  const before = readFileSync(file, 'utf8')
  const terminal = new FakeTerminal('n', 'y')
  expect(await command(['keys', 'rotate', '--data', folder], terminal)).toMatchObject({ code: 2, stdout: '' })
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(await command(['keys', 'rotate', '--data', folder], terminal)).toMatchObject({ code: 0 })
  expect(readFileSync(file, 'utf8')).not.toBe(before)
  expect(terminal.questions[0]).toBe(
    `Rotate the keys in ${file}? The active key retires and signs no new token. [y/N] `,
  )
})

describe('directory apply', () => {
  beforeAll(newAccount)

  const file = (permissions: object[], more: object = {}) =>
    newFile(
      JSON.stringify({
        accounts: [{ account, service_users: [{ name: 'worker', permissions, ...more }] }],
      }),
      'directory.json',
    )

  test('asks if the file removes something, and names it', async () => {
    const path = file([{ scope: 'projects', projects: ['beta'] }], { roles: [], enabled: false })
    const before = await everything()
    const terminal = new FakeTerminal('n', 'y')
    expect(await command(['directory', 'apply', path], terminal)).toMatchObject({ code: 2, stdout: '' })
    expect(await everything()).toEqual(before)
    expect(terminal.questions).toEqual([
      `${path} takes away from users:\n    ${account}  worker  permission project:alpha, role iam.admin, being enabled\nTokens based on that stop working. Apply it? [y/N] `,
    ])
    expect(await command(['directory', 'apply', path], terminal)).toMatchObject({ code: 0 })
    expect(await everything()).not.toEqual(before)
  })

  test('does not ask if the file only adds', async () => {
    const path = file([{ scope: 'account' }, { scope: 'projects', projects: ['alpha'] }])
    const { code, stdout } = await command(['directory', 'apply', path], new FakeTerminal())
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^created 0 accounts, .*\nchanged; tokens based on removed rights are no longer valid:\naccount-\d+ +worker +new permissions\n$/,
    )
  })
})

describe('an answer', () => {
  const ask = (answer: string) => confirm(new FakeTerminal(answer), {}, () => 'Sure?')

  test.each(['y', 'Y', 'yes', ' YES '])('is a yes: %j', async (answer) => {
    await expect(ask(answer)).resolves.toBeUndefined()
  })

  test.each(['', ' ', 'n', 'no', 'N', 'yess', 'sure', 'ye', 'y n'])('is a no: %j', async (answer) => {
    await expect(ask(answer)).rejects.toMatchObject({ reason: 'NOT_CONFIRMED' })
  })
})

test('keys withdraw asks, and does not change the file if the answer is no', async () => {
  const folder = newFolder()
  const file = join(folder, 'signing-keys.json')
  writeFileSync(file, readFileSync(join(running.folder, 'signing-keys.json')), { mode: 0o600 })
  const before = readFileSync(file, 'utf8')
  const { keys } = JSON.parse(before) as { keys: { key_id: string; state: string }[] }
  const staged = keys.find(({ state }) => state === 'staged')?.key_id ?? ''
  const terminal = new FakeTerminal('n', 'y')
  const withdraw = ['keys', 'withdraw', staged, '--data', folder]
  expect(await command(withdraw, terminal)).toMatchObject({ code: 2, stdout: '' })
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(await command(withdraw, terminal)).toMatchObject({ code: 0 })
  expect(readFileSync(file, 'utf8')).not.toContain(staged)
  expect(terminal.questions[0]).toBe(
    `Withdraw the key ${staged} from ${file}? All of its tokens are denied, and the key cannot be restored. [y/N] `,
  )
})

test('the commands that may ask are those with --yes', () => {
  const asking = [
    ...CASES.map(([line]) => line.split(' ').slice(0, 2).join(' ')),
    ...['revoke', 'keys rotate', 'keys withdraw', 'keys rotate-administrator-token', 'directory apply'],
    // test/cli/restore-refused.test.ts
    'restore',
    // test/cli/matrix-rollout.test.ts
    ...['matrix promote', 'matrix rollback'],
  ]
  const having = everyCommand(buildProgram())
    .filter((each) => each.options.some(({ long }) => long === '--yes'))
    .map((each) => (each.parent?.parent === null ? each.name() : `${each.parent?.name()} ${each.name()}`))
  expect(having.sort()).toEqual([...new Set(asking)].sort())
})

test('every command that deletes, disables, revokes or replaces asks', () => {
  const silent = ROWS.filter(
    ({ verb, question }) => /delete|disable|revoke|replace|reissue/.test(verb) && question === undefined,
  )
  expect(silent).toEqual([])
})
