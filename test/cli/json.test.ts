/**
 * The JSON of every command is one line with keys in snake case. Messages of the contract keep the contract's
 * field names.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { ROWS } from '../../sidecar/cli/administration/administration-rows.ts'
import { everyCommand } from '../../sidecar/cli/empty-program.ts'
import { buildProgram } from '../../sidecar/cli/program.ts'
import { keysIn, messageOf, offencesIn, SNAKE_CASE } from '../support/contract/contract-json.ts'
import { command } from '../support/processes/command-line.ts'
import { serve } from '../support/processes/processes.ts'
import { ACCOUNT, PEOPLE, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const running = await runSidecar()
const secrets = await populate(running)
process.env.PORTCULLIS_GRPC_ADDRESS = running.address
const people = newFile(JSON.stringify(PEOPLE), 'people.json')
const password = newFile(secrets.passwordOf('account'))
const issuing = ['issue', '--account', ACCOUNT, '--user', 'account', '--password-file', password]
const issued = JSON.parse((await command([...issuing, '--json'])).stdout) as { header: string; value: string }
const token = newFile(`${issued.header}: ${issued.value}\n`)
const data = ['--data', running.folder]
const profiles = newFile(
  JSON.stringify({
    data: running.folder,
    profiles: {
      job: { account: ACCOUNT, user_name: 'account', password_file: newFile(secrets.passwordOf('account')) },
    },
  }),
)

const backup = join(newFolder(), 'directory.backup')
const matrixFile = newFile(JSON.stringify(supportMatrix))
const EXAMPLES = join(import.meta.dirname, '../../examples/matrices')
const routes = newFile(JSON.stringify({ routes: [{ path: '/', api: 'balance' }] }))

interface Row {
  readonly args: readonly string[]
  /** The contract's message for the answer. */
  readonly message?: string
  /** The contract's messages for parts of the answer. */
  readonly parts?: (json: never) => readonly (readonly [part: unknown, message: string])[]
  readonly code?: number
}

const ROWS_HERE: readonly Row[] = [
  { args: ['check', 'balance', '-H', `@${token}`], message: 'CheckResponse' },
  { args: ['check', 'audit-logs', '-H', `@${token}`], message: 'CheckResponse' },
  { args: ['check', 'iam', '--kind', 'static_token', '--account', '1'], message: 'CheckResponse', code: 1 },
  { args: [...issuing, '--project', 'alpha', '--api', 'cdn'], message: 'IssueResponse' },
  {
    args: ['token', ...issuing.slice(1), '--project', 'alpha', '--api', 'cdn'],
    message: 'IssueResponse',
  },
  { args: ['revoke', '-H', `@${token}`], message: 'RevokeResponse' },
  { args: ['matrix'], message: 'Matrix' },
  { args: ['matrix', '--strict'], message: 'Matrix' },
  { args: ['matrix', 'diff', matrixFile, matrixFile] },
  { args: ['matrix', 'query', 'contested'] },
  { args: ['matrix', 'import', join(EXAMPLES, 'documents/twilio.html')] },
  { args: ['matrix', 'export'] },
  { args: ['matrix', 'source', '--matrix', join(EXAMPLES, 'twilio.yaml')] },
  { args: ['plan', ...supportMatrix.apis.map(({ id }) => id)], message: 'PlanResponse' },
  { args: ['plan', 'cdn', '--strict'], message: 'PlanResponse', code: 1 },
  {
    args: ['explain', 'audit-logs'],
    parts: (explanations: readonly { readonly decision: object }[]) =>
      explanations.map(({ decision }) => [decision, 'CheckResponse'] as const),
  },
  { args: ['matrix', 'lint'] },
  { args: ['health'] },
  { args: ['config', 'show', ...data] },
  { args: ['config', 'validate', ...data] },
  { args: ['doctor', ...data] },
  { args: ['migrate', ...data] },
  { args: ['backup', backup, ...data] },
  { args: ['restore', backup, '--check', ...data] },
  { args: ['replay', newFile('')] },
  { args: ['replay', newFile('nonsense')], code: 1 },
  {
    args: ['directory', 'show', ...data],
    parts: ({ accounts }: { readonly accounts: readonly Listed[] }) =>
      accounts.flatMap(({ service_users, control_panel_users }) => [
        ...service_users.map((user) => [user, 'ServiceUser'] as const),
        ...control_panel_users.flatMap(({ static_tokens, ...user }) => [
          [user, 'ControlPanelUser'] as const,
          // Here: whether it is revoked. In the contract: when.
          ...static_tokens.map(({ revoked: _, ...token }) => [token, 'StaticToken'] as const),
        ]),
      ]),
  },
  // Before the password is replaced below.
  { args: ['profile', 'list', '--config', profiles] },
  { args: ['profile', 'test', 'job', '--config', profiles] },
  { args: ['route', 'explain', 'GET', '/', '--config', routes] },
  { args: ['directory', 'apply', people, ...data] },
  { args: ['directory', 'replace-password', ACCOUNT, 'account', ...data] },
  { args: ['keys', 'show', ...data] },
  { args: ['caller', 'new', 'helpdesk', '--right', 'revoke'] },
]

interface Listed {
  readonly service_users: readonly object[]
  readonly control_panel_users: readonly {
    readonly static_tokens: readonly { readonly revoked: boolean }[]
  }[]
}

test.each(ROWS_HERE)('$args', async ({ args, message, parts, code = 0 }) => {
  const ended = await command([...args, '--json'])
  expect(ended).toMatchObject({ code, stderr: '' })
  expect(ended.stdout).toMatch(/^[^\n]+\n$/)
  const json = JSON.parse(ended.stdout) as never
  const keys = keysIn(json)
  expect(keys).not.toHaveLength(0)
  expect(keys.filter((key) => !SNAKE_CASE.test(key))).toEqual([])
  if (message !== undefined) expect(offencesIn(json, messageOf(message))).toEqual([])
  const found = parts?.(json)
  if (found !== undefined) expect(found).not.toHaveLength(0)
  for (const [part, name] of found ?? []) expect(offencesIn(part, messageOf(name))).toEqual([])
})

test('serve', async () => {
  const { ready, signal, ended } = await serve(['--dev'])
  expect(keysIn(ready).filter((key) => !SNAKE_CASE.test(key))).toEqual([])
  signal('SIGTERM')
  expect(await ended).toMatchObject({ code: 0 })
})

test('keys rotate', async () => {
  const folder = newFolder()
  // A key must be staged for some time before it may sign.
  const aged = readFileSync(join(running.folder, 'signing-keys.json'), 'utf8').replaceAll(
    /"since_ms": ?\d+/g,
    '"since_ms":1',
  )
  writeFileSync(join(folder, 'signing-keys.json'), aged, { mode: 0o600 })
  const { code, stdout } = await command(['keys', 'rotate', '--data', folder, '--json'])
  expect(code).toBe(0)
  const { keys } = JSON.parse(stdout) as { keys: object[] }
  const entry = { key_id: expect.any(String), since: expect.stringMatching(/Z$/) }
  expect(keys).toEqual(['retired', 'active', 'staged'].map((state) => ({ ...entry, state })))
})

test('there is no other command with --json', () => {
  const path = ({ args }: { readonly args: readonly string[] }) =>
    ['directory', 'keys', 'caller', 'config', 'profile', 'route', 'matrix'].includes(args[0] ?? '')
      ? args.slice(0, args[1]?.startsWith('-') ? 1 : 2).join(' ')
      : args[0]
  const held = [
    ...ROWS_HERE.map(path),
    'serve',
    // test/decision-log/decisions.test.ts
    'decisions',
    // test/cli/matrix-test-reports.test.ts
    'matrix test',
    // test/agent/process.test.ts
    'agent',
    'keys rotate',
    // test/cli/matrix-edit.test.ts
    ...['matrix init', 'matrix accept', 'matrix reject', 'matrix rename', 'matrix resolve'],
    ...['add api', 'add kind', 'add statement'],
    // test/cli/matrix-rollout.test.ts
    ...['matrix shadow', 'matrix promote', 'matrix rollback'],
    // test/interop/postgres/lost-changes.test.ts
    'directory lost',
    // test/administration/withdrawal.test.ts
    'keys withdraw',
    // test/administration/json.test.ts
    ...ROWS.map(({ group, verb }) => `${group} ${verb}`),
  ]
  const having = everyCommand(buildProgram())
    .filter((each) => each.options.some(({ long }) => long === '--json'))
    .map((each) => (each.parent?.parent === null ? each.name() : `${each.parent?.name()} ${each.name()}`))
  expect([...new Set(held)].sort()).toEqual(having.sort())
})

describe('the JSON', () => {
  const read = async (...args: string[]) => JSON.parse((await command([...args, '--json'])).stdout)

  test('of a decision says how long it may be reused, or has no such key if it may not be reused', async () => {
    expect(await read('check', 'iam', '--kind', 'static_token', '--account', '1')).toMatchObject({
      cache_for: expect.stringMatching(/^\d+s$/),
    })
    expect(await read('check', 'iam', '-H', 'X-Token: nonsense')).not.toHaveProperty('cache_for')
  })
})
