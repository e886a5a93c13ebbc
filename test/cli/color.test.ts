/** Colour: only on a terminal, never in JSON, and without an effect on the width of a table. */
import { stripVTControlCharacters, styleText } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { columns } from '../../sidecar/base/text-table.ts'
import { forTerminal, paint } from '../../sidecar/cli/terminal/terminal.ts'
import { command } from '../support/processes/command-line.ts'
import { run } from '../support/processes/processes.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const running = await runSidecar()
const secrets = await populate(running)
const token = newFile(`X-Token: ${secrets.staticToken}\n`)
afterEach(() => {
  vi.unstubAllEnvs()
})

const forced = async (...words: string[]) => {
  vi.stubEnv('PORTCULLIS_GRPC_ADDRESS', running.address)
  vi.stubEnv('FORCE_COLOR', '1')
  vi.stubEnv('NO_COLOR', undefined)
  return command(words)
}
const plain = async (...words: string[]) => {
  vi.stubEnv('PORTCULLIS_GRPC_ADDRESS', running.address)
  vi.stubEnv('FORCE_COLOR', undefined)
  return command(words)
}
const ESCAPE = '\u001b['
const color = (style: 'green' | 'red' | 'bold' | 'dim', text: string) =>
  styleText(style, text, { validateStream: false })
const data = ['--data', running.folder]

describe('with colours', () => {
  test.each<[line: string[], styled: string]>([
    [['check', 'reports', '-H', `@${token}`], color('green', 'allowed')],
    [['check', 'iam', '-H', `@${token}`], color('red', 'denied')],
    [['explain', 'iam', 'static_token'], color('red', 'refused')],
    [['explain', 'reports', 'static_token'], color('green', 'accepted')],
    [['matrix'], color('bold', 'static_token')],
    [['matrix'], color('green', '✓')],
    [['matrix', 'lint'], color('green', 'no problem')],
    [['account', 'list', ...data], color('bold', 'created_at')],
    [['account', 'show', ACCOUNT, ...data], color('dim', 'enabled')],
    [['check', '--help'], color('bold', 'Examples:')],
    [['check', '--help'], color('bold', 'Options:')],
  ])('%j prints %j', async (line, styled) => {
    const { stdout } = await forced(...line)
    expect(stdout).toContain(styled)
    // Only colours are added: columns have the same width as without them.
    expect(stripVTControlCharacters(stdout)).toBe((await plain(...line)).stdout)
  })

  test('an error begins in red', async () => {
    expect((await forced('explain', 'nope')).stderr).toMatch(`${color('red', 'portcullis:')} no API `)
  })

  test.each([
    ['check', 'reports', '-H', `@${token}`],
    ['matrix'],
    ['plan', 'iam'],
    ['explain', 'iam'],
    ['matrix', 'lint'],
    ['account', 'list', ...data],
    ['explain', 'nope'],
    ['nope'],
  ])('the JSON of %s has none', async (...line) => {
    const { stdout, stderr } = await forced(...line, '--json')
    expect(`${stdout}${stderr}`).toMatch(/^[[{].*[\]}]\n$/)
    expect(`${stdout}${stderr}`).not.toContain(ESCAPE)
  })
})

test.each<[claim: string, environment: Record<string, string>, args: string[]]>([
  ['if the output is not a terminal', {}, ['matrix']],
  ['with --no-color', { FORCE_COLOR: '1' }, ['matrix', '--no-color']],
  ['with --no-color, in an error', { FORCE_COLOR: '1' }, ['nope', '--no-color']],
  ['with --no-color, in help', { FORCE_COLOR: '1' }, ['check', '--help', '--no-color']],
])('there is no colour %s', async (_claim, environment, args) => {
  const { stdout, stderr } = await run(args, { environment })
  expect(`${stdout}${stderr}`).not.toContain(ESCAPE)
})

test('there is no colour with FORCE_COLOR=0', async () => {
  vi.stubEnv('FORCE_COLOR', '0')
  for (const line of [['matrix'], ['nope'], ['check', '--help']]) {
    const { stdout, stderr } = await command(line)
    expect(`${stdout}${stderr}`).not.toContain(ESCAPE)
  }
})

test('escape codes do not count for the width of a table', () => {
  const rows = (one: string, other: string) => [
    [one, 'x'],
    ['longer', other],
    ['', 'y'],
  ]
  const colored = columns(rows(color('red', 'a'), color('bold', 'b')))
  expect(stripVTControlCharacters(colored)).toBe(columns(rows('a', 'b')))
  expect(columns(rows('a', 'b'))).toBe('a       x\nlonger  b\n        y')
})

test('a table may have more rows than a call has arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [String(index % 10), 'x'])
  expect(columns(rows).slice(0, 4)).toBe('0  x')
})

test('colours and bold in data are written out, and those of a command are shown', () => {
  vi.stubEnv('FORCE_COLOR', '1')
  vi.stubEnv('NO_COLOR', undefined)
  const data = `${color('green', 'allowed')}${color('bold', 'x')}\u001b[2J\u009b31m`
  const shown = forTerminal(`${paint('red', 'denied')} ${data}`)
  expect(shown).toBe(
    `${color('red', 'denied')} \\u{1b}[32mallowed\\u{1b}[39m\\u{1b}[1mx\\u{1b}[22m\\u{1b}[2J\\u{9b}31m`,
  )
  expect(shown.slice(color('red', 'denied').length)).not.toMatch(/\p{Cc}/u)
})
