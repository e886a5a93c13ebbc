/**
 * The pipelines of examples/ci, as far as they go without their services: the commands of their files, by a
 * shell, in a repository with a change of a matrix. `npm`, `gh` and `curl` are only noted.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { Matrix } from '../../engine/index.ts'
import { loadMatrix } from '../../matrix/index.ts'
import { logUnder } from '../support/signals/replayed.ts'
import { newFolder } from '../support/suite/resources.ts'

const ROOT = join(import.meta.dirname, '../..')
const library = loadMatrix(readFileSync(join(ROOT, 'examples/matrices/city-library.json')))
const { text: log } = await logUnder(library)

interface Job {
  readonly commands: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** The commands that would be run, in their order. */
const PIPELINES: Readonly<Record<string, (file: string) => Job>> = {
  'github.yaml': (file) => {
    const { jobs } = parse(file)
    const steps = jobs.matrix.steps as { run?: string }[]
    return { commands: steps.flatMap(({ run }) => run ?? []), env: { ...jobs.matrix.env, BASE: 'base' } }
  },
  'gitlab.yaml': (file) => {
    const { matrix } = parse(file)
    const { before_script, script, after_script, variables } = matrix
    return {
      commands: [...before_script, ...script, ...after_script],
      env: { ...variables, CI_MERGE_REQUEST_DIFF_BASE_SHA: 'base', COMMENT_TOKEN: 'x' },
    }
  },
}

/** A repository whose branch `base` has the library, and whose files have the change. */
function repository(changed: Matrix, allowed: object): string {
  const folder = newFolder()
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], { cwd: folder })
  writeFileSync(join(folder, 'matrix.yaml'), stringify(library))
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'base')
  git('branch', 'base')
  writeFileSync(join(folder, 'matrix.yaml'), stringify(changed))
  writeFileSync(join(folder, 'allowed-flips.yaml'), stringify(allowed))
  writeFileSync(join(folder, 'decisions.log'), log)
  mkdirSync(join(folder, 'tests'))
  return folder
}

/** @returns the exit code of each command, and the calls of programs that are not there */
function run({ commands, env }: Job, folder: string) {
  const node = process.execPath
  const stubs = [
    `npx() { shift 2; "${node}" "${join(ROOT, 'sidecar/portcullis.js')}" "$@"; }`,
    ...['npm', 'gh', 'curl'].map((name) => `${name}() { echo "${name} $*" >> calls; }`),
  ].join('\n')
  const codes = commands.map((command) => {
    const { status, stderr } = spawnSync('sh', ['-c', `${stubs}\n${command}`], {
      cwd: folder,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    })
    return { command: command.split('\n')[0], status, stderr }
  })
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

test.each(Object.entries(PIPELINES))(
  '%s passes where everything is signed off, and fails where not',
  (name, jobOf) => {
    const job = jobOf(readFileSync(join(ROOT, 'examples/ci', name), 'utf8'))
    const folder = repository(changed, SIGNED_OFF)
    const init = ['matrix', 'test', '--init', 'tests/policy-tests.yaml', '--matrix', 'matrix.yaml']
    execFileSync(process.execPath, [join(ROOT, 'sidecar/portcullis.js'), ...init], { cwd: folder })
    const { codes, calls } = run(job, folder)
    expect(codes.filter(({ status }) => status !== 0)).toEqual([])
    expect(readFileSync(join(folder, 'diff.md'), 'utf8')).toContain('fines')
    expect(existsSync(join(folder, 'replay.html'))).toBe(true)
    expect(calls).toMatch(/^npm ci\n(gh pr comment|curl) /)

    const unsigned = newFolder()
    cpSync(folder, unsigned, { recursive: true })
    writeFileSync(join(unsigned, 'allowed-flips.yaml'), stringify({ flips: [] }))
    const diff = {
      ...job,
      commands: job.commands.filter((command) => !/npx.* matrix (lint|test)|replay/s.test(command)),
    }
    const failed = run(diff, unsigned).codes.filter(({ status }) => status !== 0)
    expect(failed.map(({ command }) => command)).toEqual([expect.stringContaining('matrix diff')])
  },
)
