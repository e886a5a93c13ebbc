/**
 * `portcullis decisions`: what a sidecar has decided is found in its log, with names, and no secret is shown.
 */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { run } from '../support/processes/processes.ts'
import { ACCOUNT, issued, PEOPLE, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import type { LoggedLine } from '../support/signals/decision-log.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const REQUEST_ID = '7f2504e0-4f89-41d3-9a0c-0305e82c3302'
const path = join(newFolder(), 'decisions.log')
const running = await runSidecar({
  flags: {
    'decision_log.file.path': path,
    'decision_log.file.max_bytes': 1_048_576,
  },
})
const { folder } = running
const people = await populate(running, PEOPLE)
const token = (await issued(running, people)).value
const config = newFile(JSON.stringify({ data: folder, decision_log: { file: { path } } }), 'portcullis.json')

// This many decisions come first, so that the log is replaced.
const BEFORE = 6_000
const claims = { api: 'cdn', token: { kind: 'static_token', scope: { account: '999' } } }
for (let asked = 0; asked < BEFORE; asked += 500)
  await running.client.checkBatch(Array.from({ length: 500 }, () => claims))
// The events of a day: the last question has the id of its request.
const box = new BlackBox(running.address)
const ask = async (api: string, value: string, header = 'X-Auth-Token', metadata = {}) =>
  box.ask('check', { ...credentialQuestion(api, header, value), client_address: '192.0.2.7' }, { metadata })
for (let round = 0; round < 12; round++) {
  await ask('balance', token)
  await ask('email', token)
  await ask('reports', people.staticToken, 'X-Token')
}
await ask('secrets', token, 'X-Auth-Token', { 'x-request-id': REQUEST_ID })
await eventually(() => existsSync(path) && readFileSync(path, 'utf8').includes(REQUEST_ID))

/** The configuration names the log, and the data folder with the names. */
const decisions = (words: readonly string[], terminal?: FakeTerminal) =>
  command(['decisions', '--config', config, ...words], terminal)
const apisIn = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((text) => (JSON.parse(text) as LoggedLine).api)

afterEach(() => void vi.unstubAllEnvs())

test('the log of a sidecar is searched with the files that it was replaced by', async () => {
  expect(readdirSync(join(path, '..')).length).toBeGreaterThan(1)
  const { code, stdout, stderr } = await decisions(['--count', 'api'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toBe('6000  cdn\n12    balance\n12    email\n12    reports\n1     secrets\n6037 decisions\n')
})

test('the newest come first, with the name of the user, as a table with its titles', async () => {
  const { code, stdout, stderr } = await decisions(['--denied', '--limit', '2'])
  expect(code).toBe(0)
  const [titles, first, second, ...more] = stdout.trimEnd().split('\n')
  expect(titles).toMatch(/^TIME \(UTC\) +DECISION +API +KIND +USER +ACCOUNT +FROM$/)
  expect(first).toMatch(
    /^\d{4}-\d\d-\d\d [\d:.]+ +TOKEN_KIND_NOT_ACCEPTED +secrets +iam_token_account_scoped +account +123456 +192\.0\.2\.7$/,
  )
  expect(second).toContain(' email ')
  expect(more).toEqual([])
  expect(stderr).toContain('more decisions match')
})

test('with the oldest first, all of it goes through a pipe to a replay', async () => {
  const { stdout } = await decisions(['--oldest-first', '--json', '--client-address', '192.0.2.7'])
  expect(apisIn(stdout).slice(0, 3)).toEqual(['balance', 'email', 'reports'])
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ names: { subject: 'account' } })
  const replayed = await run(['replay', '-'], { input: stdout })
  expect(replayed).toMatchObject({ code: 0, stdout: '37 decisions: none would change\n' })
  const again = await run(['decisions', '-', '--count'], { input: stdout })
  expect(again).toMatchObject({ code: 0, stdout: '37\n', stderr: '' })
})

test('where no decision matches, standard error says so, and a program has the exit code', async () => {
  for (const words of [[], ['--explain'], ['--oldest-first']])
    expect(await decisions(['--api', 'nothing', ...words])).toEqual({
      ...{ code: 1, stdout: '', stderr: 'no decisions match\n' },
    })
  const earlier = await decisions(['--until', '1h'])
  expect(earlier).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^no .* left out .* --every-line /),
  })
  expect(await decisions(['--until', '1h', '--every-line'])).toEqual({
    ...{ code: 1, stdout: '', stderr: 'no decisions match\n' },
  })
  expect(await decisions(['--api', 'nothing', '--json'])).toEqual({ code: 1, stdout: '', stderr: '' })
})

describe('is found', () => {
  const userIdOf = async () =>
    (JSON.parse((await decisions(['--limit', '1', '--json'])).stdout) as LoggedLine).subject?.id ?? ''

  test.each<[what: string, words: () => readonly string[] | Promise<readonly string[]>, count: number]>([
    ['a user by name', () => ['--user', 'account'], 25],
    ['a user by id', async () => ['--user', await userIdOf()], 25],
    ['a request', () => ['--request-id', REQUEST_ID], 1],
    ['a reason', () => ['--reason', 'ALLOWED'], 24],
    ['an account', () => ['--account', ACCOUNT, '--api', 'email'], 12],
    ['a client', () => ['--client-address', '192.0.2.7', '--allowed'], 24],
    ['the last hour', () => ['--since', '1h'], BEFORE + 37],
    ['the time before it', () => ['--until', '1h'], 0],
    ['a token in a file', () => ['--token-file', newFile(`X-Token: ${people.staticToken}\n`)], 12],
    ['a token alone in a file', () => ['--token-file', newFile(token)], 25],
  ])('%s', async (_what, words, count) => {
    const { code, stdout } = await decisions([...(await words()), '--count'])
    expect({ code, stdout }).toEqual({ code: count > 0 ? 0 : 1, stdout: `${count}\n` })
  })

  test('a token by its value: of a variable, or typed, and never shown', async () => {
    vi.stubEnv('PORTCULLIS_HEADER', `X-Auth-Token: ${token}`)
    const byVariable = await decisions(['--token', '--count'])
    vi.stubEnv('PORTCULLIS_HEADER', '')
    const terminal = new FakeTerminal(people.staticToken)
    const typed = await decisions(['--token', '--count'], terminal)
    expect([byVariable.stdout, typed.stdout]).toEqual(['25\n', '12\n'])
    expect(terminal.questions).toEqual(['Token (it is not shown): '])
  })

  test('a fingerprint', async () => {
    const { token: fingerprint = '' } = JSON.parse(
      (await decisions(['--json', '--limit', '1'])).stdout,
    ) as LoggedLine
    expect((await decisions(['--fingerprint', fingerprint, '--count'])).stdout).toBe('25\n')
  })
})

test('one decision is explained: the answer to the caller, the user of its token, and the decision of the present rules', async () => {
  const { code, stdout } = await decisions(['--request-id', REQUEST_ID, '--explain'])
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^denied +secrets: TOKEN_KIND_NOT_ACCEPTED\n +`secrets` does not accept an account-scoped IAM token; /,
  )
  expect(stdout).toMatch(/\nuser +service_user account \([0-9a-f]{32}\), account 123456\n/)
  expect(stdout).toMatch(/\nrequest +7f2504e0-4f89-41d3-9a0c-0305e82c3302\n/)
  expect(stdout).toMatch(/\nrules +sha256:[0-9a-f]{64}, the same as now\nnow +the rules decide the same\n/)
  const { matrix, apis } = await opening('secrets')
  const other = await decisions(['--request-id', REQUEST_ID, '--explain', '--matrix', matrix])
  expect(other.stdout).toMatch(/, others than now\nnow +the rules decide otherwise: allowed, ALLOWED/)
  expect(other.stdout).toContain('the sentence is known only with the rules of that time')
  const json = await decisions(['--request-id', REQUEST_ID, '--explain', '--json', '--matrix', matrix])
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ api: apis, names: { subject: 'account' } },
    explained: { rules: 'other', now: { same: false, allowed: true } },
  })
})

/** A matrix in which an API takes every kind. */
async function opening(api: string) {
  const { supportMatrix } = await import('../../matrix/index.ts')
  const changed = structuredClone(supportMatrix) as unknown as {
    apis: { id: string; accepts: string[] }[]
    statements: unknown[]
    conflicts: unknown[]
    tokenKinds: { id: string }[]
  }
  for (const each of changed.apis) if (each.id === api) each.accepts = changed.tokenKinds.map(({ id }) => id)
  changed.statements = []
  changed.conflicts = []
  return { matrix: newFile(JSON.stringify(changed), 'matrix.json'), apis: api }
}

describe('a damaged or foreign line', () => {
  const line = readFileSync(path, 'utf8').split('\n')[0] ?? ''

  test('is counted, and is not an error', async () => {
    const log = newFile(`${line}\nnonsense\n${line.slice(0, 40)}\n`)
    const { code, stdout, stderr } = await decisions([log, '--count'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1\n' })
    expect(stderr).toBe('portcullis: warning: 2 lines cannot be read: damaged, cut, or of no decision log\n')
  })

  test('of another version is shown and named', async () => {
    const log = newFile(line.replace('"reason":"', '"reason":"LATER_'))
    const { code, stdout, stderr } = await decisions([log])
    expect({ code, shown: stdout.includes('LATER_') }).toEqual({ code: 0, shown: true })
    expect(stderr).toMatch(
      /1 decision found of another version of Portcullis, or of another program: reason: expected/,
    )
  })

  test('cannot act on the terminal', async () => {
    const evil = '\u001b[2J\u202e\u0007'
    const hostile = {
      ...(JSON.parse(line) as LoggedLine),
      api: evil,
      subject: { id: evil, type: evil, account: evil },
    }
    const log = newFile(JSON.stringify(hostile))
    for (const words of [[], ['--json'], ['--explain'], ['--count', 'user'], ['--count', 'api', '--json']]) {
      const { code, stdout, stderr } = await decisions([log, ...words])
      expect(code).toBe(0)
      expect(stdout.replaceAll('\n', '') + stderr.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u202e]/)
      expect(stdout).toMatch(/\\u/)
    }
  })

  test('a compressed file that is cut: what is there is found, and the end is not certain', async () => {
    const whole = gzipSync(readFileSync(path))
    const log = newFile('', 'cut.gz')
    writeFileSync(log, whole.subarray(0, whole.length - 20))
    const { code, stderr } = await decisions([log])
    expect(code).toBe(2)
    expect(stderr).toContain('cut.gz cannot be read to its end (Z_BUF_ERROR)')
  })
})

test('files, compressed ones and folders are one answer', async () => {
  const other = newFolder()
  writeFileSync(join(other, 'decisions.log.1.gz'), gzipSync(readFileSync(path)))
  writeFileSync(join(other, 'sidecar.log'), '{"level":30,"msg":"hello"}\n')
  const inFolder = await command(['decisions', other, '--request-id', REQUEST_ID, '--count'])
  expect(inFolder).toMatchObject({ code: 0, stdout: '1\n', stderr: '' })
  const both = await command(['decisions', other, path, '--request-id', REQUEST_ID, '--count'])
  expect(both.stdout).toBe('2\n')
})

test('without the data folder ids stay ids', async () => {
  const { stdout, code } = await command([
    'decisions',
    path,
    '--limit',
    '1',
    '--json',
    '--config',
    newFile(JSON.stringify({ data: newFolder() }), 'a.json'),
  ])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).not.toHaveProperty('names')
})

test('a log that another program has replaced meanwhile is found all the same', async () => {
  const before = (await decisions(['--count'])).stdout
  renameSync(path, `${path}.1`)
  await ask('dns', token)
  await eventually(
    () =>
      readdirSync(join(path, '..')).includes('decisions.log') && readFileSync(path, 'utf8').includes('"dns"'),
  )
  expect(Number((await decisions(['--count'])).stdout)).toBe(Number(before) + 1)
})

describe('is refused', () => {
  const noLog = newFile('{}', 'portcullis.json')
  const toOutput = newFile('{"decision_log":{"stdout":true}}', 'portcullis.json')

  test.each<[what: string, words: readonly string[], message: string]>([
    [
      'no log',
      ['--config', noLog],
      'has no decision log, so decisions are not kept: set `decision_log.file.path`, or name the files of a log',
    ],
    [
      'a log elsewhere',
      ['--config', toOutput],
      'the decisions go to standard output, not to a file: name the files that keep them',
    ],
    ['a file that is missing', ['/nowhere/decisions.log'], '/nowhere/decisions.log cannot be read (ENOENT)'],
    ['a folder without logs', [newFolder()], 'no file there has the lines of a decision log'],
    [
      'a token as a fingerprint',
      [path, '--fingerprint', 'pcst_secretsecretsecret'],
      '--fingerprint: expected 32 hexadecimal digits; --token takes the value of a token',
    ],
    [
      'two ways to name a token',
      [path, '--token', '--fingerprint', 'a'.repeat(32)],
      'expected one of --token, --token-file and --fingerprint',
    ],
    [
      'a token that cannot be typed',
      [path, '--token', '--data', folder],
      '--token: expected the token in PORTCULLIS_HEADER, or a terminal to type it',
    ],
    [
      'a value without a pepper',
      [path, '--token-file', newFile('a'), '--data', newFolder()],
      'a token is found by its value only with the pepper of the sidecar',
    ],
    [
      'an invalid time',
      [path, '--since', 'last tuesday'],
      '--since: expected a day, a time such as 2026-11-22T10:00:00Z, or how long ago, such as 2d',
    ],
    ['an unknown reason', [path, '--reason', 'WHY'], "argument 'WHY' is invalid"],
    ['too many', [path, '--limit', '1000000'], '--limit: expected a whole number from 1 to 100000'],
    ['both verdicts', [path, '--allowed', '--denied'], 'expected --allowed or --denied, not both'],
    [
      'a time that ends before it begins',
      [path, '--since', '1h', '--until', '2h'],
      '--until: expected a time after --since',
    ],
  ])('%s: 2', async (_what, words, message) => {
    const { code, stdout, stderr } = await command(['decisions', ...words])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('secretsecret')
  })
})
