/** The help of every command says what it does, which examples work, and what its exit codes mean. */
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { addServeCommand } from '../../sidecar/cli/commands/serve.ts'
import { emptyProgram, everyCommand } from '../../sidecar/cli/empty-program.ts'
import { buildProgram } from '../../sidecar/cli/program.ts'
import { refuseEmptyValues } from '../../sidecar/cli/terminal/placeholders.ts'
import { command, ended } from '../support/processes/command-line.ts'

const pathOf = (each: Command): string[] =>
  each.parent === null ? [] : [...pathOf(each.parent), each.name()]
const shown = everyCommand(buildProgram()).filter(
  (each) => each.parent === null || each.parent.createHelp().visibleCommands(each.parent).includes(each),
)
const helps: { name: string; each: Command; text: string }[] = []
for (const each of shown) {
  const path = pathOf(each)
  // Lines are wrapped at the width of the terminal.
  const text = (await helpOf(path)).replaceAll(/\n {20,}/g, ' ')
  helps.push({ name: path.join(' ') || 'portcullis', each, text })
}

async function helpOf(path: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await command([...path, '--help'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

const examplesIn = (text: string) =>
  Array.from(text.matchAll(/^ {2}portcullis (.*)$/gm), ([, line]) => line ?? '')

test('there is help for every command', () => {
  expect(helps.length).toBeGreaterThan(60)
})

describe('the help of', () => {
  test.each(helps)('$name says what it does, with examples and exit codes', ({ each, text }) => {
    expect(each.description()).toMatch(/^[A-Z][a-z]+ .*\.$/)
    expect(text).toMatch(/^Usage: portcullis/)
    expect(text).toMatch(/\nExamples:\n {2}portcullis \S/)
    expect(text).toMatch(/\nExit codes: 0 .*2 .*\.\n$/)
  })

  test.each(helps)('$name describes every argument and every option', ({ each }) => {
    for (const argument of each.registeredArguments)
      expect(argument.description, argument.name()).not.toBe('')
    for (const option of each.options) expect(option.description, option.flags).not.toBe('')
  })

  test.each(helps)('$name cites no section of the source without saying what it is', ({ text }) => {
    if (text.includes('§')) expect(text).toContain('The source is the document that the matrix is made from')
  })

  test.each(helps.filter(({ each }) => each.options.some(({ flags }) => /<(ms|n)>/.test(flags))))(
    '$name gives the unit or the default of every number',
    ({ each }) => {
      const numbers = each.options.filter(({ flags }) => /<(ms|n)>/.test(flags))
      for (const { description } of numbers) expect(description).toMatch(/milliseconds|default/)
    },
  )
})

describe('an example is a command line that is accepted:', () => {
  const lines = helps.flatMap(({ text }) => examplesIn(text))

  test.each([...new Set(lines)])('portcullis %s', async (line) => {
    const [words = ''] = line.split(' > ')
    const program = buildProgram()
    let accepted: Command | undefined
    // `matrix` does something itself, and has subcommands.
    for (const each of everyCommand(program))
      if (each.commands.length === 0 || each.name() === 'matrix') each.action(() => {})
    program.hook('preAction', (_program, each) => {
      refuseEmptyValues(each)
      accepted = each
    })
    // The help itself is printed by commander, and ends there.
    if (words.startsWith('help ')) return expect(await command(words.split(' '))).toMatchObject({ code: 0 })
    await program.parseAsync(words.split(' '), { from: 'user' })
    expect(words).toContain(accepted?.name())
  })
})

describe('the overview', () => {
  test('groups the commands', async () => {
    const { stdout } = await command(['help'])
    const headings = Array.from(stdout.matchAll(/^([A-Z][^\n:]*):$/gm), ([, heading]) => heading)
    expect(headings).toEqual([
      'Options',
      'Ask a sidecar',
      'Read the matrix (no sidecar needed)',
      'Run a sidecar',
      'Administer accounts through a sidecar',
      'Shell and help',
      'Examples',
    ])
    expect(stdout).toContain('Exit codes: 0 allowed or done, 1 denied or problems found, 2 no answer.')
    for (const { name, each } of helps)
      if (each.parent?.parent === null) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'))
  })

  test('says once who an operator is', async () => {
    const { stdout } = await command(['--help'])
    expect(stdout.match(/An operator holds a caller token with rights over the directory/g)).toHaveLength(1)
  })

  test('is the same with help, --help and -h', async () => {
    const texts: string[] = []
    for (const words of [['help'], ['--help'], ['-h']]) texts.push((await command(words)).stdout)
    expect(new Set(texts).size).toBe(1)
  })
})

test.each([
  { says: 'its help', words: ['serve', '--help'] },
  { says: 'the version', words: ['serve', '-V'] },
  { says: 'what it expected instead of an option', words: ['serve', '--htpp', 'off'] },
  { says: 'what it expected instead of a value', words: ['serve', '--workers', 'two', '--json'] },
  { says: 'that it takes no argument', words: ['serve', 'now'] },
])('serve without other commands prints $says as the whole program does', async ({ words }) => {
  const program = emptyProgram()
  addServeCommand(program)
  expect(await ended(program, words)).toEqual(await command(words))
})
