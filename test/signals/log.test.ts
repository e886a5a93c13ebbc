/** A log that cannot be written does not stop the sidecar. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { prettyLine } from '../../sidecar/signals/log/pretty-log.ts'
import { startProcess } from '../support/processes/processes.ts'
import { passing, whenTheFileEnds } from '../support/suite/resources.ts'

const LINES = 20_000

/** Writes more lines than a pipe can buffer, reports that, and then writes a line from time to time. */
const PROGRAM = `
  import { newLog } from ${JSON.stringify(new URL('../../sidecar/signals/log/log.ts', import.meta.url).href)}
  const log = newLog({ level: 'info', format: 'auto' })
  for (let line = 0; line < ${LINES}; line++) log.info({ line }, 'a line')
  process.stdout.write('written')
  setInterval(() => log.info('one more'), 5)
`

function start(stderr: 'pipe' | number): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', 'pipe', stderr],
  })
  whenTheFileEnds(() => void child.kill('SIGKILL'))
  return child
}

test('if the pipe is not read, lines are dropped, and their number is logged as soon as lines can be written again', async () => {
  const child = start('pipe')
  const [said] = await once(child.stdout as Readable, 'data')
  expect(String(said)).toBe('written')
  let written = 0
  let dropped = 0
  for await (const line of createInterface(child.stderr as Readable)) {
    // Of one line only the beginning may have been written. It counts as dropped.
    const parsed = /^\{.*\}$/.test(line) ? (JSON.parse(line) as { line?: number; dropped?: number }) : {}
    if (parsed.line !== undefined) written++
    dropped += parsed.dropped ?? 0
    if (written + dropped >= LINES) break
  }
  expect(written).toBeGreaterThan(0)
  expect(dropped).toBeGreaterThan(0)
})

test.runIf(process.platform === 'linux')('if the disk is full, the sidecar keeps running', async () => {
  const full = openSync('/dev/full', 'w')
  const child = start(full)
  closeSync(full)
  const [said] = await once(child.stdout as Readable, 'data')
  expect(String(said)).toBe('written')
  // The process still runs after several more failed lines.
  await passing(50)
  expect(child.exitCode).toBeNull()
})

test('a line has escapes in place of invisible characters, and the same values', async () => {
  const name = 'a\u202eb\u009b2J\u{e0041}'
  const program = `
    import { newLog } from ${JSON.stringify(new URL('../../sidecar/signals/log/log.ts', import.meta.url).href)}
    newLog({ level: 'info', format: 'auto' }).info({ name: ${JSON.stringify(name)} }, ${JSON.stringify(name)})
  `
  const child = startProcess([process.execPath, '--input-type=module', '-e', program])
  const { stderr } = await child.ended
  expect(stderr).toMatch(/^[\x20-\x7e]+\n$/)
  expect(JSON.parse(stderr)).toMatchObject({ name, msg: name })
})

const PRETTY: [what: string, line: object, text: string][] = [
  [
    'a time, a level and a message',
    { level: 30, time: 0, msg: 'a worker is ready', worker: 12 },
    '00:00:00.000 info  a worker is ready worker=12\n',
  ],
  [
    'texts of several words in quotes',
    { level: 40, time: 1, msg: 'a login failed', source: 'this machine', reason: 'LOGIN_FAILED' },
    '00:00:00.001 warn  a login failed source="this machine" reason=LOGIN_FAILED\n',
  ],
  [
    'the stack of an error on lines of its own',
    { level: 50, time: 0, msg: 'failed', err: { type: 'Error', message: 'a', stack: 'Error: a\n    at b' } },
    '00:00:00.000 error failed\n    Error: a\n    at b\n',
  ],
  [
    'escapes in place of what a terminal would obey',
    { level: 60, time: 0, msg: 'a\u001b[2Jb', name: 'c\u202e', err: { stack: 'd\u009b' } },
    '00:00:00.000 fatal a\\u{1b}[2Jb name=c\\u{202e}\n    d\\u{9b}\n',
  ],
]

test.each(PRETTY)('a line for people has %s', (_what, line, text) => {
  expect(prettyLine(JSON.stringify(line))).toBe(text)
})

test.each<[format: string, environment: Record<string, string>, shape: RegExp]>([
  ['auto', {}, /^\{"level":30,.*\}\n$/],
  ['json', { FORCE_COLOR: '1' }, /^\{"level":30,.*\}\n$/],
  ['pretty', {}, /^[\d:.]{12} info {2}one name=a\n$/],
  ['pretty', { NO_COLOR: '1' }, /^[\d:.]{12} info {2}one name=a\n$/],
  ['pretty', { FORCE_COLOR: '1' }, /^\u001b\[90m[\d:.]{12}\u001b\[39m \u001b\[32minfo/],
])('in a pipe the format %s with %j gives %s', async (format, environment, shape) => {
  const program = `
    import { newLog } from ${JSON.stringify(new URL('../../sidecar/signals/log/log.ts', import.meta.url).href)}
    newLog({ level: 'info', format: '${format}' }).info({ name: 'a' }, 'one')
  `
  const env = { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, ...environment }
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
  })
  let text = ''
  for await (const chunk of child.stderr) text += String(chunk)
  expect(text).toMatch(shape)
})
