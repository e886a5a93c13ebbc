/** The command line as a person or a script meets it: exit codes, one line of JSON, one line of complaint. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { fakeSidecar } from '../support/fake-sidecar.ts'
import { type Ended, type RunOptions, run, serve } from '../support/processes.ts'
import { newFile, newFolder } from '../support/sidecar.ts'

const { ready } = await serve(['--dev'])
const { account, service_user: user, static_token: staticToken } = ready.demo ?? nobody()
function nobody(): never {
  throw new Error('the development sidecar has no demo account')
}

/** A command that finds its sidecar and its password as a person would have them: in the environment. */
const portcullis = (args: readonly string[], { input, environment }: RunOptions = {}) =>
  run(args, {
    environment: { PORTCULLIS_GRPC_ADDRESS: ready.grpc, PORTCULLIS_PASSWORD: user.password, ...environment },
    ...(input !== undefined && { input }),
  })
const json = ({ stdout }: Ended) => {
  expect(stdout).toMatch(/^[^\n]+\n$/)
  return JSON.parse(stdout) as Record<string, unknown>
}
const ISSUE = ['issue', '--account', account, '--user', user.name]
const CLAIM = ['--kind', 'static_token', '--account', account]

describe('issue and check', () => {
  test('a token that is issued goes into check on standard input', async () => {
    const issued = await portcullis(ISSUE)
    expect(issued).toMatchObject({ code: 0, stdout: expect.stringMatching(/^X-Auth-Token: eyJ[\w.-]+\n$/) })
    // A pipe gets the token alone; what a person wants to know of it is on standard error.
    expect(issued.stderr).toContain(`iam_token_account_scoped, account ${account}, expires `)
    // As from another command in a pipe, which needs a while.
    const input = new Promise<string>((resolve) => setTimeout(resolve, 1_000, issued.stdout))
    const checked = await portcullis(['check', 'balance', '-H', '@-'], { input })
    expect(checked).toMatchObject({ code: 0, stderr: '' })
    expect(checked.stdout).toMatch(/^allowed +balance\n/)
    const [, value = ''] = issued.stdout.trim().split(': ')
    expect((await portcullis(['revoke', '-H', `X-Auth-Token: ${value}`, '--json'])).code).toBe(0)
    const denied = await portcullis(['check', 'balance', '--json', '-H', '@-'], { input: issued.stdout })
    expect(denied.code).toBe(1)
    expect(json(denied)).toMatchObject({ allowed: false, reason: 'CREDENTIAL_REVOKED' })
  })

  test('a token for an API names the conflicts of its cell, for people and for programs', async () => {
    const args = [...ISSUE, '--api', 'cdn', '--project', 'demo-project']
    const [shown, told] = await Promise.all([
      portcullis([...args, '--value']),
      portcullis([...args, '--json']),
    ])
    expect(shown.stdout).toMatch(/^eyJ[\w.-]+\n$/)
    expect(shown.stderr).toContain('conflict cdn-project-omission: ')
    expect(json(told)).toMatchObject({
      kind: 'iam_token_project_scoped',
      scope: { account, project: 'demo-project' },
    })
  })

  test.each<[claim: string, args: string[], code: number, answer: object]>([
    ['a claim that is allowed', ['reports', ...CLAIM], 0, { allowed: true, verified: false }],
    ['a claim that is denied', ['iam', ...CLAIM], 1, { reason: 'TOKEN_KIND_NOT_ACCEPTED' }],
    ['a genuine static token', ['reports', '-H', `X-Token: ${staticToken}`], 0, { verified: true }],
    [
      'two credentials',
      ['reports', '-H', 'X-Token: a', '-H', 'X-Auth-Token: b'],
      1,
      { reason: 'CREDENTIAL_AMBIGUOUS' },
    ],
    ['a target of others', ['reports', ...CLAIM, '--target-account', '1'], 1, { reason: 'ACCOUNT_MISMATCH' }],
  ])('check of %s', async (_claim, args, code, answer) => {
    const ended = await portcullis(['check', '--json', ...args])
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(json(ended)).toMatchObject(answer)
  })
})

test('check of an API that is none says which one may have been meant', async () => {
  const ended = await portcullis(['check', 'balnce', ...CLAIM])
  expect(ended).toMatchObject({ code: 1, stderr: '' })
  expect(ended.stdout).toMatch(/^denied +balnce: UNKNOWN_API\n.*\n +did you mean balance\?\n$/)
})

describe('without a sidecar', () => {
  test.each<[args: string[], code: number, answer: unknown]>([
    [['explain', 'audit-logs', 'iam_token_account_scoped'], 0, [{ decision: { allowed: true } }]],
    [
      ['explain', 'audit-logs', 'iam_token_account_scoped', '--strict'],
      1,
      [{ decision: { reason: 'CONTESTED' } }],
    ],
    [['plan', 'iam', 'reports'], 0, { unopened: [] }],
    [['plan', 'cdn', '--strict'], 1, { tokens: [], unopened: ['cdn'] }],
    [['matrix'], 0, { digest: compile(supportMatrix).digest, strict: false }],
    [['lint'], 0, { problems: [] }],
  ])('%j answers with one line of JSON', async (args, code, answer) => {
    const ended = await portcullis([...args, '--json'])
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(json(ended)).toMatchObject(answer as object)
  })

  test('lint of a broken file ends with 1 and names the place', async () => {
    const [first, ...rest] = supportMatrix.apis
    const broken = newFile(
      JSON.stringify({ ...supportMatrix, apis: [{ ...first, accepts: ['nothing'] }, ...rest] }),
    )
    const ended = await portcullis(['lint', broken, '--json'])
    expect(ended).toMatchObject({ code: 1, stderr: '' })
    expect(json(ended)).toMatchObject({
      problems: [
        {
          path: 'apis[0].accepts[0]',
          expected: 'expected the id of a token kind; there is no token kind `nothing`',
        },
      ],
    })
  })
})

describe('directory', () => {
  const file = newFile(
    `accounts:
  - account: "123456"
    projects: [alpha]
    service_users: [{ name: job, permissions: [{ scope: projects, projects: [alpha] }] }]
    control_panel_users: [{ name: owner, static_tokens: [one, two] }]
`,
    'directory.yaml',
  )

  test('apply, apply again, show and replace-password', async () => {
    const data = join(newFolder(), 'data')
    const directory = (...args: string[]) => portcullis(['directory', ...args, '--data', data, '--json'])
    const applied = json(await directory('apply', file)) as { secrets: { type: string; value: string }[] }
    expect(applied).toMatchObject({ created: { accounts: 1, projects: 1, users: 2, static_tokens: 2 } })
    expect(applied.secrets.map(({ type }) => type)).toEqual(['password', 'static_token', 'static_token'])
    expect(json(await directory('apply', file))).toEqual({
      created: { accounts: 0, projects: 0, users: 0, static_tokens: 0 },
      changed: [],
      secrets: [],
    })
    const shown = await directory('show')
    expect(json(shown)).toMatchObject({
      accounts: [{ account: '123456', service_users: [{ name: 'job', enabled: true }] }],
    })
    for (const { value } of applied.secrets) expect(shown.stdout).not.toContain(value)
    const replaced = json(await directory('replace-password', '123456', 'job'))
    expect(replaced).toMatchObject({ user: 'job', type: 'password' })
    expect(replaced.value).not.toBe(applied.secrets[0]?.value)
  })

  test('with another pepper than the static tokens were hashed with, there is a warning', async () => {
    const data = join(newFolder(), 'data')
    const directory = (...args: string[]) => portcullis(['directory', ...args, '--data', data])
    expect(await directory('apply', file)).toMatchObject({ code: 0, stderr: '' })
    const pepper = join(data, 'static-token-pepper')
    writeFileSync(pepper, '0'.repeat(64))
    expect(await directory('show')).toMatchObject({
      code: 0,
      stderr: `portcullis: warning: ${pepper}: static tokens that were hashed with another pepper: 2; copy the file from the host where they were created\n`,
    })
  })

  test('show of a folder that is not there says so, and makes none', async () => {
    const data = join(newFolder(), 'mistyped')
    expect(await portcullis(['directory', 'show', '--data', data])).toMatchObject({ code: 2, stdout: '' })
    expect(await portcullis(['directory', 'show', '--data', join(data, '..')])).toMatchObject({ code: 2 })
  })
})

const silent = await fakeSidecar({ check: () => {} })
const folder = newFolder()
writeFileSync(join(folder, 'matrix.yaml'), 'matrix: nope.json\n')
const strange = newFile('X-Auth-Token: gibberish\n')
const noMatrix = newFile('{}', 'matrix.json')
const broken = join(newFolder(), 'broken.yaml')
writeFileSync(broken, 'accounts: [{account: 1}]\n')
test.each<[args: string[], stderr: string]>([
  [
    ['check', 'balance'],
    'expected either --header (a credential to verify) or --kind (a token taken as given)',
  ],
  [
    ['check', 'balance', ...CLAIM, '--target-project', 'a'],
    '--target-project: expected --target-account with it',
  ],
  [
    ['check', 'balance', '-H', 'X-Token: a', '--account', '5', '--project', 'a'],
    '--account: only with --kind; for the owner of the resource use --target-account',
  ],
  [
    ['check', 'balance', '-H', 'X-Token: a', '--project', 'a'],
    '--project: only with --kind; for the owner of the resource use --target-project',
  ],
  [[...ISSUE, '--project', ''], '--project: expected the name of a project'],
  [[...ISSUE, '--api', 'balance', '--api', ''], '--api: expected the id of an api'],
  [['issue', '--account', '', '--user', 'a'], '--account: expected the number of an account'],
  [['check', 'balance', '-H', ''], "--header: expected 'NAME: VALUE', or @FILE with one a line"],
  [['plan', 'iam', ''], 'api: expected the id of an api'],
  [['serve', '--data', ''], '--data: expected the path of a folder'],
  [['audit', 'list', ''], 'account: expected the number of an account'],
  [
    ['control-panel-user', 'reissue-token', account, 'a', '--project', ''],
    '--project: expected the name of a project',
  ],
  [
    ['account', 'list'],
    '--data: portcullis-data/administrator-token cannot be read (ENOENT); give --data, --caller-token-file or --iam-token-file',
  ],
  [
    ['revoke', '--token-id', 'a'],
    '--data: portcullis-data/administrator-token cannot be read (ENOENT); give --data or --caller-token-file',
  ],
  [
    ['account', 'list', '--iam-token-file', strange, '--caller-token-file', strange],
    '--iam-token-file: expected no --caller-token-file with it',
  ],
  [
    ['account', 'list', '--iam-token-file', strange],
    'UNAUTHENTICATED REQUESTER_NOT_AUTHENTICATED: expected a caller token (--caller-token-file or --data) or an account-scoped IAM token (--iam-token-file)',
  ],
  [
    ['revoke', '--token-id', 'A'.repeat(22), '--caller-token-file', newFile('gibberish')],
    'UNAUTHENTICATED CALLER_TOKEN_INVALID: the caller token is unknown; expected another in --caller-token-file or --data',
  ],
  [
    ['issue', '--profile', 'a', '--account', '5'],
    'UNAUTHENTICATED CALLER_TOKEN_MISSING: issuing by profile needs a caller token: --caller-token-file',
  ],
  [
    [...ISSUE, '--api', 'cdn', '--api', 'balnce'],
    '--api: no api `balnce` in the matrix; did you mean balance?',
  ],
  [['issue', '--profile', 'a'], 'expected --account, or --api'],
  [['issue', '--user', 'a'], 'expected --account'],
  [['check', 'balance', '-H', '@/dev/zero'], '--header: /dev/zero: expected at most 16777216 bytes'],
  [['check', 'balance', '-H', '@/nope'], '--header: /nope cannot be read (ENOENT)'],
  [['matrix', '--matrix', '/nope.json'], 'matrix: /nope.json cannot be read (ENOENT)'],
  [['serve', '--config', join(folder, 'matrix.yaml')], 'matrix: nope.json cannot be read (ENOENT)'],
  [['serve', '--data', noMatrix, '--http', 'off'], `data: ${noMatrix}: expected a folder`],
  [['serve', '--dev', '--data', noMatrix], `data: ${noMatrix}: expected a folder`],
  [
    ['serve', '--matrix', `${noMatrix}/in`, '--data', join(folder, 'data')],
    `matrix: ${noMatrix}/in cannot be read (ENOTDIR)`,
  ],
  [['keys', 'show', '--data', '/nope'], '/nope: expected a data folder of Portcullis'],
  [['keys', 'rotate', '--data', noMatrix], `${noMatrix}: expected a data folder of Portcullis`],
  [['directory', 'show', '--data', '/nope'], '/nope: expected a data folder of Portcullis'],
  [
    ['serve', '--http', '127.0.0.1:65536', '--grpc', '127.0.0.1:0', '--data', join(folder, 'data')],
    'http.address: expected HOST:PORT with a port from 0 to 65535, or off',
  ],
  [
    ['check', 'balance', ...CLAIM, '--deadline', '0'],
    '--deadline: expected a whole number of 1 or more, in milliseconds',
  ],
  [
    ['check', 'balance', ...CLAIM, '--client-address', 'x'],
    'INVALID_ARGUMENT: client_address: expected an IPv4 or IPv6 address',
  ],
  [[...ISSUE, '--password-file', '-'], '--password-file: expected a secret in the first line of -'],
  [
    ['issue', '--account', account, '--user', 'nobody'],
    'UNAUTHENTICATED LOGIN_FAILED: the name of the service user or the password is wrong',
  ],
  [
    ['revoke', '-H', 'X-Token: gibberish'],
    'NOT_FOUND CREDENTIAL_INVALID: no authority vouches for the token, so there is nothing to revoke',
  ],
  [['explain', 'audit-log'], 'no api `audit-log` in the matrix; did you mean audit-logs?'],
  [
    ['plan', 'iam', 'nothing-like-it', '--json'],
    expect.stringContaining(
      'no api `nothing-like-it` in the matrix; expected one of iam, ',
    ) as unknown as string,
  ],
  [
    ['directory', 'apply', broken, '--data', join(newFolder(), 'data')],
    `${broken}: accounts[0].account: expected a string`,
  ],
  [['serve', '--config', '/does/not/exist.yaml'], '/does/not/exist.yaml: expected a file, there is none'],
  [
    ['check', 'balance', ...CLAIM, '--address', '127.0.0.1:1'],
    'no answer, UNAVAILABLE: no sidecar answers at 127.0.0.1:1 (connection refused); start one with `portcullis serve`',
  ],
  [
    ['check', 'balance', ...CLAIM, '--address', 'unix:/nowhere/to.sock'],
    'no answer, UNAVAILABLE: no sidecar answers at unix:/nowhere/to.sock (no such socket); start one with `portcullis serve`',
  ],
  [
    ['check', 'balance', ...CLAIM, '--deadline', '50', '--address', silent],
    `no answer, DEADLINE_EXCEEDED: no answer from ${silent} within 50 ms`,
  ],
  ...['localhost', 'http://127.0.0.1:50051', '127.0.0.1:65536', '127.0.0.1:0', 'unix:'].map(
    (address): [args: string[], stderr: string] => [
      ['check', 'balance', ...CLAIM, '--address', address],
      '--address (or PORTCULLIS_GRPC_ADDRESS): expected HOST:PORT or unix:PATH',
    ],
  ),
])('%j ends with 2 and one line that says why', async (args, complaint) => {
  const { code, stdout, stderr } = await portcullis(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^portcullis: [^\n]+\n$/)
  expect(stderr.slice('portcullis: '.length, -1)).toEqual(complaint)
})

test.each([['matrix'], ['plan', 'iam'], ['serve', '--http', 'off', '--data', join(folder, 'data')]])(
  'a matrix that is not valid is named: %j',
  async (...args) => {
    const { code, stdout, stderr } = await portcullis([...args, '--matrix', noMatrix])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(`portcullis: ${noMatrix}: the matrix is not valid:\n`)
  },
)

test.each([[[]], [['chekc']], [['check', 'balance', '--colour']]])(
  'what is no command is said to be none, with 2: %j',
  async (args) => {
    const { code, stdout, stderr } = await portcullis(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(args.length === 0 ? /^Usage: portcullis / : /^error: [^\n]+\n/)
  },
)

test.each<[args: string[], complaint: RegExp]>([
  [
    ['help', 'nope'],
    /^error: unknown command 'nope'\n\(commands: serve, check, .*, audit; options: --help, --version\)\n$/,
  ],
  [['-v'], /^error: unknown option '-v'\n\(commands: serve, .*; options: --help, --version\)\n$/],
  [
    ['keys', 'list'],
    /^error: unknown command 'list'\n\(commands: show, rotate, public; options: --help\)\n$/,
  ],
  [['account', 'lsit'], /^error: unknown command 'lsit'\n.*list\?\)\n\(commands: create, list, .*\)\n$/],
])('%j is met with what there is', async (args, complaint) => {
  const { code, stdout, stderr } = await portcullis(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(complaint)
})

test('every command explains itself, and says what its exit codes mean', async () => {
  const { stdout: overview } = await portcullis(['--help'])
  expect(overview).toContain('Exit codes: 0 allowed or done, 1 denied or problems found, 2 no answer.')
  const commands = ['serve', 'check', 'issue', 'explain', 'matrix', 'lint', 'plan', 'revoke', 'directory']
  const helped = await Promise.all(commands.map((command) => portcullis([command, '--help'])))
  for (const [index, command] of commands.entries()) {
    expect(overview).toMatch(new RegExp(`^ +${command} `, 'm'))
    expect(helped[index]).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining(`Usage: portcullis ${command}`),
    })
  }
})
