/**
 * Errors of the command line: exit code 2, and one line on standard error, as text or as JSON. An invalid
 * matrix: matrix-lint.test.ts.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { everyCommand } from '../../sidecar/cli/empty-program.ts'
import { buildProgram } from '../../sidecar/cli/program.ts'
import { failWith } from '../../sidecar/cli/terminal/errors.ts'
import { command } from '../support/processes/command-line.ts'
import { type Ended, run } from '../support/processes/processes.ts'
import { fakeSidecar } from '../support/sidecar/fake-sidecar.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const running = await runSidecar()
await populate(running)
const environment = { PORTCULLIS_GRPC_ADDRESS: running.address, PORTCULLIS_PASSWORD: 'wrong' }
Object.assign(process.env, environment)
// Commands read and create files in the current folder by default, which must not be the checkout.
process.chdir(newFolder())

interface Complaint {
  readonly code: string
  readonly reason: string
  readonly message: unknown
  readonly violations?: readonly { readonly field: string; readonly description: string }[]
}

const usage = (message: unknown): Complaint => ({ code: 'INVALID_ARGUMENT', reason: 'USAGE', message })
const state = (message: string): Complaint => ({
  code: 'FAILED_PRECONDITION',
  reason: 'FAILED_PRECONDITION',
  message,
})

const CLAIM = ['--kind', 'static_token', '--account', ACCOUNT]
const ISSUE = ['issue', '--account', ACCOUNT, '--user', 'account']
const silent = await fakeSidecar({ check: () => {} })
const folder = newFolder()
writeFileSync(join(folder, 'matrix.yaml'), 'matrix: nope.json\n')
const strange = newFile('X-Auth-Token: gibberish\n')
const spaced = newFile('two words\n')
const noMatrix = newFile('{}', 'matrix.json')
const broken = newFile('accounts: [{account: 1}]\n', 'broken.yaml')
const misconfigured = newFile('workers: none\n', 'config.yaml')
const data = join(folder, 'data')

/** Errors that the command line itself finds: the text is the message. */
const LOCAL: readonly (readonly [args: string[], complaint: Complaint])[] = [
  [
    ['check', 'balance'],
    usage(
      'expected either --header or PORTCULLIS_HEADER (a credential to verify), or --kind (a token that is taken as given)',
    ),
  ],
  [
    ['check', 'balance', ...CLAIM, '--target-project', 'a'],
    usage('--target-project: expected --target-account with it'),
  ],
  [
    ['check', 'balance', '-H', 'X-Token: a', '--account', '5', '--project', 'a'],
    usage('--account: expected only with --kind; the owner of the resource is --target-account'),
  ],
  [
    ['check', 'balance', '-H', 'X-Token: a', '--project', 'a'],
    usage('--project: expected only with --kind; the owner of the resource is --target-project'),
  ],
  [[...ISSUE, '--project', ''], usage('--project: expected the name of a project')],
  [[...ISSUE, '--place', ''], usage('--place: expected a place of a token')],
  [[...ISSUE, '--api', 'balance', '--api', ''], usage('--api: expected the id of an API')],
  [['issue', '--account', '', '--user', 'a'], usage('--account: expected the number of an account')],
  [['check', 'balance', '-H', ''], usage("--header: expected 'NAME: VALUE', or @FILE with one a line")],
  [['plan', 'iam', ''], usage('api: expected the id of an API')],
  [['serve', '--data', ''], usage('--data: expected the path of a folder')],
  [['audit', 'list', ''], usage('account: expected the number of an account')],
  [
    ['control-panel-user', 'reissue-token', ACCOUNT, 'a', '--project', ''],
    usage('--project: expected the name of a project'),
  ],
  [
    ['account', 'list'],
    state(
      '--data: portcullis-data/administrator-token cannot be read (ENOENT); use --data, --caller-token-file or --iam-token-file',
    ),
  ],
  [
    ['revoke', '--token-id', 'a'],
    state(
      '--data: portcullis-data/administrator-token cannot be read (ENOENT); use --data or --caller-token-file',
    ),
  ],
  [
    ['account', 'list', '--iam-token-file', strange, '--caller-token-file', strange],
    usage('--iam-token-file: expected no --caller-token-file with it'),
  ],
  ...['--caller-token-file', '--iam-token-file'].map((option): [args: string[], complaint: Complaint] => [
    ['account', 'list', option, spaced],
    usage(`${option}: expected a token without spaces in the first line of ${spaced}`),
  ]),
  [
    [...ISSUE, '--password-file', strange, '--api', 'cdn', '--api', 'balnce'],
    usage('--api: no API `balnce` in the matrix; did you mean balance?'),
  ],
  [['issue', '--profile', 'a'], usage('expected --account or --api')],
  [['issue', '--user', 'a'], usage('expected --account')],
  [['check', 'balance', '-H', '@/dev/zero'], state('--header: /dev/zero: expected at most 16777216 bytes')],
  [['check', 'balance', '-H', '@/nope'], state('--header: /nope cannot be read (ENOENT)')],
  [['matrix', '--matrix', '/nope.json'], state('matrix: /nope.json cannot be read (ENOENT)')],
  [['keys', 'show', '--data', '/nope'], state('/nope: expected a data folder of Portcullis')],
  [['keys', 'rotate', '--data', noMatrix], state(`${noMatrix}: expected a data folder of Portcullis`)],
  [['directory', 'show', '--data', '/nope'], state('/nope: expected a data folder of Portcullis')],
  [
    ['check', 'balance', ...CLAIM, '--deadline', '0'],
    usage('--deadline: expected a whole number of 1 or more, in milliseconds'),
  ],
  [['serve', '--workers', 'many'], usage('--workers: expected a whole number')],
  [['explain', 'audit-log'], usage('no API `audit-log` in the matrix; did you mean audit-logs?')],
  [
    ['plan', 'iam', 'nothing-like-it'],
    usage(expect.stringContaining('no API `nothing-like-it` in the matrix; expected one of iam, ')),
  ],
  [
    ['directory', 'apply', broken, '--data', data],
    {
      code: 'INVALID_ARGUMENT',
      reason: 'DIRECTORY_FILE_INVALID',
      message: `${broken}: accounts[0].account: expected a string`,
      violations: [{ field: 'accounts[0].account', description: 'expected a string' }],
    },
  ],
  [
    ['serve', '--config', '/does/not/exist.yaml'],
    {
      code: 'INVALID_ARGUMENT',
      reason: 'CONFIGURATION_INVALID',
      message: '/does/not/exist.yaml: the file does not exist',
    },
  ],
  [
    ['directory', 'show', '--config', misconfigured],
    {
      code: 'INVALID_ARGUMENT',
      reason: 'CONFIGURATION_INVALID',
      message: `${misconfigured}: workers: expected an integer`,
    },
  ],
  [
    ['directory', 'replace-password', '999', 'nobody', '--data', running.folder],
    { code: 'NOT_FOUND', reason: 'NOT_FOUND', message: 'there is no service user `nobody` in account `999`' },
  ],
  ...['localhost', 'http://127.0.0.1:50051', '127.0.0.1:65536', '127.0.0.1:0', 'unix:'].map(
    (address): [args: string[], complaint: Complaint] => [
      ['check', 'balance', ...CLAIM, '--address', address],
      usage('--address (or PORTCULLIS_GRPC_ADDRESS): expected HOST:PORT or unix:PATH'),
    ],
  ),
]

/** Errors of commands that need a process: a start, which changes it, and a reader of standard input. */
const IN_A_PROCESS: typeof LOCAL = [
  [['serve', '--config', join(folder, 'matrix.yaml')], state('matrix: nope.json cannot be read (ENOENT)')],
  [['serve', '--data', noMatrix, '--http', 'off'], state(`data: ${noMatrix}: expected a folder`)],
  [['serve', '--dev', '--data', noMatrix], state(`data: ${noMatrix}: expected a folder`)],
  [
    ['serve', '--matrix', `${noMatrix}/in`, '--data', data],
    state(`matrix: ${noMatrix}/in cannot be read (ENOTDIR)`),
  ],
  [
    ['serve', '--http', '127.0.0.1:65536', '--grpc', '127.0.0.1:0', '--data', data],
    state('http.address: expected HOST:PORT with a port from 0 to 65535, or off'),
  ],
  [[...ISSUE, '--password-file', '-'], usage('--password-file: expected a secret in the first line of -')],
]

/** Errors of a sidecar, or of the connection to it: the text names the code before the message. */
const FROM_A_SIDECAR: readonly (readonly [args: string[], before: string, complaint: Complaint])[] = [
  [
    ['account', 'list', '--iam-token-file', strange],
    'UNAUTHENTICATED REQUESTER_NOT_AUTHENTICATED',
    {
      code: 'UNAUTHENTICATED',
      reason: 'REQUESTER_NOT_AUTHENTICATED',
      message:
        'expected a caller token (--caller-token-file or --data) or an account-scoped IAM token (--iam-token-file)',
    },
  ],
  [
    ['revoke', '--token-id', 'A'.repeat(22), '--caller-token-file', newFile('gibberish')],
    'UNAUTHENTICATED CALLER_TOKEN_INVALID',
    {
      code: 'UNAUTHENTICATED',
      reason: 'CALLER_TOKEN_INVALID',
      message:
        'the caller token is unknown, expired or withdrawn; expected another in --caller-token-file or --data',
    },
  ],
  [
    ['issue', '--profile', 'a', '--account', '5'],
    'UNAUTHENTICATED CALLER_TOKEN_MISSING',
    {
      code: 'UNAUTHENTICATED',
      reason: 'CALLER_TOKEN_MISSING',
      message: 'issuing by profile needs a caller token: --caller-token-file',
    },
  ],
  [
    ['check', 'balance', ...CLAIM, '--client-address', 'x'],
    'INVALID_ARGUMENT',
    {
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_ARGUMENT',
      message: 'client_address: expected an IPv4 or IPv6 address',
      violations: [{ field: 'client_address', description: 'expected an IPv4 or IPv6 address' }],
    },
  ],
  [
    ['issue', '--account', ACCOUNT, '--user', 'nobody'],
    'UNAUTHENTICATED LOGIN_FAILED',
    {
      code: 'UNAUTHENTICATED',
      reason: 'LOGIN_FAILED',
      message: 'the name of the user or the password is wrong',
    },
  ],
  [
    ['revoke', '-H', 'X-Auth-Token: eyJgibberish'],
    'NOT_FOUND CREDENTIAL_INVALID',
    {
      code: 'NOT_FOUND',
      reason: 'CREDENTIAL_INVALID',
      message: 'the token is unknown or not genuine, so there is nothing to revoke',
    },
  ],
  [
    ['check', 'balance', ...CLAIM, '--address', '127.0.0.1:1'],
    'no answer, UNAVAILABLE',
    {
      code: 'UNAVAILABLE',
      reason: 'UNAVAILABLE',
      message: 'no sidecar answers at 127.0.0.1:1 (connection refused); start one with `portcullis serve`',
    },
  ],
  [
    ['check', 'balance', ...CLAIM, '--address', 'unix:/nowhere/to.sock'],
    'no answer, UNAVAILABLE',
    {
      code: 'UNAVAILABLE',
      reason: 'UNAVAILABLE',
      message:
        'no sidecar answers at unix:/nowhere/to.sock (no such socket); start one with `portcullis serve`',
    },
  ],
  [
    ['check', 'balance', ...CLAIM, '--deadline', '50', '--address', silent],
    'no answer, DEADLINE_EXCEEDED',
    {
      code: 'DEADLINE_EXCEEDED',
      reason: 'DEADLINE_EXCEEDED',
      message: `no answer from ${silent} within 50 ms`,
    },
  ],
]

const ROWS = [
  ...LOCAL.map(([args, complaint]) => [args, '', complaint] as const),
  ...FROM_A_SIDECAR.map(([args, before, complaint]) => [args, `${before}: `, complaint] as const),
]

describe('a command without an answer ends with 2', () => {
  test.each(ROWS)('%j says why in one line', async (args, before, { message }) => {
    const { code, stdout, stderr } = await command(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^portcullis: [^\n]+\n$/)
    const text = stderr.slice('portcullis: '.length, -1)
    expect(text.slice(0, before.length)).toBe(before)
    expect(text.slice(before.length)).toEqual(message)
  })

  const inJson = ({ code, stdout, stderr }: Ended, complaint: Complaint) => {
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(JSON.parse(stderr)).toEqual({ error: { violations: [], ...complaint } })
  }

  test.each(ROWS)('%j says why in one line of JSON', async (args, _before, complaint) =>
    inJson(await command([...args, '--json']), complaint),
  )

  test.each(IN_A_PROCESS)('%j says why in one line of JSON', async (args, complaint) =>
    inJson(await run([...args, '--json'], { environment }), complaint),
  )
})

test('the JSON contains the metadata of the sidecar’s error unchanged', async () => {
  const { code, stderr } = await command([...ISSUE, '--api', 'iam', '--api', 'reports', '--json'])
  expect(code).toBe(2)
  expect(JSON.parse(stderr).error).toMatchObject({
    reason: 'NO_SINGLE_KIND',
    metadata: { plan_iam_token_account_scoped: 'iam', plan_static_token: 'reports' },
  })
})

describe('a command line with a mistake', () => {
  test('without a command shows the help, and ends with 2', async () => {
    const { code, stdout, stderr } = await command([])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^Usage: portcullis /)
  })

  test.each<[args: string[], complaint: RegExp]>([
    [['chekc'], /^portcullis: unknown command 'chekc'; did you mean check\?\n\(commands: check, .*\)\n$/],
    [
      ['check', 'balance', '--jsno'],
      /^portcullis: unknown option '--jsno'; did you mean --json\?\n\(see `portcullis check --help`\)\n$/,
    ],
    [['check'], /^portcullis: missing required argument 'api'\n\(see `portcullis check --help`\)\n$/],
    [
      ['help', 'nope'],
      /^portcullis: unknown command 'nope'\n\(commands: check, .*, audit, completion; options: --help, --version\)\n$/,
    ],
    [['-v'], /^portcullis: unknown option '-v'\n\(commands: check, .*; options: --help, --version\)\n$/],
    [
      ['keys', 'list'],
      /^portcullis: unknown command 'list'\n\(commands: show, rotate, withdraw, rotate-administrator-token, public; options: --help\)\n$/,
    ],
    [
      ['account', 'lsit'],
      /^portcullis: unknown command 'lsit'; did you mean list\?\n\(commands: create, list, .*\)\n$/,
    ],
    [['matrix', 'lnt'], /^portcullis: unknown command 'lnt'; did you mean lint\?\n\(commands: lint, .*\)\n$/],
    [
      ['completion', 'tcsh'],
      /^portcullis: command-argument value 'tcsh' is invalid for argument 'shell'\. Allowed choices are bash, zsh, fish\.\n\(see /,
    ],
  ])('the error for %j says what to type instead', async (args, complaint) => {
    const { code, stdout, stderr } = await command(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(complaint)
  })

  const names = everyCommand(buildProgram()).map((each) => {
    const path: string[] = []
    for (let at = each; at.parent !== null; at = at.parent) path.unshift(at.name())
    return path
  })

  test('the tests below cover every command', () => expect(names.length).toBeGreaterThan(60))

  test.each(names.map((path) => [path.join(' '), path] as const))(
    'gets JSON with --json: %s',
    async (_name, path) => {
      const { code, stdout, stderr } = await command([...path, '--no-such-option', '--json'])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^[^\n]+\n$/)
      expect(JSON.parse(stderr)).toEqual({
        error: {
          code: 'INVALID_ARGUMENT',
          reason: 'USAGE',
          message: expect.stringMatching(/^unknown option '--no-such-option'/),
          violations: [],
        },
      })
    },
  )

  test('gets text if --json is a value and not an option', async () => {
    const { stderr } = await run(['nope', '--', '--json'])
    expect(stderr).toMatch(/^portcullis: unknown command 'nope'/)
  })
})

test('a defect is reported without a stack', () => {
  const before = process.exitCode
  const lines: string[] = []
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => lines.push(String(chunk)) > 0)
  try {
    failWith(new TypeError('a is not a function'), { json: true })
    failWith(new TypeError('a is not a function'), { json: false })
  } finally {
    write.mockRestore()
    process.exitCode = before
  }
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    error: { code: 'INTERNAL', reason: 'INTERNAL', message: 'a is not a function', violations: [] },
  })
  expect(lines[1]).toBe('portcullis: a is not a function\n')
})
