/** The command line for people and scripts: exit codes, JSON on one line, and errors on one line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { command } from '../support/processes/command-line.ts'
import { type Ended, type RunOptions, run } from '../support/processes/processes.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const running = await runSidecar()
const { passwordOf, staticToken } = await populate(running)
const account = ACCOUNT

const ASKED = { PORTCULLIS_GRPC_ADDRESS: running.address, PORTCULLIS_PASSWORD: passwordOf('account') }
Object.assign(process.env, ASKED)
// Commands read files in the current folder by default, which must not be the checkout.
process.chdir(newFolder())

/**
 * Runs a command with the sidecar's address and the password in the environment. It runs in this process
 * unless standard input belongs to it.
 */
const portcullis = (args: readonly string[], { input, environment }: RunOptions = {}) => {
  if (input !== undefined) return run(args, { environment: { ...ASKED, ...environment }, input })
  for (const [name, value] of Object.entries(environment ?? {})) vi.stubEnv(name, value)
  return command(args).finally(() => vi.unstubAllEnvs())
}
const json = ({ stdout }: Ended) => {
  expect(stdout).toMatch(/^[^\n]+\n$/)
  return JSON.parse(stdout) as Record<string, unknown>
}
const ISSUE = ['issue', '--account', account, '--user', 'account']
const CLAIM = ['--kind', 'static_token', '--account', account]

describe('issue and check', () => {
  test('an issued token can be piped into check', async () => {
    const issued = await portcullis(ISSUE)
    expect(issued).toMatchObject({ code: 0, stdout: expect.stringMatching(/^X-Auth-Token: eyJ[\w.-]+\n$/) })
    // The pipe only gets the token. Facts for people are on standard error.
    expect(issued.stderr).toContain(`iam_token_account_scoped, account ${account}, expires `)
    // Written with a delay, as by another command in a pipe.
    const input = new Promise<string>((resolve) => setTimeout(resolve, 100, issued.stdout))
    const checked = await portcullis(['check', 'balance', '-H', '@-'], { input })
    expect(checked).toMatchObject({ code: 0, stderr: '' })
    expect(checked.stdout).toMatch(/^allowed +balance\n/)
    const short = await portcullis(['check', 'balance', '-H', '-'], { input: issued.stdout })
    expect(short).toMatchObject({ code: 0, stderr: '', stdout: checked.stdout })
    const environment = { PORTCULLIS_HEADER: issued.stdout.trim() }
    expect(await portcullis(['check', 'balance'], { environment })).toMatchObject(short)
    // An argument that is given as an option comes first.
    const given = await portcullis(['check', 'balance', '-H', '-'], { environment, input: 'X-Token: none' })
    expect(given).toMatchObject({ code: 1, stdout: expect.stringContaining('CREDENTIAL_INVALID') })
    expect((await portcullis(['check', 'reports', ...CLAIM], { environment })).code).toBe(0)
    const [, value = ''] = issued.stdout.trim().split(': ')
    expect((await portcullis(['revoke', '-H', `X-Auth-Token: ${value}`, '--json'])).code).toBe(0)
    const denied = await portcullis(['check', 'balance', '--json', '-H', issued.stdout.trim()])
    expect(denied.code).toBe(1)
    expect(json(denied)).toMatchObject({ allowed: false, reason: 'CREDENTIAL_REVOKED' })
  })

  test('a token for an API names the conflicts of its cell, for people and for programs', async () => {
    const args = [...ISSUE, '--api', 'cdn', '--project', 'alpha']
    const shown = await portcullis([...args, '--value'])
    const told = await portcullis([...args, '--json'])
    expect(shown.stdout).toMatch(/^eyJ[\w.-]+\n$/)
    expect(shown.stderr).toContain('conflict cdn-project-omission: ')
    expect(json(told)).toMatchObject({
      kind: 'iam_token_project_scoped',
      scope: { account, project: 'alpha' },
    })
  })

  test('the place of a token may be chosen', async () => {
    const placed = (place: string, command = ISSUE) => portcullis([...command, '--place', place])
    expect((await placed('x-auth-token')).stdout).toMatch(/^X-Auth-Token: eyJ/)
    expect((await placed('X-Auth-Token', ['token', '--header', ...ISSUE.slice(1)])).stdout).toMatch(
      /^X-Auth-Token: eyJ/,
    )
    const refused = await placed('Authorization: Bearer')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain(
      'place: expected a place of an account-scoped IAM token that needs no other header: `X-Auth-Token`',
    )
  })

  test.each<[claim: string, args: string[], code: number, answer: object]>([
    ['a claim that is allowed', ['reports', ...CLAIM], 0, { allowed: true, verified: false }],
    ['a genuine static token', ['reports', '-H', `X-Token: ${staticToken}`], 0, { verified: true }],
  ])('check of %s', async (_claim, args, code, answer) => {
    const ended = await portcullis(['check', '--json', ...args])
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(json(ended)).toMatchObject(answer)
  })
})

test('check of a strict sidecar says so', async () => {
  const { address } = await runSidecar({ flags: { strict: true } })
  const check = ['check', 'balance', '--kind', 'static_token', '--account', '1', '--address', address]
  const text = await portcullis(check)
  const printed = await portcullis([...check, '--json'])
  expect(text.stdout).toMatch(/^mode +strict: every contested cell is denied$/m)
  expect(json(printed)).toMatchObject({
    strict: true,
    rules_digest: compile(supportMatrix, { strict: true }).rulesDigest,
  })
})

test('check of an unknown API suggests a known one', async () => {
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
  ])('%j prints one line of JSON', async (args, code, answer) => {
    const ended = await portcullis([...args, '--json'])
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(json(ended)).toMatchObject(answer as object)
  })

  test.each(['explain audit-logs', 'plan iam', 'matrix'])(
    '%s says in its text whether it is strict',
    async (line) => {
      const strict = await portcullis([...line.split(' '), '--strict'])
      const lenient = await portcullis(line.split(' '))
      expect(strict.stdout).toMatch(/, strict$|^ *mode +strict: every contested cell is denied$/m)
      expect(lenient.stdout).not.toMatch(/strict/)
    },
  )
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

  test('a warning says that static tokens were hashed with another pepper', async () => {
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

  test('show of a missing folder fails, and does not create the folder', async () => {
    const data = join(newFolder(), 'mistyped')
    expect(await portcullis(['directory', 'show', '--data', data])).toMatchObject({ code: 2, stdout: '' })
    expect(await portcullis(['directory', 'show', '--data', join(data, '..')])).toMatchObject({ code: 2 })
  })
})
