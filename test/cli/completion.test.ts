/**
 * Completion: the possible words at each position, from the definitions of the commands, and the script for
 * bash in bash.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { complete } from '../../sidecar/cli/commands/completion.ts'
import { everyCommand } from '../../sidecar/cli/empty-program.ts'
import { buildProgram } from '../../sidecar/cli/program.ts'
import { answeredProgram } from '../support/processes/answered-program.ts'
import { command } from '../support/processes/command-line.ts'
import { COMPLETIONS, completionFolder } from '../support/processes/completion.ts'

const program = buildProgram()
const offered = async (...words: string[]) => {
  const { candidates, paths } = await complete(program, words)
  return { values: candidates.map(({ value }) => value), paths }
}
const apis = supportMatrix.apis.map(({ id }) => id)
const kinds = supportMatrix.tokenKinds.map(({ id }) => id)

describe('completion offers', () => {
  test.each<[claim: string, words: string[], values: string[]]>([
    ['commands with this beginning', ['se'], ['serve', 'service-user', 'session']],
    [
      'subcommands',
      ['keys', ''],
      ['show', 'rotate', 'withdraw', 'rotate-administrator-token', 'public', 'help'],
    ],
    ['subcommands after help of a group', ['keys', 'help', 'ro'], ['rotate', 'rotate-administrator-token']],
    ['commands after help', ['help', 'ser'], ['serve', 'service-user']],
    ['every API for its argument', ['check', ''], apis],
    ['every API for its option', ['issue', '--api', ''], apis],
    ['the APIs that the plan does not contain yet', ['plan', ...apis.slice(1), ''], apis.slice(0, 1)],
    ['kinds for the second argument', ['explain', 'iam', ''], kinds],
    ['kinds for an option', ['check', 'iam', '--kind', ''], kinds],
    ['kinds after an equals sign', ['check', '--kind=st'], ['--kind=static_token']],
    ['an argument after an option with a value', ['check', '--kind', 'static_token', 'bal'], ['balance']],
    ['an argument after an option without one', ['check', '--json', 'bal'], ['balance']],
    ['an argument after --option=value', ['check', '--kind=static_token', 'bal'], ['balance']],
    ['an argument after a short option', ['check', '-H', '@token', 'bal'], ['balance']],
    ['an argument after a global option', ['check', '--no-color', 'bal'], ['balance']],
    ['an argument after --', ['check', '--', 'bal'], ['balance']],
    ['choices of an argument', ['completion', ''], ['bash', 'zsh', 'fish']],
    [
      'words for a permission',
      ['service-user', 'create', '1', 'a', '--permission', ''],
      ['account', 'project:'],
    ],
    ['words for a role', ['service-user', 'create', '1', 'a', '--role', 'ia'], ['iam.admin']],
    ['options with this beginning', ['check', '--targ'], ['--target-account', '--target-project']],
    ['a repeatable option again', ['issue', '--api', 'iam', '--ap'], ['--api']],
    ['no option that was already given', ['check', '--kind', 'static_token', '--ki'], []],
    ['nothing for a free value', ['check', '--account', ''], []],
    ['nothing for an unknown option', ['check', '--nope='], []],
    ['no hidden command', ['__'], []],
  ])('%s', async (_claim, words, values) => {
    expect(await offered(...words)).toEqual({ values, paths: 'none' })
  })

  test.each<[paths: string, words: string[]]>([
    ['files', ['serve', '--config', '']],
    ['files', ['serve', '--matrix=mat']],
    ['files', ['matrix', 'lint', 'mat']],
    ['files', ['directory', 'apply', '']],
    ['folders', ['keys', 'show', '--data', '']],
  ])('%s to the shell: %j', async (paths, words) => {
    expect(await offered(...words)).toEqual({ values: [], paths })
  })

  test('the options if nothing else is possible', async () => {
    const { values } = await offered('keys', 'show', '')
    expect(values).toEqual(['--data', '--json', '--help'])
  })

  test.each(everyCommand(program).filter((each) => each.parent !== null && !each.name().startsWith('__')))(
    'every option of $_name',
    async (each) => {
      const path: string[] = []
      for (let at = each; at.parent !== null; at = at.parent) path.unshift(at.name())
      const { values } = await offered(...path, '--')
      expect(values).toEqual([...each.options.map(({ long }) => long), '--help'])
    },
  )
})

test('the command prints the scripts, and refuses other shells', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await command(['completion', shell])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^#.*\\n?.*for ${shell}\\. To load it`))
  }
  expect(await command(['completion', 'tcsh'])).toMatchObject({ code: 2, stdout: '' })
})

describe('in bash', () => {
  const folder = completionFolder()
  const file = join(folder.path, 'completion.bash')
  let answered: string
  beforeAll(async () => {
    answered = await answeredProgram()
    writeFileSync(file, (await command(['completion', 'bash'])).stdout)
  })

  /** As readline calls the function: bash itself splits a word at = and :. */
  const inBash = async (words: readonly string[], PATH = `${answered}:${folder.environment.PATH}`) => {
    const script = [
      'set -u',
      `source '${file}'`,
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})`,
      `COMP_CWORD=${words.length - 1}`,
      '_portcullis_complete',
      `[[ $\{#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "$\{COMPREPLY[@]}"`,
    ].join('\n')
    const { stdout } = await promisify(execFile)('bash', ['--noprofile', '--norc', '-c', script], {
      cwd: folder.path,
      env: { ...folder.environment, PATH },
    })
    return stdout.split('\n').slice(0, -1)
  }

  test.each(COMPLETIONS)('%s', async (typed, values) => {
    expect(await inBash(typed.split(' '))).toEqual(values)
  })

  test.each<[words: string[], values: string[]]>([
    [['portcullis', 'check', '--kind', '=', 'st'], ['static_token']],
    [['portcullis', 'check', '--kind', '='], kinds],
    [['portcullis', 'serve', '--config', '=', 'portcullis.y'], ['portcullis.yaml']],
    [['portcullis', 'serve', '--data', 'portc'], ['portcullis-data']],
    [['portcullis', 'check', '--address', '127.0.0.1', ':', '50051', 'bal'], ['balance']],
    [['portcullis', 'service-user', 'update', '1', 'a', '--permission', 'pro'], ['project:']],
    [
      ['portcullis', ''],
      program
        .createHelp()
        .visibleCommands(program)
        .map((each) => each.name()),
    ],
  ])('%j', async (words, values) => {
    expect(await inBash(words)).toEqual(values)
  })

  test('the program itself is asked', async () => {
    expect(await inBash(['portcullis', 'ch'], folder.environment.PATH)).toEqual(['check'])
  })

  test('a program that fails offers nothing', async () => {
    expect(await inBash(['./nope', 'ch'])).toEqual([])
  })
})
