/** The commands that make and edit a matrix file: what they print, and that the file is always whole. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { loadMatrix } from '../../matrix/index.ts'
import { matrixForm } from '../../sidecar/rules/matrix-file/read.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

let folder: string
beforeEach(() => {
  folder = newFolder()
})

const FILES = ['matrix.jsonc', 'matrix.yaml', 'matrix.json']
const read = (file: string) => loadMatrix(readFileSync(file), matrixForm(file))
const begin = async (name: string, ...options: string[]) => {
  const file = join(folder, name)
  const ended = await command(['matrix', 'init', file, '--api', 'orders', '--api', 'refunds', ...options])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return file
}

describe.each(FILES)('%s', (name) => {
  test('begins valid, names its schema, and is never overwritten', async () => {
    const file = await begin(name, '--kind', 'day_pass', '--header', 'X-Day-Pass', '--title', 'Doors: all')
    expect(read(file)).toMatchObject({
      title: 'Doors: all',
      tokenKinds: [{ id: 'day_pass', header: 'X-Day-Pass' }],
    })
    expect(readFileSync(file, 'utf8')).toContain('./matrix.schema.json')
    expect(JSON.parse(readFileSync(join(folder, 'matrix.schema.json'), 'utf8')).title).toMatch(/matrix/)
    const before = readFileSync(file, 'utf8')
    const again = await command(['matrix', 'init', file])
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') })
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect((await command(['matrix', 'lint', file])).stdout).toBe(`${file}: no problem\n`)
  })

  test('is edited in place, with its mode, through a link, and says what that opens', async () => {
    const file = await begin(name)
    chmodSync(file, 0o640)
    const link = join(folder, `link.${name}`)
    symlinkSync(file, link)
    await command(['matrix', 'add', 'kind', 'day_pass', '--header', 'X-Day-Pass', '--matrix', link])
    const ended = await command(['matrix', 'accept', 'orders', 'day_pass', '--matrix', link, '--json'])
    const opened = { opened: [{ api: 'orders', kind: 'day_pass' }], closed: [] }
    expect(JSON.parse(ended.stdout)).toMatchObject({ written: true, lenient: opened, strict: opened })
    expect(read(file).apis[0]?.accepts).toEqual(['api_key', 'day_pass'])
    expect(statSync(file).mode & 0o777).toBe(0o640)
    expect(readdirSync(folder).sort()).toEqual([`link.${name}`, 'matrix.schema.json', name].sort())
  })

  test('a dry run writes nothing, and neither does an edit with a conflict or a fault', async () => {
    const file = await begin(name)
    const claim = '{"type":"manages","kind":"api_key","apis":["orders","refunds"],"complete":true}'
    const text = ['--section', 'page 2', '--text', 'All.', '--claim', claim]
    expect(await command(['matrix', 'add', 'statement', 'all', ...text, '--matrix', file])).toMatchObject({
      code: 0,
    })
    const before = readFileSync(file, 'utf8')
    const reject = ['matrix', 'reject', 'orders', 'api_key', '--matrix', file]
    const resolved = [...reject, '--table', '--reason', 'closed']
    expect((await command([...resolved, '--dry-run'])).stdout).toContain('would be changed')
    expect(await command(reject)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/contradiction about orders × api_key, by all\nadd --table/),
    })
    const faulty = await command(['matrix', 'add', 'api', 'No Id', '--matrix', file])
    expect(faulty).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/apis\[2\]\.id: expected a string that matches/),
    })
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect((await command(resolved)).stdout).toMatch(
      / {2}closes orders × api_key\n[\s\S]*declares orders-api_key-contradiction/,
    )
    const resolve = [
      'matrix',
      'resolve',
      'orders-api_key-contradiction',
      '--prose',
      '--reason',
      'open',
      '--matrix',
      file,
    ]
    expect((await command(resolve)).stdout).toMatch(/without strict mode:\n {2}opens orders × api_key\n/)
    expect(read(file).conflicts).toMatchObject([{ resolution: 'prose', reason: 'open' }])
  })
})

test.each([
  [['accept', 'order', 'api_key'], 'no API `order` in the matrix; did you mean orders?'],
  [['accept', 'orders', 'api_keys'], 'no token kind `api_keys` in the matrix; did you mean api_key?'],
  [['resolve', 'x', '--table', '--reason', 'y'], 'the matrix has no conflict'],
  [['resolve', 'x', '--table'], '--reason: expected why'],
  [
    ['reject', 'orders', 'api_key', '--table', '--prose', '--reason', 'x'],
    'expected one of --table and --prose',
  ],
  [['rename', 'orders', 'refunds'], 'expected a unique id, `refunds` is taken'],
  [['add', 'statement', 'x', '--section', 'x', '--text', 'x', '--claim', '{'], '--claim: expected JSON'],
  [['add', 'api', 'x', '--strict'], "unknown option '--strict'"],
])('%j is refused', async (words, message) => {
  const file = await begin('matrix.yaml')
  const before = readFileSync(file, 'utf8')
  const ended = await command(['matrix', ...words, '--matrix', file])
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  expect(readFileSync(file, 'utf8')).toBe(before)
})

test('an edit without a file is refused', async () => {
  for (const words of [
    ['accept', 'orders', 'api_key'],
    ['add', 'api', 'x'],
  ])
    expect(await command(['matrix', ...words])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--matrix: expected the path of a file'),
    })
})

test('an edit that is killed leaves the file as it was or as it will be', async () => {
  const file = await begin('matrix.jsonc')
  const padding = `// ${'x'.repeat(200_000)}\n`
  writeFileSync(file, `${padding}${readFileSync(file, 'utf8')}`)
  const edits = `
    const { editMatrixFile } = await import(${JSON.stringify(join(import.meta.dirname, '../../sidecar/cli/commands/matrix/edited-file.ts'))})
    for (;;) for (const type of ['reject', 'accept'])
      editMatrixFile({ matrix: ${JSON.stringify(file)} }, { type, api: 'orders', kind: 'api_key' })`
  for (let round = 0; round < 2; round++) {
    const seen = new Set<string>()
    const child = spawn(process.execPath, ['--input-type=module', '--eval', edits], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    child.stdout.resume()
    await eventually(() => seen.add(read(file).apis[0]?.accepts.join() ?? '').size === 2)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(readFileSync(file, 'utf8').startsWith(padding)).toBe(true)
    seen.add(read(file).apis[0]?.accepts.join() ?? '')
    expect([...seen].sort()).toEqual(['', 'api_key'])
  }
})

test('on a terminal init asks for what is not given, and takes what it suggests for an empty answer', async () => {
  const file = join(folder, 'asked.yaml')
  const terminal = new FakeTerminal('City library', '', 'Authorization', '', 'catalogue loans')
  expect(await command(['matrix', 'init', file], terminal)).toMatchObject({ code: 0, stderr: '' })
  expect(terminal.questions).toEqual([
    'What is the matrix called? [Our APIs] ',
    'Which kind of token is there? (id) [api_key] ',
    'Which header carries it? [X-Api-Key] ',
    'Which scheme stands before the token? (or none) [Bearer] ',
    'Which APIs does it open? (ids, with spaces) [orders] ',
  ])
  expect(read(file)).toMatchObject({
    title: 'City library',
    tokenKinds: [{ id: 'api_key', header: 'Authorization', scheme: 'Bearer' }],
    apis: [{ id: 'catalogue' }, { id: 'loans' }],
  })
  const plain = join(folder, 'plain.jsonc')
  const words = ['matrix', 'init', plain, '--title', 'x', '--kind', 'k', '--header', 'Authorization']
  expect((await command([...words, '--api', 'a'], new FakeTerminal('none'))).code).toBe(0)
  expect(read(plain).tokenKinds[0]?.scheme).toBeUndefined()
})

test('a kind is added with its scheme and its prefix', async () => {
  const file = await begin(
    'matrix.yaml',
    '--header',
    'Authorization',
    '--scheme',
    'Bearer',
    '--prefix',
    'key_',
  )
  const words = ['matrix', 'add', 'kind', 'kiosk', '--scheme', 'Kiosk', '--prefix', 'kio_', '--matrix', file]
  expect(JSON.parse((await command([...words, '--dry-run', '--json'])).stdout).kinds).toMatchObject([
    { kind: 'kiosk', field: 'kind', before: null, after: { scheme: 'Kiosk', lifetimeSeconds: null } },
  ])
  const ended = await command(words)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  // It opens no cell, and is obtained all the same.
  expect(ended.stdout).toMatch(
    /closes nothing\nfacts of kinds:\n {2}changed kiosk kind: none → .* prefix kio_, /,
  )
  expect(read(file).tokenKinds).toMatchObject([
    { header: 'Authorization', scheme: 'Bearer', prefix: 'key_' },
    { id: 'kiosk', header: 'Authorization', scheme: 'Kiosk', prefix: 'kio_' },
  ])
})
