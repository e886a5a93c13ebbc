/** `portcullis matrix diff`: its texts, its exit codes, revisions of git, and unfinished files. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const ROWS: Matrix = { ...supportMatrix, statements: [], conflicts: [] }
const fileOf = (matrix: object) => newFile(JSON.stringify(matrix), 'matrix.json')
const withRow = (id: string, fields: object): Matrix => ({
  ...ROWS,
  apis: ROWS.apis.map((api) => (api.id === id ? { ...api, ...fields } : api)),
})

const withKind = (id: string, fields: object): Matrix => ({
  ...ROWS,
  tokenKinds: ROWS.tokenKinds.map((kind) => (kind.id === id ? { ...kind, ...fields } : kind)),
})

const rows = fileOf(ROWS)
/** Users without any permission obtain tokens of the whole account. */
const free = fileOf(withKind('iam_token_account_scoped', { permissionScopes: [] }))
const tenYears = fileOf(withKind('iam_token_account_scoped', { lifetimeSeconds: 315_360_000 }))
const opened = fileOf(withRow('tickets', { accepts: ['static_token', 'iam_token_project_scoped'] }))
const renamed = fileOf(withRow('cdn', { id: 'edge' }))
const unfinished = fileOf({ ...supportMatrix, conflicts: [] })
const shipped = fileOf(supportMatrix)
const DIFF = ['matrix', 'diff']

const allowing = (fields: object) =>
  newFile(
    JSON.stringify({
      flips: [
        {
          ...{ api: 'tickets', kind: 'iam_token_project_scoped', direction: 'opened' },
          ...{ reason: 'agreed', until: '9999-12-31', ...fields },
        },
      ],
    }),
    'allowed.yaml',
  )
/** Of an account-scoped token that lives ten years. */
const allowingYears = (fields: object) =>
  allowing({
    ...{ api: undefined, kind: 'iam_token_account_scoped', direction: 'loosened' },
    ...{ field: 'lifetimeSeconds', to: 315_360_000, ...fields },
  })

describe('the exit code', () => {
  test.each<[what: string, args: string[], code: number, says: RegExp]>([
    ['of the same matrix', [rows, rows, '--fail-on', 'any'], 0, /^no cell opens or closes: /],
    ['without --fail-on', [rows, opened], 0, /^1 cell opens: .*\nopened {2}tickets /],
    ['of a flip in that direction', [rows, opened, '--fail-on', 'opened'], 1, /not signed off: 1 flip$/m],
    ['of a flip in the other direction', [rows, opened, '--fail-on', 'closed'], 0, /^1 cell opens/],
    [
      'of a flip that is signed off',
      [rows, opened, '--fail-on', 'any', '--allow', allowing({})],
      0,
      /signed off until 9999-12-31: agreed$/m,
    ],
    [
      'of a flip whose day has passed',
      [rows, opened, '--fail-on', 'any', '--allow', allowing({ until: '2026-01-31' })],
      1,
      /^expired {2}opened tickets × iam_token_project_scoped, until 2026-01-31: agreed$/m,
    ],
    [
      'with an entry that nothing needs',
      [rows, rows, '--fail-on', 'any', '--allow', allowing({ mode: 'strict' })],
      0,
      /^unused {2}opened tickets × iam_token_project_scoped in strict mode, until/m,
    ],
    [
      'of a renamed API, whose old callers lose it',
      [rows, renamed, '--fail-on', 'closed'],
      1,
      /^no cell.*\nrenamed:\n +cdn → edge +same title +who asks for `cdn` gets UNKNOWN_API \(iam_token_project_scoped\); `edge` opens \(iam_token_project_scoped\)$/m,
    ],
    [
      'of a renamed API whose new id is signed off',
      [rows, renamed, '--fail-on', 'opened', '--allow', allowing({ api: 'edge' })],
      0,
      /`edge` opens \(iam_token_project_scoped\) {2}signed off until 9999-12-31: agreed$/m,
    ],
    [
      'of a kind that no longer needs a permission',
      [rows, free, '--fail-on', 'opened'],
      1,
      /^no cell opens or closes, 1 fact of kinds loosened: .*\nloosened {2}iam_token_account_scoped {2}permissionScopes {2}account → none\nnot signed off: 1 flip$/m,
    ],
    [
      'of ten years that are signed off',
      [rows, tenYears, '--fail-on', 'any', '--allow', allowingYears({})],
      0,
      /315360000 {2}signed off until 9999-12-31: agreed$/m,
    ],
    ['of a file that is not finished', [shipped, unfinished], 0, /is not finished.*\n.*:1:\d+: conflicts: /],
    [
      'of a file that is not finished, with --fail-on',
      [shipped, unfinished, '--fail-on', 'closed'],
      1,
      /the new matrix is not finished$/m,
    ],
  ])('%s', async (_what, args, code, says) => {
    const ended = await command([...DIFF, ...args])
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(ended.stdout).toMatch(says)
  })

  test.each<[what: string, args: string[], says: RegExp]>([
    ['a file that is not there', ['none.json', rows], /none\.json cannot be read \(ENOENT\)/],
    ['a file that is not a matrix', [rows, newFile('{}')], /: the matrix is not valid:\n {2}title: expected/],
    [
      'a revision that looks like an option',
      ['--', '--output=x:y', rows],
      /could be a file, or a file in a rev/,
    ],
    ['two formats', [rows, rows, '--json', '--format', 'markdown'], /expected one of --json and/],
    ['an option of `matrix` alone', [rows, rows, '--strict'], /unknown option '--strict'/],
    ['another direction', [rows, rows, '--fail-on', 'both'], /Allowed choices are opened, closed, any/],
    [
      'an entry without its day',
      [rows, rows, '--allow', allowing({ until: undefined })],
      /allowed\.yaml: flips\[0\]\.until: expected this field, it is missing/,
    ],
    [
      'an entry with an impossible day',
      [rows, rows, '--allow', allowing({ until: '2027-02-30' })],
      /flips\[0\]\.until: expected a day that there is/,
    ],
  ])('of %s is 2', async (_what, args, says) => {
    const ended = await command([...DIFF, ...args])
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(says)
  })
})

describe('a revision of git', () => {
  const repository = newFolder()
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim()
  const commit = (matrix: object) => {
    writeFileSync(join(repository, 'matrix.json'), JSON.stringify(matrix))
    git('add', 'matrix.json')
    git('-c', 'user.name=a', '-c', 'user.email=a@example', 'commit', '--quiet', '-m', 'one')
    return git('rev-parse', 'HEAD')
  }
  git('init', '--quiet')
  const base = commit(ROWS)
  const main = 'refs/remotes/origin/main'
  git('update-ref', main, base)
  // The change opens a cell, and would like to be compared with itself.
  const change = withRow('cdn', { accepts: ['iam_token_project_scoped', 'static_token'] })
  const tip = commit(change)
  const diff = (...args: string[]) => command([...DIFF, ...args])
  beforeAll(() => process.chdir(repository))

  const opens = /^1 cell opens: .*\nopened {2}cdn /
  test.each<[what: string, args: string[]]>([
    ['as --base', ['--base', 'origin/main', 'matrix.json']],
    ['as --base, by the path of the file', ['--base', base, join(repository, 'matrix.json')]],
    ['with its path in the repository', ['git:origin/main:matrix.json', 'matrix.json']],
    ['with its path from this folder', ['git:HEAD~1:./matrix.json', './matrix.json']],
    ['on both sides', ['git:HEAD~1:matrix.json', 'git:HEAD:matrix.json']],
  ])('is said %s', async (_what, args) => {
    const ended = await diff(...args)
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toMatch(opens)
  })

  test('is never a file that a change adds', async () => {
    for (const name of ['origin/main:matrix.json', 'git:origin/main:matrix.json']) {
      mkdirSync(join(repository, name, '..'), { recursive: true })
      writeFileSync(join(repository, name), JSON.stringify(change))
    }
    expect((await diff('git:origin/main:matrix.json', 'matrix.json')).stdout).toMatch(opens)
    expect((await diff('--base', 'origin/main', 'matrix.json')).stdout).toMatch(opens)
    expect((await diff('./origin/main:matrix.json', 'matrix.json')).stdout).toMatch(/^no cell opens/)
    expect((await diff(join(repository, 'origin/main:matrix.json'), 'matrix.json')).stdout).toMatch(
      /^no cell/,
    )
  })

  test.each([
    ['origin/main:matrix.json', 'that is a file'],
    ['HEAD:matrix.json', 'that is none'],
    ['none:matrix.json', 'that is nothing'],
    [':matrix.json', 'of the index'],
  ])('%s, %s, is refused with both ways', async (name) => {
    for (const args of [
      [name, 'matrix.json'],
      ['matrix.json', name],
      ['--base', 'HEAD', name],
    ])
      expect(await diff(...args)).toEqual({
        ...{ code: 2, stdout: '' },
        stderr: `portcullis: ${name} could be a file, or a file in a revision of git: write \`./${name}\` or \`git:${name}\`\n`,
      })
  })

  test('of which a tag has the name of the branch is refused with both', async () => {
    // Git takes the tag.
    git('update-ref', 'refs/tags/origin/main', tip)
    git('config', 'core.warnAmbiguousRefs', 'false')
    const both = (path: string) => `write \`git:refs/tags/origin/main:${path}\` or \`git:${main}:${path}\`\n`
    const ended = await diff('git:origin/main:matrix.json', 'matrix.json')
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toBe(
      `portcullis: git:origin/main:matrix.json: origin/main means more than one thing in this repository: ${both('matrix.json')}`,
    )
    expect((await diff('--base', 'origin/main', 'matrix.json')).stderr).toContain(both('./matrix.json'))
    expect((await diff(`git:${main}:matrix.json`, 'matrix.json')).stdout).toMatch(opens)
    expect((await diff('--base', main, 'matrix.json')).stdout).toMatch(opens)
    git('update-ref', '-d', 'refs/tags/origin/main')
    // A tag wins over the beginning of an id, and never over a whole id.
    git('update-ref', `refs/tags/${base.slice(0, 8)}`, tip)
    git('update-ref', `refs/tags/${base}`, tip)
    expect((await diff('--base', base.slice(0, 8), 'matrix.json')).stderr).toMatch(
      /write `git:refs\/tags\/\w{8}:\.\/matrix\.json` or the whole id of the commit\n$/,
    )
    expect((await diff('--base', base, 'matrix.json')).stdout).toMatch(opens)
  })

  test('is read as it was committed, whatever replaces it in this repository', async () => {
    git('replace', `${base}:matrix.json`, `${tip}:matrix.json`)
    expect((await diff('--base', base, 'matrix.json')).stdout).toMatch(opens)
    git('replace', '-d', git('rev-parse', `${base}:matrix.json`))
  })

  test.each<[args: string[], says: RegExp]>([
    [
      ['git:HEAD:none.json', rows],
      /^portcullis: git:HEAD:none\.json: git has no such revision and path \(fatal: /,
    ],
    [['git:none:matrix.json', rows], /git has no such revision and path/],
    [['git:HEAD:', rows], /git has no such revision and path/],
    [
      ['git:matrix.json', rows],
      /git:matrix\.json: expected git:REVISION:PATH, such as git:HEAD:matrix\.json/,
    ],
    [['git:--output=x:y', rows], /expected git:REVISION:PATH/],
    [['--base', '--output=x', 'matrix.json'], /--base: expected a revision of git, such as refs/],
    [['--base', 'HEAD:matrix.json', 'matrix.json'], /--base: expected a revision of git/],
    [['--base', 'none', 'matrix.json'], /git:none:\.\/matrix\.json: git has no such revision/],
    [['--base', 'HEAD', 'git:HEAD:matrix.json'], /expected a file with --base, and not one of a revision/],
    [['--base', 'HEAD', 'matrix.json', rows], /expected one matrix file with --base/],
    [['matrix.json'], /expected two matrices, or one with --base/],
  ])('%j is refused with a reason', async (args, says) => {
    const ended = await diff(...args)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(says)
  })

  test('needs git', async () => {
    vi.stubEnv('PATH', newFolder())
    const ended = await diff('git:HEAD:none.json', rows)
    vi.unstubAllEnvs()
    expect(ended.stderr).toMatch(/to read a revision git must be installed/)
  })
})

describe('thousands of flips', () => {
  const apis = Array.from({ length: 3_000 }, (_, index) => ({
    ...{ id: `api-${index}`, title: `API ${index}`, section: '§1' },
    accepts: ['static_token'],
  }))
  const many = fileOf({ ...ROWS, apis })
  const none = fileOf({ ...ROWS, apis: apis.map((api) => ({ ...api, accepts: [] })) })

  test.each(['text', 'markdown'])('are cut in %s, with their count', async (format) => {
    const { stdout } = await command([...DIFF, many, none, '--format', format])
    expect(stdout).toMatch(/3000 cells close/)
    expect(stdout).toMatch(/and 2900 more/)
    expect(stdout.match(/api-\d+/g)).toHaveLength(100)
  })

  test('are whole in JSON', async () => {
    const { stdout } = await command([...DIFF, many, none, '--json'])
    expect(JSON.parse(stdout).flips).toHaveLength(3_000)
  })
})

test('a kind that is new is shown with its facts, and JSON has them as `to` of an entry has', async () => {
  const [kind] = ROWS.tokenKinds
  const badge = { ...kind, id: 'badge', header: 'X-Badge', scheme: 'Bearer' }
  const after = fileOf({ ...ROWS, tokenKinds: [...ROWS.tokenKinds, badge] as Matrix['tokenKinds'] })
  const { stdout } = await command([...DIFF, rows, after])
  expect(stdout).toMatch(
    /^changed {2}badge {2}kind {2}none → scopeLevel account, header X-Badge, scheme Bearer, issuedTo service_user, obtained\.by issue, permissionScopes account, lifetimeSeconds 86400, preferredOver none$/m,
  )
  const [flip] = JSON.parse((await command([...DIFF, rows, after, '--json'])).stdout).kind_flips
  expect(flip.after).toMatchObject({ scopeLevel: 'account', lifetimeSeconds: 86_400, prefix: null })
  const allow = allowingYears({ kind: 'badge', field: 'kind', direction: 'changed', to: flip.after })
  const signed = await command([
    ...DIFF,
    rows,
    after,
    '--fail-on',
    'any',
    '--allow',
    allow,
    '--format',
    'markdown',
  ])
  expect(signed.code).toBe(0)
  expect(signed.stdout).toContain('- **changed** `badge` `kind`: `none` → `scopeLevel account, ')
  expect(signed.stdout).toContain('; signed off until 9999-12-31: `agreed`')
})

test('Markdown has the texts of a matrix as code, in which nothing is markup', async () => {
  const title = 'a | b ``c`` @d <e>'
  const { stdout } = await command([...DIFF, rows, fileOf({ ...ROWS, title }), '--format', 'markdown'])
  expect(stdout).toContain('→ ```a \\| b ``c`` @d <e>```')
})
