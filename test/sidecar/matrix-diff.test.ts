/** `portcullis matrix diff`: its texts, its exit codes, revisions of git, and files that are not finished. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { command } from '../support/processes/command-line.ts'
import { run } from '../support/processes/processes.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const ROWS: Matrix = { ...supportMatrix, statements: [], conflicts: [] }
const fileOf = (matrix: object) => newFile(JSON.stringify(matrix), 'matrix.json')
const withRow = (id: string, fields: object): Matrix => ({
  ...ROWS,
  apis: ROWS.apis.map((api) => (api.id === id ? { ...api, ...fields } : api)),
})

const rows = fileOf(ROWS)
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

describe('the exit code', () => {
  test.each<[what: string, args: string[], code: number, says: RegExp]>([
    ['of the same matrix', [rows, rows, '--fail-on', 'any'], 0, /^no cell opens or closes: /],
    ['without --fail-on', [rows, opened], 0, /^1 cell opens: .*\nopened {2}tickets /],
    ['of a flip in that direction', [rows, opened, '--fail-on', 'opened'], 1, /not signed off: 1 flip$/m],
    ['of a flip in the other direction', [rows, opened, '--fail-on', 'closed'], 0, /^1 cell opens/],
    ['the other way round', [opened, rows, '--fail-on', 'closed'], 1, /^1 cell closes/],
    [
      'of a flip that is signed off',
      [rows, opened, '--fail-on', 'any', '--allow', allowing({})],
      0,
      /signed off until 9999-12-31: agreed$/m,
    ],
    [
      'of a flip whose day is over',
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
      /^no cell.*\nrenamed:\n +cdn → edge +same title +who asks for `cdn` gets UNKNOWN_API \(iam_token_project_scoped\)$/m,
    ],
    ['of a file that is not finished', [shipped, unfinished], 0, /is not finished.*\n.*:1:\d+: conflicts: /],
    [
      'of a file that is not finished, with --fail-on',
      [shipped, unfinished, '--fail-on', 'closed'],
      1,
      /the new matrix is not finished$/m,
    ],
    [
      'of an old file that is not finished',
      [unfinished, shipped, '--fail-on', 'opened'],
      0,
      /^3 cells close/,
    ],
  ])('%s', async (_what, args, code, says) => {
    const ended = await command([...DIFF, ...args])
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(ended.stdout).toMatch(says)
  })

  test.each<[what: string, args: string[], says: RegExp]>([
    ['a file that is not there', ['none.json', rows], /none\.json cannot be read \(ENOENT\)/],
    ['a file that is no matrix', [rows, newFile('{}')], /: the matrix is not valid:\n {2}title: expected/],
    ['a revision that looks like an option', ['--', '--output=x:y', rows], /cannot be read \(ENOENT\)/],
    ['two formats', [rows, rows, '--json', '--format', 'markdown'], /expected one of --json and/],
    ['an option of `matrix` alone', [rows, rows, '--strict'], /unknown option '--strict'/],
    ['another direction', [rows, rows, '--fail-on', 'both'], /Allowed choices are opened, closed, any/],
    [
      'an entry without its day',
      [rows, rows, '--allow', allowing({ until: undefined })],
      /allowed\.yaml: flips\[0\]\.until: expected this field, it is missing/,
    ],
    [
      'an entry with a day that there is not',
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
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository })
  git('init', '--quiet')
  writeFileSync(join(repository, 'matrix.json'), JSON.stringify(ROWS))
  git('add', 'matrix.json')
  git('-c', 'user.name=a', '-c', 'user.email=a@example', 'commit', '--quiet', '-m', 'first')
  const diff = (...args: string[]) => run([...DIFF, ...args], { cwd: repository })

  test('is compared with a file; a path that exists as a file wins', async () => {
    expect((await diff('HEAD:matrix.json', opened)).stdout).toMatch(/^1 cell opens: HEAD:matrix\.json → /)
    writeFileSync(join(repository, 'HEAD:matrix.json'), JSON.stringify(withRow('cdn', { accepts: [] })))
    expect((await diff('HEAD:matrix.json', rows)).stdout).toMatch(/^1 cell opens.*\nopened {2}cdn /)
  })

  test.each([
    [
      'HEAD:none.json',
      /^portcullis: HEAD:none\.json: there is no such file, and git has no such revision and path \(fatal: /,
    ],
    ['none:matrix.json', /git has no such revision and path/],
    ['HEAD:', /git has no such revision and path/],
  ])('%s is refused with what git says', async (name, says) => {
    const ended = await diff(name, rows)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(says)
  })

  test('needs git', async () => {
    const ended = await run([...DIFF, 'HEAD:none.json', rows], {
      cwd: repository,
      environment: { PATH: newFolder() },
    })
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

test('Markdown has the texts of a matrix as code, in which nothing is markup', async () => {
  const title = 'a | b ``c`` @d <e>'
  const { stdout } = await command([...DIFF, rows, fileOf({ ...ROWS, title }), '--format', 'markdown'])
  expect(stdout).toContain('→ ```a \\| b ``c`` @d <e>```')
})
