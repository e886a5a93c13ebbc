/** Completion in real shells: zsh and fish accept their scripts, and offer the same words as bash. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, test } from 'vitest'
import { COMPLETIONS, completionFolder } from '../support/processes/completion.ts'

const zsh = inject('zsh')
const fish = inject('fish')
const folder = completionFolder()

/** Runs a script of a shell in the folder. */
async function script(shell: typeof zsh, flags: readonly string[], text: string): Promise<string[]> {
  if (!shell.ok) throw new Error(shell.why)
  const file = join(folder.path, 'script')
  writeFileSync(file, `${shell.prelude}\n${text}\n`)
  const { stdout } = await promisify(execFile)(shell.command, [...flags, file], {
    cwd: folder.path,
    env: { ...folder.environment, ...shell.env },
  })
  return stdout.split('\n').slice(0, -1)
}

describe.skipIf(!zsh.ok)('in zsh', () => {
  /** Replaces the functions of the completion system that the script calls. They print their arguments. */
  const offered = (typed: string) =>
    script(
      zsh,
      ['-f'],
      `compdef() { [[ "$*" == '_portcullis portcullis' ]] }
_describe() { print -rl -- "\${(@P)2}" }
_files() { if [[ $1 == -/ ]]; then print -rl -- $PREFIX*(/N); else print -rl -- $PREFIX*(N); fi }
compset() { PREFIX=\${PREFIX#*=} }
source <(portcullis completion zsh)
words=(${typed
        .split(' ')
        .map((word) => `'${word}'`)
        .join(' ')})
CURRENT=$#words
PREFIX=$words[-1]
_portcullis`,
    )

  test('the script has no syntax error', async () => {
    const text = 'portcullis completion zsh > completion.zsh; print ok'
    expect(await script(zsh, ['-f'], text)).toEqual(['ok'])
    if (zsh.ok) await promisify(execFile)(zsh.command, ['-n', join(folder.path, 'completion.zsh')])
  })

  test.each(COMPLETIONS)('%s', async (typed, values) => {
    // Without the descriptions.
    expect((await offered(typed)).map((line) => line.replace(/:.*/, ''))).toEqual(values)
  })

  test.each<[typed: string, lines: string[]]>([
    ['portcullis check bal', ['balance:Balance']],
    ['portcullis check --kind=st', ['--kind=static_token:static token']],
    ['portcullis serve --config=portcullis.y', ['portcullis.yaml']],
    ['portcullis serve --data portc', ['portcullis-data']],
    ['portcullis service-user update 1 a --permission p', ['project\\:']],
  ])('%s', async (typed, lines) => {
    expect(await offered(typed)).toEqual(lines)
  })
})

describe.skipIf(!fish.ok)('in fish', () => {
  const offered = (typed: string) =>
    script(fish, ['--no-config'], `portcullis completion fish | source\ncomplete -C '${typed}'`)

  test('the script has no syntax error', async () => {
    expect(
      await script(fish, ['--no-config'], 'portcullis completion fish > completion.fish; echo ok'),
    ).toEqual(['ok'])
    if (fish.ok)
      await promisify(execFile)(fish.command, ['--no-execute', join(folder.path, 'completion.fish')], {
        env: { ...folder.environment, ...fish.env },
      })
  })

  test.each(COMPLETIONS)('%s', async (typed, values) => {
    // Without the descriptions. fish sorts the words.
    expect((await offered(typed)).map((line) => line.split('\t')[0]).sort()).toEqual([...values].sort())
  })

  test.each<[typed: string, lines: string[]]>([
    ['portcullis check bal', ['balance\tBalance']],
    ['portcullis check --kind=st', ['--kind=static_token\tstatic token']],
    ['portcullis serve --config=portcullis.y', ['--config=portcullis.yaml']],
    ['portcullis service-user update 1 a --permission p', ['project:']],
  ])('%s', async (typed, lines) => {
    expect(await offered(typed)).toEqual(lines)
  })

  test('folders, if an option takes a folder', async () => {
    expect((await offered('portcullis serve --data portc')).map((line) => line.split('\t')[0])).toEqual([
      'portcullis-data/',
    ])
  })
})
