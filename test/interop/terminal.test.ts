/** The command line on a real terminal: it asks before destructive changes, and shows colours. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import type { DirectoryClient } from '../../clients/typescript/index.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { pythonProgram } from '../support/interop/python.ts'
import { type Ended, LAUNCHER, serve, startProcess } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const terminal = inject('terminal')
const PORTCULLIS = [process.execPath, LAUNCHER]
/** Keys that a terminal turns into a signal or into the end of the input. */
const KEYS = { interrupt: '\u0003', endOfInput: '\u0004' }

interface Shown {
  readonly code: Ended['code']
  /** Everything on the terminal, including the typed text. */
  readonly screen: string
}

/** Runs a program on a terminal, and types the answer when it asks. */
async function onTerminal(
  program: readonly string[],
  { answer, environment = {} }: { answer?: string; environment?: Record<string, string> } = {},
): Promise<Shown> {
  if (!terminal.ok) throw new Error(terminal.why)
  const [python = ''] = terminal.command
  const child = startProcess([python, pythonProgram('terminal.py'), ...program], {
    environment: { TERM: 'xterm-256color', ...environment },
    input: 'open',
  })
  if (answer !== undefined)
    child
      .until(() => child.stdout().includes('[y/N] '))
      .then(
        () => child.write(answer),
        // It ends without a question. Its output shows that.
        () => {},
      )
  const { code, stdout } = await child.ended
  return { code, screen: stdout.replaceAll('\r\n', '\n') }
}

describe.skipIf(!terminal.ok)('on a real terminal', () => {
  let address: string
  let data: string
  let directory: DirectoryClient
  let account = ''
  let accounts = 234_566
  beforeAll(async () => {
    data = join(newFolder(), 'data')
    const { ready } = await serve(['--dev', '--data', data])
    address = ready.grpc
    const callerToken = readFileSync(join(data, 'administrator-token'), 'utf8').trim()
    const client = connect(address, { callerToken })
    whenTheFileEnds(() => client.close())
    directory = client.directory
  })

  test.each<[environment: Record<string, string>, line: RegExp]>([
    [{}, /^\u001b\[90m[\d:.]{12}\u001b\[39m \u001b\[32minfo \u001b\[39m one \u001b\[90mname=\u001b\[39ma\n$/],
    [{ NO_COLOR: '1' }, /^[\d:.]{12} info {2}one name=a\n$/],
  ])('the log is for people, with %j', async (environment, line) => {
    const program = newFile(
      `import { newLog } from '${ROOT}sidecar/signals/log/log.ts'
newLog({ level: 'info', format: 'auto' }).info({ name: 'a' }, 'one')`,
      'log.mjs',
    )
    const { screen } = await onTerminal([process.execPath, program], { environment })
    expect(screen).toMatch(line)
  })

  const newAccount = async () => {
    account = String(++accounts)
    await directory.createAccount({ account })
    for (const name of ['alpha', 'beta']) await directory.createProject({ account, name })
    for (const name of ['olga', 'igor', 'eve']) await directory.createControlPanelUser({ account, name })
  }
  const exists = () =>
    directory.getAccount({ account }).then(
      () => true,
      () => false,
    )
  const deleting = (...flags: string[]) => [
    ...[...PORTCULLIS, 'account', 'delete', account, '--address', address, '--data', data],
    ...flags,
  ]
  const question = () => `Delete account ${account} with 2 projects and 3 users? [y/N] `

  test.each([
    ['n', 'n\n'],
    ['nothing', '\n'],
    ['the end of the input', KEYS.endOfInput],
  ])('%s is a no: nothing is changed, and the exit code is 2', async (_claim, answer) => {
    await newAccount()
    const { code, screen } = await onTerminal(deleting(), { answer })
    expect(code).toBe(2)
    expect(screen).toContain(question())
    expect(stripVTControlCharacters(screen)).toMatch(/\nportcullis: not confirmed, so nothing was changed\n$/)
    expect(await exists()).toBe(true)
  })

  test('Ctrl-C ends the command, and nothing is changed', async () => {
    await newAccount()
    const { code } = await onTerminal(deleting(), { answer: KEYS.interrupt })
    expect(code).toBe(130)
    expect(await exists()).toBe(true)
  })

  test('y is a yes', async () => {
    await newAccount()
    const { code, screen } = await onTerminal(deleting(), { answer: 'y\n' })
    expect(code).toBe(0)
    expect(screen.startsWith(question())).toBe(true)
    expect(stripVTControlCharacters(screen)).toMatch(/\nprojects +2\nusers +3\n$/)
    expect(await exists()).toBe(false)
  })

  test('with --yes there is no question', async () => {
    await newAccount()
    const { code, screen } = await onTerminal(deleting('--yes'))
    expect(code).toBe(0)
    expect(screen).not.toContain('[y/N]')
    expect(await exists()).toBe(false)
  })

  test.each(['< /dev/null', '2> /dev/null'])(
    'with %s a question cannot be answered, so none is asked',
    async (how) => {
      await newAccount()
      const line = deleting()
        .map((word) => `'${word}'`)
        .join(' ')
      const { code, screen } = await onTerminal(['/bin/sh', '-c', `${line} ${how}`])
      expect(code).toBe(0)
      expect(screen).not.toContain('[y/N]')
      expect(await exists()).toBe(false)
    },
  )

  test.each<[claim: string, colored: boolean, environment: Record<string, string>, args: string[]]>([
    ['by default', true, {}, []],
    ['with an empty NO_COLOR', true, { NO_COLOR: '' }, []],
    ['with NO_COLOR', false, { NO_COLOR: '1' }, []],
    ['on a terminal without colours', false, { TERM: 'dumb' }, []],
    ['with FORCE_COLOR=0', false, { FORCE_COLOR: '0' }, []],
    ['with --no-color', false, {}, ['--no-color']],
    ['with --json', false, {}, ['--json']],
  ])('colours %s: %j', async (_claim, colored, environment, args) => {
    const { code, screen } = await onTerminal([...PORTCULLIS, 'matrix', ...args], { environment })
    expect(code).toBe(0)
    expect(screen.includes('\u001b[')).toBe(colored)
  })

  test('a pipe gets no colours, even if standard error is a terminal', async () => {
    const line = `'${process.execPath}' '${LAUNCHER}' matrix | cat`
    expect((await onTerminal(['/bin/sh', '-c', line])).screen).not.toContain('\u001b[')
  })

  test('errors are red, except with --json', async () => {
    expect(await onTerminal([...PORTCULLIS, 'nope'])).toMatchObject({
      code: 2,
      screen: expect.stringMatching(/^\u001b\[31mportcullis:\u001b\[39m unknown command 'nope'\n/),
    })
    expect((await onTerminal([...PORTCULLIS, 'nope', '--json'])).screen).toMatch(/^\{"error":.*\}\n$/)
  })
})
