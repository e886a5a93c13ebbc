/**
 * No secret comes out of the command line: of flags, variables, files with mistakes in them, and of what it
 * asks a sidecar.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { command } from '../support/processes/command-line.ts'
import { serve } from '../support/processes/processes.ts'
import { workersOf } from '../support/processes/worker-storm.ts'
import { KEY } from '../support/proxies/self-signed.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'
import { shownIn } from './search.ts'
import { CANARY, secretOf, secretsIn } from './stage.ts'

const running = await runSidecar()
const people = await populate(running)
const token = (await issued(running, people)).value
const { folder, address } = running
const secrets = {
  ...{ canary: CANARY, ...secretsIn(folder), token: secretOf(token), staticToken: people.staticToken },
  ...{ password: people.passwordOf('account'), tlsKey: KEY.split('\n')[1]?.slice(24) ?? '' },
}
const at = ['--address', address]
const json = (value: object) => newFile(JSON.stringify(value), 'portcullis.json')
const yaml = (text: string) => newFile(text, 'portcullis.yaml')

/** A valid configuration with a secret in every key that may hold one, or a part of one. */
const FULL = json({
  data: folder,
  grpc: { address: '127.0.0.1:0' },
  http: { address: '127.0.0.1:0' },
  directory: { url: `postgres://portcullis:${CANARY}@127.0.0.1:1/db?application_name=${CANARY}` },
  decision_log: { otlp: { url: `http://127.0.0.1:1/v1/logs?api-key=${CANARY}` } },
  upstreams: { central: { auth_url: 'http://127.0.0.1:1' } },
  routes: [{ path: '/items/', api: 'balance' }],
  profiles: {
    job: { upstream: 'central', account: 'a', user_name: 'b', password_command: ['/bin/echo', CANARY] },
    other: { account: 'a', user_name: 'b', password_file: newFile(people.passwordOf('account')) },
  },
  callers: [{ name: 'a', token_sha256: hash('sha256', CANARY) }],
})

interface CommandRow {
  readonly what: string
  readonly words: readonly string[]
  readonly variables?: Readonly<Record<string, string>>
}

const asks: readonly CommandRow[] = [
  { what: 'a token in a flag', words: ['check', 'balance', '-H', `X-Auth-Token: ${token}`, ...at] },
  {
    what: 'a token in a flag, as JSON',
    words: ['check', 'balance', '-H', `X-Auth-Token: ${token}x`, '--json', ...at],
  },
  {
    what: 'a token in a file',
    words: ['check', 'iam', '-H', `@${newFile(`X-Token: ${people.staticToken}`)}`, ...at],
  },
  {
    what: 'a token in a variable',
    words: ['check', 'balance', ...at],
    variables: { PORTCULLIS_HEADER: `X-Token: ${CANARY}` },
  },
  { what: 'a header without a name', words: ['check', 'balance', '-H', CANARY, ...at] },
  {
    what: 'a variable without a name',
    words: ['check', 'balance', ...at],
    variables: { PORTCULLIS_HEADER: CANARY },
  },
  { what: 'a header with a line break', words: ['check', 'balance', '-H', `X-Token: a\n${CANARY}`, ...at] },
  {
    what: 'a file that is no header',
    words: ['check', 'balance', '-H', `@${newFile(`${CANARY}\n${CANARY}`)}`, ...at],
  },
  {
    what: 'a header of an unknown sidecar',
    words: ['check', 'balance', '-H', `X-Token: ${CANARY}`, '--address', '127.0.0.1:1'],
  },
  {
    what: 'a token for another machine',
    words: ['check', 'balance', '-H', `X-Token: ${CANARY}`, '--address', '192.0.2.1:50051'],
  },
  {
    what: 'a password in an address',
    words: [
      'check',
      'balance',
      '--kind',
      'static_token',
      '--account',
      '1',
      '--address',
      `user:${CANARY}@127.0.0.1:1`,
    ],
  },
  {
    what: 'a login that is denied',
    words: ['issue', '--account', ACCOUNT, '--user', 'account', '--project', 'nosuch', ...at],
    variables: { PORTCULLIS_PASSWORD: people.passwordOf('account') },
  },
  {
    what: 'a wrong password',
    words: ['issue', '--account', ACCOUNT, '--user', 'account', ...at],
    variables: { PORTCULLIS_PASSWORD: CANARY },
  },
  {
    what: 'a password in a file',
    words: ['issue', '--account', ACCOUNT, '--user', 'alpha', '--password-file', newFile(CANARY), ...at],
  },
  {
    what: 'a caller token that is no text',
    words: ['issue', '--profile', 'job', '--caller-token-file', newFile(`${CANARY}é`), ...at],
  },
  {
    what: 'an unknown caller token',
    words: ['issue', '--profile', 'job', '--account', ACCOUNT, '--caller-token-file', newFile(CANARY), ...at],
  },
  { what: 'a revocation of no token', words: ['revoke', '-H', `X-Auth-Token: ${CANARY}`, ...at] },
  {
    what: 'an IAM token that is none',
    words: ['project', 'list', ACCOUNT, '--iam-token-file', newFile(CANARY), ...at],
  },
  { what: 'the audit trail', words: ['audit', 'export', '--data', folder, ...at] },
  { what: 'static tokens', words: ['static-token', 'list', ACCOUNT, 'owner', '--data', folder, ...at] },
]

const reads: readonly CommandRow[] = [
  { what: 'every value of a configuration', words: ['config', 'show', '--config', FULL] },
  { what: 'every value of a configuration, as JSON', words: ['config', 'show', '--config', FULL, '--json'] },
  { what: 'a check of a configuration', words: ['config', 'validate', '--config', FULL] },
  { what: 'a doctor', words: ['doctor', '--config', FULL] },
  { what: 'a doctor, as JSON', words: ['doctor', '--config', FULL, '--json'] },
  { what: 'a profile whose upstream is down', words: ['profile', 'test', 'job', '--config', FULL] },
  {
    what: 'a URL in a variable',
    words: ['config', 'show'],
    variables: { PORTCULLIS_DIRECTORY_URL: `postgres://a:${CANARY}@b/c` },
  },
  {
    what: 'a database that is down',
    words: ['migrate', '--check'],
    variables: { PORTCULLIS_DIRECTORY_URL: `postgres://a:${CANARY}@127.0.0.1:1/c` },
  },
  {
    what: 'a URL that is none',
    words: ['doctor'],
    variables: { PORTCULLIS_DIRECTORY_URL: `postgres//a:${CANARY}@b` },
  },
  ...[
    'GRPC_ADDRESS',
    'DRAIN_MS',
    'STRICT',
    'LOG_LEVEL',
    'LOG_FORMAT',
    'HTTP_PUBLIC_URL',
    'UNKNOWN',
    'DATTA',
    'HTTP_ADDRESS',
  ].map(
    (name): CommandRow => ({
      what: `a secret as PORTCULLIS_${name}`,
      words: ['doctor', '--data', folder],
      variables: { [`PORTCULLIS_${name}`]: CANARY },
    }),
  ),
  ...['--log-level', '--log-format', '--workers'].map(
    (flag): CommandRow => ({ what: `a secret as ${flag}`, words: ['config', 'validate', flag, CANARY] }),
  ),
  ...[
    ['YAML that is broken', `http:\n  address: "${CANARY}\n`],
    ['YAML with a secret where a group is', `http: ${CANARY}\n`],
    ['YAML without a space', `password_file:${CANARY}\n`],
    ['YAML with a tab', `http:\n\taddress: ${CANARY}\n`],
    ['YAML with an unknown anchor', `data: *${CANARY}\n`],
    ['a number that is a secret', `drain_ms: ${CANARY}\n`],
    ['an unknown key with a secret', `callers:\n- name: a\n  token: ${CANARY}\n`],
    ['a key twice', `data: ${CANARY}\ndata: ${CANARY}\n`],
    ['a control character', `data: "${CANARY}\\u0007"\n`],
    ['a URL with a password', `upstreams:\n  a:\n    auth_url: "http://a:${CANARY}@b"\n`],
    ['a URL with a space', `upstreams:\n  a:\n    auth_url: "http://a:${CANARY}@b c"\n`],
    [
      'a profile with two passwords',
      `profiles:\n  a: {account: a, user_name: b, password_env: A, password_command: [${CANARY}]}\n`,
    ],
    ['a role that is a secret', `callers:\n- {name: a, token_sha256: "${CANARY}", rights: ["${CANARY}"]}\n`],
  ].flatMap(([what = '', text = '']): CommandRow[] =>
    ['validate', 'show'].map((word) => ({
      what: `${what}: config ${word}`,
      words: ['config', word, '--config', yaml(text)],
    })),
  ),
  {
    what: 'JSON that is broken',
    words: ['doctor', '--config', newFile(`{"data": "${CANARY}", "callers": [`, 'a.json')],
  },
  {
    what: 'a matrix that is broken',
    words: ['matrix', 'lint', newFile(`{"tokenKinds": "${CANARY}"`, 'a.json')],
  },
  { what: 'a matrix that is none', words: ['matrix', 'lint', json({ tokenKinds: [CANARY] })] },
  {
    what: 'a decision log that is none',
    words: ['replay', newFile(`${CANARY}\n{"api":"${CANARY}"\n{"time":["${CANARY}"]}\n`)],
  },
  {
    what: 'a search of a log that is none',
    words: ['decisions', newFile(`${CANARY}\n{"time":"${CANARY}","api":1}\n{"time":["${CANARY}"]}\n`)],
  },
  {
    what: 'a search for a token in a file',
    words: ['decisions', newFile('{}'), '--data', folder, '--token-file', newFile(`X-Token: ${CANARY}`)],
  },
  {
    what: 'a search for a token in a variable, explained',
    words: ['decisions', newFile('{}'), '--data', folder, '--token', '--explain', '--json'],
    variables: { PORTCULLIS_HEADER: `X-Auth-Token: ${token}` },
  },
  { what: 'a token as a fingerprint', words: ['decisions', newFile('{}'), '--fingerprint', CANARY] },
  {
    what: 'a directory file that is broken',
    words: ['directory', 'apply', '--data', folder, yaml(`accounts:\n- account: "1\n  password: ${CANARY}`)],
  },
  { what: 'a backup that is none', words: ['restore', newFile(CANARY), '--data', newFolder()] },
  { what: 'the keys', words: ['keys', 'show', '--data', folder] },
  { what: 'the public keys', words: ['keys', 'public', '--data', folder] },
  {
    what: 'a route for a URL',
    words: ['route', 'explain', 'GET', `https://api.example/items/?token=${CANARY}`, '--config', FULL],
  },
  { what: 'a health check of a password', words: ['health', '--address', `http://a:${CANARY}@127.0.0.1:1`] },
]

afterEach(() => void vi.unstubAllEnvs())

test.each([...asks, ...reads])('$what', async ({ words, variables = {} }) => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  const { stdout, stderr } = await command(words)
  expect(stdout + stderr).not.toBe('')
  expect(shownIn(stdout + stderr, secrets)).toEqual([])
  expect(shownIn(running.logLines.join(''), secrets)).toEqual([])
})

test('a token that is asked for is on standard output, and the search finds it', async () => {
  vi.stubEnv('PORTCULLIS_PASSWORD', people.passwordOf('account'))
  const { stdout, stderr } = await command(['token', '--account', ACCOUNT, '--user', 'account', ...at])
  expect(shownIn(stdout, { made: secretOf(stdout.trim()), ...secrets })).toEqual(['made'])
  expect(stderr).toBe('')
})

test('a backup has no secret, and the file of the keys has those that it is for', async () => {
  const [file, keys] = [join(newFolder(), 'directory'), join(newFolder(), 'keys')]
  const { code, stdout, stderr } = await command(['backup', file, '--keys', keys, '--data', folder])
  expect({ code, shown: shownIn(stdout + stderr, secrets) }).toEqual({ code: 0, shown: [] })
  expect(shownIn(readFileSync(file), secrets)).toEqual([])
  expect(shownIn(readFileSync(keys), secrets)).toEqual(['pepper', 'activeKey', 'stagedKey'])
})

describe.each<[processes: string, args: string[]]>([
  ['a sidecar', []],
  ['a sidecar with workers', ['--workers', '2']],
])('the processes of %s', (_processes, args) => {
  test('show no secret in their titles, their command lines, their output and their snapshots', async () => {
    const data = join(newFolder(), 'data')
    const config = json({
      profiles: { job: { account: ACCOUNT, user_name: 'a', password_env: 'PASSWORD_OF_JOB' } },
      callers: [{ name: 'a', token_file: newFile(CANARY), profiles: ['job'] }],
    })
    const environment = { PASSWORD_OF_JOB: CANARY, PORTCULLIS_LOG_LEVEL: 'trace' }
    const served = await serve(['--data', data, '--config', config, ...args], { environment })
    const pids = args.length > 0 ? workersOf(served) : [served.pid]
    served.signal('SIGUSR2')
    const snapshots = await eventually(() => {
      const files = pids.map((pid) => join(data, `diagnostics-${pid}.json`))
      return served.stderr().split('snapshot was written').length > pids.length && files
    })
    const own = { canary: CANARY, ...secretsIn(data) }
    const titles = [served.pid, ...pids].flatMap((pid) =>
      ['cmdline', 'comm'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8')),
    )
    expect(shownIn(titles.join('\n'), own)).toEqual([])
    expect(shownIn(snapshots.map((file) => readFileSync(file, 'utf8')).join(''), own)).toEqual([])
    // Workers get the environment of their primary, which only their user can read. A password of it rightly
    // stays there.
    const { stdout, stderr } = await served.stop()
    expect(shownIn(stdout + stderr, own)).toEqual([])
  })
})
