/** The texts of the panel of a cell, of the plan and of the commands. */
import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { cellView } from '../../console/model/cell.ts'
import { planView } from '../../console/model/plan.ts'
import { rulesOf } from '../../console/model/rules.ts'
import { checkVariable, quoted, READ_TOKEN, requestCommand } from '../../console/model/shell.ts'
import { readIssuanceBody } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND, strictEngine } from '../support/matrices/engines.ts'
import { cells } from '../support/matrices/oracle.ts'
import { newFile } from '../support/suite/resources.ts'

const rules = rulesOf(supportMatrix, 'resolved')

test('a cell of a matrix that was read from a document has the document and its lines', () => {
  const source = { document: 'docs/tokens.md', digest: `sha256-${'0'.repeat(64)}` }
  const apis = supportMatrix.apis.map((api) => (api.id === 'cdn' ? { ...api, line: 9 } : api))
  const view = cellView(
    rulesOf({ ...supportMatrix, source, apis }, 'resolved'),
    'resolved',
    'cdn',
    PROJECT_KIND,
  )
  expect(view).toMatchObject({ document: source, row: { line: 9 } })
  expect(cellView(rules, 'resolved', 'cdn', PROJECT_KIND)?.document).toBeUndefined()
})

test('the panel has both sides of a contradiction in the words of the source', () => {
  const view = cellView(rules, 'resolved', 'audit-logs', PROJECT_KIND)
  expect(view).toMatchObject({
    marked: false,
    decision: { allowed: false, reason: 'TOKEN_KIND_NOT_ACCEPTED' },
    row: { title: 'Audit logs', section: '§5.4' },
    conflicts: [
      {
        conflict: { id: 'audit-logs-project-contradiction', resolution: 'table' },
        sayings: [
          { silent: false, statement: { section: '§5.3', text: expect.stringContaining('audit logs.') } },
        ],
      },
    ],
    otherMode: undefined,
  })
})

test('of an omission it says that the list is silent, and what strict mode would answer', () => {
  expect(cellView(rules, 'resolved', 'cdn', PROJECT_KIND)).toMatchObject({
    marked: true,
    decision: { allowed: true },
    conflicts: [{ sayings: [{ silent: true, statement: { id: 'project-manages' } }] }],
    otherMode: { allowed: false, reason: 'CONTESTED' },
  })
  expect(cellView(rules, 'strict', 'cdn', PROJECT_KIND)).toMatchObject({
    decision: { reason: 'CONTESTED' },
    otherMode: { reason: 'ALLOWED' },
  })
})

test('a cell without a conflict has what the prose says of it', () => {
  expect(cellView(rules, 'resolved', 'iam', ACCOUNT_KIND)).toMatchObject({
    conflicts: [],
    agreeing: [{ silent: false, statement: { id: 'account-manages' } }],
  })
})

test('every cell has a panel, with the decision of the engine; others have none', () => {
  for (const { api, kind, accepted } of cells())
    expect(cellView(rules, 'resolved', api, kind)?.decision.allowed).toBe(accepted)
  expect(cellView(rules, 'resolved', 'other', STATIC_KIND)).toBeUndefined()
  expect(cellView(rules, 'resolved', 'iam', 'other')).toBeUndefined()
})

test('the login is the body of §2.2, for the scope of the kind', () => {
  const login = cellView(rules, 'resolved', 'cdn', PROJECT_KIND)?.login ?? ''
  const password = 'a"b\\c $HOME `id`'
  const folder = dirname(newFile(`${password}\nnot this`, 'password.txt'))
  const sent = execFileSync('sh', ['-c', `curl() { cat; }; ${login}`], { encoding: 'utf8', cwd: folder })
  expect(readIssuanceBody(JSON.parse(sent))).toMatchObject({
    ok: true,
    issuance: { password, scope: { account: '<account_id>', project: '<project_name>' } },
  })
  expect(cellView(rules, 'resolved', 'tickets', STATIC_KIND)?.login).toBeUndefined()
})

test('a plan has the tokens, what each needs, and commands', () => {
  const plan = planView(engine, ['cdn', 'iam', 'reports', 'other'])
  expect(plan).toMatchObject({
    tokens: [
      { kind: { id: ACCOUNT_KIND }, apis: [{ id: 'iam', title: 'IAM (users and roles)', contested: false }] },
      {
        kind: { id: PROJECT_KIND },
        apis: [{ id: 'cdn', contested: true }],
        issue: expect.stringContaining(' --api cdn'),
      },
      {
        kind: { id: STATIC_KIND },
        issue: undefined,
        login: undefined,
        request: 'echo "X-Token: $TOKEN" | curl -H @- "$BASE_URL"',
      },
    ],
    unopened: [],
    unknown: ['other'],
    command: 'npx --no-install portcullis plan cdn iam reports',
  })
  expect(planView(strictEngine, ['cdn'])).toMatchObject({
    tokens: [],
    unopened: ['cdn'],
    command: 'npx --no-install portcullis plan cdn --strict',
  })
  expect(planView(engine, []).command).toBeUndefined()
})

test.each(['cdn', '', 'a b', "it's", '$(id)', '`id`', '"', '\\', '-x', 'a\nb', '*', '~', '!', '#'])(
  'a shell takes %j as one word',
  (word) => {
    expect(execFileSync('sh', ['-c', `printf %s ${quoted(word)}`], { encoding: 'utf8' })).toBe(word)
  },
)

test.each([
  ...['X-Token', "X-It's", 'X-$HOME', 'X-`id`', 'X-!'].map((header) => [header, undefined] as const),
  ...[['Authorization', 'Bearer'] as const, ['Authorization', "It's"] as const],
])('a shell sends the header %s with the scheme %s as it is', (header, scheme) => {
  const env = { ...process.env, TOKEN: 'a  b' }
  for (const command of [requestCommand({ header, scheme }), checkVariable('iam', { header, scheme })])
    expect(
      execFileSync('sh', ['-c', `curl() { cat; }; npx() { cat; }; ${command}`], { encoding: 'utf8', env }),
    ).toBe(`${header}: ${scheme === undefined ? '' : `${scheme} `}a  b\n`)
})

test('a token is typed into a variable, and is in no command', () => {
  const commands = [READ_TOKEN, requestCommand({ header: 'X-Token' }), 'type -t echo']
  const typed = { encoding: 'utf8', input: `the token\n` } as const
  // A builtin is in no list of processes.
  expect(execFileSync('bash', ['-c', `curl() { cat; }; ${commands.join('; ')}`], typed)).toBe(
    'X-Token: the token\nbuiltin\n',
  )
})
