/**
 * `portcullis agent` and `portcullis token` beside a real sidecar: as processes where they log, read their
 * input or get signals.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { command } from '../support/processes/command-line.ts'
import { run, start } from '../support/processes/processes.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const CALLER_TOKEN = 'agent-caller-token-0123456789abcdefghij'
const folder = join(newFolder(), 'data')
const secrets = await populate(await runSidecar({ folder }))
const callerTokenFile = newFile(`${CALLER_TOKEN}\n`)
const running = await runSidecar({
  folder,
  config: newFile(
    JSON.stringify({
      profiles: {
        nightly: {
          account: ACCOUNT,
          user_name: 'account',
          password_file: newFile(secrets.passwordOf('account')),
          static_token_file: newFile(secrets.staticToken),
        },
      },
      callers: [{ name: 'agent', token_file: callerTokenFile, profiles: ['nightly'] }],
    }),
    'portcullis.json',
  ),
})

const byProfile = [
  '--address',
  running.address,
  '--profile',
  'nightly',
  '--caller-token-file',
  callerTokenFile,
]
const opens = async (api: string, value: string, header = 'X-Auth-Token') =>
  (await running.client.check({ api, credentials: [[header, value.trim()]] })).allowed

/** A file of the agent's configuration. */
function configOf(tokens: readonly object[], more: object = {}): string {
  return JSON.stringify({
    sidecar: { address: running.address, caller_token_file: callerTokenFile },
    check_interval_ms: 100,
    ...more,
    tokens: tokens.map((token) => ({ profile: 'nightly', ...token })),
  })
}

describe('portcullis token', () => {
  test('prints the token alone', async () => {
    const { code, stdout, stderr } = await command([
      'token',
      ...byProfile,
      '--api',
      'cdn',
      '--project',
      'alpha',
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await opens('cdn', stdout)).toBe(true)
  })

  test.each([
    ['--header', /^X-Token: pcst_\S+\n$/],
    [
      '--exec-credential',
      /^\{"apiVersion":"client\.authentication\.k8s\.io\/v1","kind":"ExecCredential","status":\{"token":"pcst_\w+"\}\}\n$/,
    ],
    ['--json', /^\{"header":"X-Token","value":"pcst_\w+",.*"kind":"static_token".*\}\n$/],
  ])('%s', async (option, printed) => {
    const { code, stdout, stderr } = await command(['token', ...byProfile, '--api', 'reports', option])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(printed)
  })

  test('does not print a token that an API has just refused, and no process list shows it', async () => {
    const asked = ['token', ...byProfile, '--api', 'balance']
    const first = (await command(asked)).stdout
    expect((await command(asked)).stdout).toBe(first)
    const { code, stdout, stderr } = await run([...asked, '--rejected-file', '-'], { input: first })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toBe(first)
    expect(await opens('balance', stdout)).toBe(true)
    const file = newFile(`X-Auth-Token: ${first}`)
    expect((await command([...asked, '--rejected-file', file])).stdout).toBe(stdout)
  })

  test.each([
    ['of a user with a password', ['--user', 'account', '--account', ACCOUNT], 'expected --profile with it'],
    ['in an empty file', byProfile.slice(2), '--rejected-file: expected a secret in the first line'],
  ])('a refused token %s is an error', async (_what, requester, problem) => {
    const rejected = ['--rejected-file', newFile('')]
    const asked = ['token', '--address', running.address, ...requester, '--api', 'balance', ...rejected]
    const { code, stdout, stderr } = await command(asked)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(problem)
  })

  test('in two forms at once is refused', async () => {
    const { code, stdout, stderr } = await command([
      'token',
      ...byProfile,
      '--api',
      'cdn',
      '--header',
      '--json',
    ])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('expected one of --header, --exec-credential and --json')
  })

  test('without an answer prints nothing', async () => {
    const { code, stdout, stderr } = await command(['token', ...byProfile, '--api', 'cdn'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('expected a project name')
  })
})

describe('portcullis agent --once', () => {
  test('writes every file and ends with 0', async () => {
    const out = newFolder()
    const config = newFile(
      configOf([
        { apis: ['cdn'], project: 'alpha', file: join(out, 'cdn'), format: 'header', mode: '0640' },
        { apis: ['reports'], file: join(out, 'reports'), format: 'json' },
        { scope: { account: ACCOUNT }, file: join(out, 'account'), format: 'env' },
      ]),
    )
    const { code, stderr } = await run(['agent', '--config', config, '--once'])
    expect(code).toBe(0)
    const header = readFileSync(join(out, 'cdn'), 'utf8')
    expect(await opens('cdn', header.replace(/^X-Auth-Token: /, ''))).toBe(true)
    expect((statSync(join(out, 'cdn')).mode & 0o777).toString(8)).toBe('640')
    expect(JSON.parse(readFileSync(join(out, 'reports'), 'utf8'))).toMatchObject({ kind: 'static_token' })
    expect(readFileSync(join(out, 'account'), 'utf8')).toMatch(/^PORTCULLIS_TOKEN=\S+\n/)
    for (const line of stderr.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 30 })
    expect(stderr).not.toContain(secrets.staticToken)
  })

  test('ends with 2 if a file is missing, and writes the others', async () => {
    const out = newFolder()
    const config = newFile(
      configOf([
        { apis: ['cdn'], file: join(out, 'refused') },
        { apis: ['balance'], file: join(out, 'placed'), place: 'Authorization: Bearer' },
        { apis: ['balance'], file: join(out, 'balance'), place: 'X-Auth-Token' },
      ]),
    )
    const { code, stderr } = await run(['agent', '--config', config, '--once'])
    expect(code).toBe(2)
    expect(stderr).toContain('expected a project name')
    expect(stderr).toContain('place: expected a place of an account-scoped IAM token')
    const exist = ['refused', 'placed', 'balance'].map((name) => existsSync(join(out, name)))
    expect(exist).toEqual([false, false, true])
  })

  test.each<[claim: string, config: string, problem: string]>([
    ['an invalid configuration', '{}', 'tokens: expected this field, it is missing'],
    [
      'an unknown user',
      configOf([{ apis: ['cdn'], file: 'f', owner: 'no-such-user' }]),
      'tokens[0].owner: expected the name of a user, or a number',
    ],
    [
      'an invalid address',
      configOf([{ apis: ['cdn'], file: 'f' }], { sidecar: { address: 'x' } }),
      'expected HOST:PORT or unix:PATH',
    ],
  ])('ends with 2 for %s', async (_claim, config, problem) => {
    const { code, stdout, stderr } = await command(['agent', '--config', newFile(config), '--once', '--json'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr).error.message).toContain(problem)
  })
})

test('a revoked token is replaced, SIGHUP reads the configuration again, SIGTERM ends the agent and leaves the files', async () => {
  const out = newFolder()
  const [first, second] = [join(out, 'first'), join(out, 'second')]
  const config = newFile(configOf([{ apis: ['balance'], file: first }]))
  const agent = start(['agent', '--config', config])
  const token = await eventually(() => existsSync(first) && readFileSync(first, 'utf8'))
  expect(await opens('balance', token)).toBe(true)

  await running.client.revoke({ value: token.trim() })
  const next = await eventually(() => {
    const text = readFileSync(first, 'utf8')
    return text !== token && text
  })
  expect(await opens('balance', next)).toBe(true)

  writeFileSync(config, '{')
  agent.signal('SIGHUP')
  await agent.until(() => agent.stderr().includes('the last good one stays in force'))

  writeFileSync(
    config,
    configOf([
      { apis: ['balance'], file: first },
      { apis: ['reports'], file: second },
    ]),
  )
  agent.signal('SIGHUP')
  await eventually(() => existsSync(second))
  expect(readFileSync(first, 'utf8')).toBe(next)

  const { code, stderr } = await agent.stop()
  expect(code).toBe(0)
  expect([readFileSync(first, 'utf8'), existsSync(second)]).toEqual([next, true])
  for (const secret of [token.trim(), next.trim(), CALLER_TOKEN, secrets.staticToken])
    expect(stderr).not.toContain(secret)
})

describe('portcullis agent --exit-without-token', () => {
  test('ends with 2 where there is no token', async () => {
    const file = join(newFolder(), 'token')
    const config = newFile(
      configOf([{ apis: ['balance'], file }], { sidecar: { address: `unix:${newFolder()}/nobody` } }),
    )
    const { code, stderr } = await run(['agent', '--config', config, '--exit-without-token'])
    expect(code).toBe(2)
    expect(stderr).toContain('the file has no valid token; the agent ends')
  })

  test('runs on with one, also when that is replaced', async () => {
    const file = join(newFolder(), 'token')
    // A sidecar on a busy machine must still count as one that answers.
    const sidecar = { address: running.address, caller_token_file: callerTokenFile, deadline_ms: 60_000 }
    const config = newFile(configOf([{ apis: ['balance'], file }], { sidecar }))
    const agent = start(['agent', '--config', config, '--exit-without-token'])
    const token = await eventually(() => existsSync(file) && readFileSync(file, 'utf8'))
    await running.client.revoke({ value: token.trim() })
    await eventually(() => readFileSync(file, 'utf8') !== token)
    expect((await agent.stop()).code).toBe(0)
  })
})

test('the caller token is read again', async () => {
  const out = join(newFolder(), 'token')
  const withdrawn = newFile('a-caller-token-that-nobody-has-0123456789')
  const config = newFile(
    configOf([{ apis: ['balance'], file: out }], {
      sidecar: { address: running.address, caller_token_file: withdrawn },
    }),
  )
  const agent = start(['agent', '--config', config])
  await agent.until(() => agent.stderr().includes('CALLER_TOKEN_INVALID'))
  writeFileSync(`${withdrawn}.new`, CALLER_TOKEN)
  renameSync(`${withdrawn}.new`, withdrawn)
  await eventually(() => existsSync(out))
  expect(await opens('balance', readFileSync(out, 'utf8'))).toBe(true)
  rmSync(out)
  await eventually(() => existsSync(out))
  expect((await agent.stop()).code).toBe(0)
})
