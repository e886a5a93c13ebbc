/**
 * The pipelines of examples/ci, as far as they go without their services. A shell runs the commands of their
 * files in a repository with a change of a matrix. This process carries out the commands of `portcullis`;
 * `npm`, `gh` and `curl` are only noted.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { Matrix } from '../../engine/index.ts'
import { loadMatrix } from '../../matrix/index.ts'
import { answeredProgram } from '../support/processes/answered-program.ts'
import { command } from '../support/processes/command-line.ts'
import { startProcess } from '../support/processes/processes.ts'
import { logUnder } from '../support/signals/replayed.ts'
import { newFolder } from '../support/suite/resources.ts'

const ROOT = join(import.meta.dirname, '../..')
const library = loadMatrix(readFileSync(join(ROOT, 'examples/matrices/city-library.json')))
const { text: log } = await logUnder(library)
const program = await answeredProgram()

/** A command with the variables that it gets. */
interface Command {
  readonly line: string
  readonly env: Readonly<Record<string, string>>
}

type Variables = Readonly<Record<string, string>>
interface Step {
  readonly run?: string
  readonly env?: Variables
}

/** The inputs of a comment. */
const TOKEN = 'the-token-of-comments'

/** The values that a platform puts in the place of its expressions. */
const EXPRESSIONS: Variables = {
  'github.base_ref': 'base',
  'github.token': TOKEN,
  'github.event.pull_request.number': '7',
}

const filled = (env: Variables = {}): Variables =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      value.replace(/\$\{\{ (\S+) \}\}/g, (_text, expression) => EXPRESSIONS[expression] ?? ''),
    ]),
  )

/** The commands that would be run, in their order; each job in another copy of the repository. */
const PIPELINES: Readonly<Record<string, (file: string, base: string) => readonly Command[]>> = {
  'github.yaml': (file) => {
    const { jobs, permissions } = parse(file)
    expect([permissions, jobs.matrix.permissions]).toEqual([{}, { contents: 'read' }])
    expect(jobs.matrix.steps[0].with['persist-credentials']).toBe(false)
    return [jobs.matrix, jobs.comment].flatMap(({ steps, env }: { steps: Step[]; env?: Variables }) =>
      steps.flatMap((step) =>
        step.run === undefined ? [] : [{ line: step.run, env: { ...filled(env), ...filled(step.env) } }],
      ),
    )
  },
  'gitlab.yaml': (file, base) => {
    const { matrix, 'matrix-comment': comment } = parse(file)
    // A variable of this environment alone.
    expect([matrix.environment, comment.environment]).toEqual([
      undefined,
      { name: 'matrix-comment', action: 'access' },
    ])
    const env = { ...matrix.variables, CI_MERGE_REQUEST_DIFF_BASE_SHA: base }
    return [
      ...[...matrix.before_script, ...matrix.script].map((line: string) => ({ line, env })),
      ...comment.script.map((line: string) => ({ line, env: { COMMENT_TOKEN: TOKEN } })),
    ]
  },
}

/** A repository whose branch `base` has the library, and whose files have the change. */
function repository(changed: Matrix, allowed: object) {
  const folder = newFolder()
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], {
      ...{ cwd: folder, encoding: 'utf8' },
    }).trim()
  writeFileSync(join(folder, 'matrix.yaml'), stringify(library))
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'base')
  const base = git('rev-parse', 'HEAD')
  git('update-ref', 'refs/remotes/origin/base', base)
  writeFileSync(join(folder, 'matrix.yaml'), stringify(changed))
  writeFileSync(join(folder, 'allowed-flips.yaml'), stringify(allowed))
  writeFileSync(join(folder, 'decisions.log'), log)
  mkdirSync(join(folder, 'tests'))
  return { folder, base, git }
}

/** @returns the exit code of each command, and the calls of programs that are not there */
async function run(commands: readonly Command[], folder: string) {
  const stubs = [
    `npx() { shift 2; case "$(env)" in *${TOKEN}*) exit 9 ;; esac; '${program}/portcullis' "$@"; }`,
    `npm() { case "$(env)" in *${TOKEN}*) exit 9 ;; esac; echo "npm $*" >> calls; }`,
    ...['gh', 'curl'].map((name) => `${name}() { echo "${name} $*" >> calls; }`),
  ].join('\n')
  process.chdir(folder)
  const codes: { command: string; status: unknown; stderr: string }[] = []
  for (const { line, env } of commands) {
    const words = ['sh', '-c', `${stubs}\n${line}`]
    const { code, stderr } = await startProcess(words, { cwd: folder, environment: env }).ended
    codes.push({ command: line.split('\n')[0] ?? '', status: code, stderr })
  }
  return { codes, calls: readFileSync(join(folder, 'calls'), 'utf8') }
}

const SIGNED_OFF = {
  flips: [
    {
      api: 'fines',
      kind: 'branch_badge',
      direction: 'opened',
      reason: 'branches take fines',
      until: '9999-12-31',
    },
  ],
}

/** Branches take fines from now on. */
const changed: Matrix = {
  ...library,
  apis: library.apis.map((api) =>
    api.id === 'fines' ? { ...api, accepts: [...api.accepts, 'branch_badge'] } : api,
  ),
  statements: library.statements.map((statement) =>
    statement.claim.type === 'manages' && statement.claim.kind === 'branch_badge'
      ? { ...statement, claim: { ...statement.claim, apis: [...statement.claim.apis, 'fines'] } }
      : statement,
  ),
}

const read = (name: string) => readFileSync(join(ROOT, 'examples/ci', name), 'utf8')

describe.each(Object.entries(PIPELINES))('%s', (name, commandsOf) => {
  test('passes where everything is signed off, with the token in no command of the change', async () => {
    const { folder, base } = repository(changed, SIGNED_OFF)
    const [tests, matrix] = [join(folder, 'tests/policy-tests.yaml'), join(folder, 'matrix.yaml')]
    expect(await command(['matrix', 'test', '--init', tests, '--matrix', matrix])).toMatchObject({ code: 0 })
    const commands = commandsOf(read(name), base)
    const { codes, calls } = await run(commands, folder)
    expect(codes.filter(({ status }) => status !== 0)).toEqual([])
    expect(readFileSync(join(folder, 'diff.md'), 'utf8')).toContain('fines')
    expect(existsSync(join(folder, 'replay.html'))).toBe(true)
    expect(calls).toMatch(/^npm ci\n(gh pr comment|curl) /)
    expect(commands.filter(({ env }) => Object.values(env).includes(TOKEN))).toHaveLength(1)
  })

  test('fails where the document of an imported matrix says something else today', async () => {
    const { folder, base } = repository(library, { flips: [] })
    const [document, matrix] = [join(folder, 'docs/tokens.md'), join(folder, 'matrix.yaml')]
    mkdirSync(join(folder, 'docs'))
    const table = '| API | Key |\n|---|---|\n| Loans | ✓ |\n| Fines | – |\n'
    writeFileSync(document, table)
    rmSync(matrix)
    const imported = await command(['matrix', 'import', document, '--matrix', matrix, '--write'])
    expect(imported).toMatchObject({ code: 0, stderr: '' })
    const commands = commandsOf(read(name), base).filter(({ line }) => /matrix source|npm ci/.test(line))
    expect(commands).toHaveLength(2)
    expect((await run(commands, folder)).codes.map(({ status }) => status)).toEqual([0, 0])
    writeFileSync(document, table.replace('–', '✓'))
    expect((await run(commands, folder)).codes.map(({ status }) => status)).toEqual([0, 1])
  })

  const opened = changed.apis
  const freed = library.tokenKinds.map((kind) => ({ ...kind, permissionScopes: [], lifetimeSeconds: null }))
  test.each<[what: string, matrix: Matrix]>([
    ['a cell opens', { ...library, apis: opened }],
    ['a kind needs no permission, and never expires', { ...library, tokenKinds: freed }],
  ])(
    'fails where %s without a sign-off, whatever the change names its files and tags',
    async (_what, matrix) => {
      const { folder, base, git } = repository(matrix, { flips: [] })
      for (const at of [
        'origin/base:matrix.yaml',
        `${base}:matrix.yaml`,
        'refs/remotes/origin/base:matrix.yaml',
      ]) {
        mkdirSync(join(folder, at, '..'), { recursive: true })
        cpSync(join(folder, 'matrix.yaml'), join(folder, at))
      }
      git('add', '.')
      git('commit', '-qm', 'change')
      for (const tag of ['base', 'origin/base', base]) git('update-ref', `refs/tags/${tag}`, 'HEAD')
      const commands = commandsOf(read(name), base).filter(({ line }) => /matrix diff|npm ci/.test(line))
      const { codes } = await run(commands, folder)
      expect(
        codes.map(({ command: line, status, stderr }) => [line.includes('diff'), status, stderr]),
      ).toEqual([
        [false, 0, ''],
        [true, 1, ''],
      ])
    },
  )
})
