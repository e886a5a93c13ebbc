/** `portcullis matrix import`, `source` and `export`: what they print and write, and their exit codes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { loadMatrix } from '../../matrix/index.ts'
import { matrixForm } from '../../sidecar/rules/matrix-file/read.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { newFolder } from '../support/suite/resources.ts'

const DOCUMENT = `# Library

A kiosk key never opens fines.

## Who opens what

| API | Staff badge | Kiosk key |
|---|---|---|
| Loans | ✓ | ✓ (1) |
| Fines | ✓ | – |
| Printers | – | ✓ |

(1) At night.
`

let folder: string
let document: string
beforeEach(() => {
  folder = newFolder()
  document = join(folder, 'tokens.md')
  writeFileSync(document, DOCUMENT)
})

const FILES = ['matrix.jsonc', 'matrix.yaml', 'matrix.json']
const read = (file: string): Matrix => loadMatrix(readFileSync(file), matrixForm(file))
const change = (from: string, to: string) => {
  const text = readFileSync(document, 'utf8')
  expect(text).toContain(from)
  writeFileSync(document, text.replace(from, to))
}
const done = async (...words: string[]) => {
  const ended = await command(['matrix', ...words])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return ended.stdout
}
const refused = async (says: RegExp, ...words: string[]) => {
  const ended = await command(['matrix', ...words])
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(says) })
}
const made = async (name = 'matrix.yaml', ...words: string[]) => {
  const file = join(folder, name)
  await done('import', document, '--matrix', file, '--write', ...words)
  return file
}

describe.each(FILES)('%s', (name) => {
  test('is made of a document, with its schema, and written only with --write', async () => {
    const file = join(folder, name)
    const shown = await done('import', document, '--matrix', file, '--place', 'X-Badge')
    expect(existsSync(file)).toBe(false)
    expect(shown).toContain(`${document}:7: table 1 of 1, under “Who opens what”: 3 APIs, 2 kinds`)
    expect(shown).toMatch(/^9 {5}loans {5}✓ {12}✓ \(note\)$/m)
    expect(shown).toContain(`${file}: would be made: add --write`)
    expect(await made(name, '--title', 'Doors', '--place', 'X-Badge')).toBe(file)
    expect(read(file)).toMatchObject({
      title: 'Doors',
      source: { document: 'tokens.md', digest: expect.stringMatching(/^sha256-[0-9a-f]{64}$/) },
      tokenKinds: [
        { id: 'staff_badge', title: 'staff badge', header: 'X-Badge', obtained: { by: 'elsewhere' } },
        { id: 'kiosk_key', section: 'Who opens what' },
      ],
      apis: [
        {
          id: 'loans',
          title: 'Loans',
          notes: { kiosk_key: 'At night.' },
          section: 'Who opens what',
          line: 9,
        },
        { id: 'fines', accepts: ['staff_badge'], line: 10 },
        { id: 'printers', accepts: ['kiosk_key'], line: 11 },
      ],
    })
    expect(existsSync(join(folder, 'matrix.schema.json'))).toBe(true)
    expect(await done('lint', file)).toBe(`${file}: no problem\n`)
    expect(await done('source', '--matrix', file)).toBe(`${document} says the same as ${file}\n`)
  })

  test('takes what a changed document says, and keeps its kinds, statements, comments and other rows', async () => {
    const file = await made(name)
    const claim = '{"type":"does_not_manage","kind":"kiosk_key","apis":["fines"]}'
    const words = ['--section', '1', '--text', 'A kiosk key never opens fines.', '--claim', claim]
    await done('add', 'statement', 'kiosks', ...words, '--matrix', file)
    await done('add', 'api', 'doors', '--accepts', 'kiosk_key', '--matrix', file)
    if (name !== 'matrix.json') {
      const mark = name === 'matrix.yaml' ? '# kept' : '// kept'
      writeFileSync(file, `${mark}\n${readFileSync(file, 'utf8')}`)
    }
    change('| Loans | ✓ | ✓ (1) |', '| News | ✓ | ✓ |\n| Loans | – | ✓ (1) |')
    change('| Printers | – | ✓ |\n', '')
    const before = readFileSync(file, 'utf8')
    const shown = await done('import', document, '--matrix', file)
    expect(shown).toMatch(/opens news × staff_badge[\s\S]*closes loans × staff_badge\n {2}closes printers/)
    expect(readFileSync(file, 'utf8')).toBe(before)
    await done('import', document, '--matrix', file, '--write')
    const { apis, statements, tokenKinds } = read(file)
    expect(apis.map(({ id, accepts, line }) => [id, accepts.join(), line])).toEqual([
      ['loans', 'kiosk_key', 10],
      ['fines', 'staff_badge', 11],
      ['doors', 'kiosk_key', undefined],
      ['news', 'staff_badge,kiosk_key', 9],
    ])
    expect(statements).toMatchObject([{ id: 'kiosks', line: 3 }])
    expect(tokenKinds).toHaveLength(2)
    expect(readFileSync(file, 'utf8').includes('kept')).toBe(name !== 'matrix.json')
  })
})

describe('an import', () => {
  test('with 300 changes writes the file anew, and says that its comments are gone', async () => {
    const rows = (kind: string) => Array.from({ length: 300 }, (_, index) => `| Row ${index} | ${kind} |`)
    writeFileSync(document, ['| API | Key |', '|---|---|', ...rows('✓ (a)')].join('\n'))
    const file = await made()
    writeFileSync(file, `# gone\n${readFileSync(file, 'utf8')}`)
    writeFileSync(document, ['| API | Key |', '|---|---|', ...rows('✓ (b)')].join('\n'))
    expect(await done('import', document, '--matrix', file, '--write')).toContain('without its comments')
    expect(read(file).apis.at(-1)).toMatchObject({ id: 'row-299', notes: { key: 'b' } })
    expect(readFileSync(file, 'utf8')).toMatch(/^# yaml-language-server: \$schema=.\/matrix\.schema\.json\n/)
  })

  test('asks about a mark on a terminal, and remembers the answer', async () => {
    change('| Fines | ✓ | – |', '| Fines | ✓ | Limited |')
    const file = join(folder, 'matrix.yaml')
    const terminal = new FakeTerminal('note')
    const words = ['matrix', 'import', document, '--matrix', file, '--write']
    expect(await command(words, terminal)).toMatchObject({ code: 0, stderr: '' })
    expect(terminal.questions).toEqual(['What does “Limited” mean (1 cell, line 10)? yes, no or note: '])
    expect(read(file)).toMatchObject({ source: { marks: { Limited: 'note' } } })
    expect(read(file).apis[1]).toMatchObject({ notes: { kiosk_key: 'Limited' } })
    await done('source', '--matrix', file)
    const other = new FakeTerminal('perhaps')
    expect(await command(['matrix', 'import', document], other)).toMatchObject({ code: 2 })
  })

  test('keeps a row that is printed twice as a statement, and declares that', async () => {
    change('| Printers |', '| Loans | ✓ | ✓ |\n| Printers |')
    const file = await made()
    expect(read(file)).toMatchObject({
      statements: [{ claim: { type: 'row_repeated', api: 'loans' }, line: 11 }],
      conflicts: [{ type: 'duplicate_row', resolution: 'table' }],
    })
    expect(await done('source', '--matrix', file)).toContain('says the same')
  })

  test('that contradicts a statement is refused until a side decides', async () => {
    const file = await made()
    const claim = '{"type":"does_not_manage","kind":"kiosk_key","apis":["fines"]}'
    const words = ['--section', '1', '--text', 'A kiosk key never opens fines.', '--claim', claim]
    await done('add', 'statement', 'kiosks', ...words, '--matrix', file)
    change('| Fines | ✓ | – |', '| Fines | ✓ | ✓ |')
    const before = readFileSync(file, 'utf8')
    const ended = await command(['matrix', 'import', document, '--matrix', file, '--write'])
    expect(ended).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/contradiction about fines × kiosk_key, by kiosks\nadd --resolve table/),
    })
    expect(readFileSync(file, 'utf8')).toBe(before)
    const resolved = ['--resolve', 'prose', '--reason', 'the table is wrong']
    await done('import', document, '--matrix', file, '--write', ...resolved)
    expect(read(file).conflicts).toMatchObject([{ resolution: 'prose', reason: 'the table is wrong' }])
  })

  test.each<[what: string, words: string[], says: RegExp]>([
    [
      'an unknown mark',
      [],
      /tokens\.md:10: .*“Limited” \(1 cell, line 10\); add --mark "Limited=yes", or no/,
    ],
    ['a mark that means something else', ['--mark', 'Limited=maybe'], /--mark: expected TEXT=yes/],
    ['a name without an id', ['--name', 'Loans'], /--name: expected TEXT=VALUE/],
    [
      'a place that is none',
      ['--place', 'Bearer token', '--mark', 'Limited=no'],
      /--place: expected a place such as/,
    ],
    [
      'a place of no kind',
      ['--place', 'Day pass=X-Pass', '--mark', 'Limited=no'],
      /--place: .*found `day pass`/,
    ],
    ['--write without a file', ['--write'], /--write: expected --matrix/],
    ['a side without a reason', ['--resolve', 'table', '--mark', 'Limited=no'], /--resolve and --reason/],
    ['a table that is not there', ['--table', '7'], /tokens\.md:7: expected one table 7/],
  ])('%s is refused in one sentence, and nothing is written', async (_what, words, says) => {
    change('| Fines | ✓ | – |', '| Fines | ✓ | Limited |')
    await refused(says, 'import', document, ...words)
  })

  test.each<[what: string, bytes: string | Uint8Array, says: RegExp]>([
    ['no table', 'text', /tokens\.md: expected a table, found none\n$/],
    ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x41, 0), /tokens\.md:1: expected UTF-8, found UTF-16\n$/],
    [
      '100 MB',
      new Uint8Array(100_000_000),
      /tokens\.md: expected at most 33554432 bytes, found 100000000\n$/,
    ],
  ])('a document with %s is refused in one sentence', async (_what, bytes, says) => {
    writeFileSync(document, bytes)
    await refused(says, 'import', document, '--matrix', join(folder, 'm.json'), '--write')
    expect(existsSync(join(folder, 'm.json'))).toBe(false)
  })

  test('shows no control character of a document on a terminal, and takes no text for a formula', async () => {
    const hostile = '\u001b[2J\u202ered'
    change('| Loans | ✓ | ✓ (1) |', `| =cmd() ${hostile} | ✓ | ✓ (${hostile}) |\n| Loans | ✓ | ✓ (1) |`)
    const file = join(folder, 'matrix.json')
    const shown = await done('import', document, '--matrix', file, '--write')
    expect(shown).not.toMatch(/[\u001b\u202e]/)
    const table = await done('export', '--matrix', file, '--format', 'csv')
    expect(table).toMatch(/^'=cmd\(\)/m)
    const json = await done('import', document, '--json')
    expect(json).not.toMatch(/[\u001b\u202e]/)
    expect(JSON.parse(json).apis[0].heading).toContain('=cmd()')
  })

  test('writes the routes of an OpenAPI description to a configuration', async () => {
    const description = join(folder, 'api.json')
    writeFileSync(
      description,
      JSON.stringify({
        openapi: '3.0.0',
        components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
        paths: { '/loans/{id}': { get: { operationId: 'getLoan', security: [{ key: [] }] } } },
      }),
    )
    const [file, routes] = [join(folder, 'matrix.json'), join(folder, 'portcullis.yaml')]
    const words = ['import', description, '--matrix', file, '--routes', routes]
    expect(await done(...words)).toContain('1 route: --routes FILE writes them with --write')
    expect(existsSync(routes)).toBe(false)
    expect(await done(...words, '--write')).toContain(`${routes}: 1 route`)
    const explained = await command([
      'route',
      'explain',
      'GET',
      'https://a.example/loans/7',
      '--config',
      routes,
    ])
    expect(explained).toMatchObject({ code: 0, stdout: expect.stringContaining('getloan') })
    await refused(/portcullis\.yaml is there already/, ...words, '--write')
    expect(await done('source', '--matrix', file)).toContain('says the same')
  })
})

describe('source', () => {
  const CHANGES: readonly [
    what: string,
    from: string,
    to: string,
    code: string,
    line: number,
    about: object,
  ][] = [
    [
      'a cell that closes',
      '| Fines | ✓ |',
      '| Fines | – |',
      'cell-closed',
      10,
      { api: 'fines', kind: 'staff_badge' },
    ],
    ['a cell that opens', '| Printers | – |', '| Printers | x |', 'cell-opened', 11, { api: 'printers' }],
    ['a footnote', 'At night.', 'By day.', 'note-changed', 9, { api: 'loans', kind: 'kiosk_key' }],
    ['a new row', '| Fines |', '| News | – | ✓ |\n| Fines |', 'row-added', 10, { api: 'news' }],
    ['a row that is gone', '| Fines | ✓ | – |\n', '', 'row-removed', 7, { api: 'fines' }],
    [
      'a row printed twice',
      '| Fines |',
      '| Loans | ✓ | ✓ |\n| Fines |',
      'repetition-added',
      10,
      { api: 'loans' },
    ],
    ['a quote', 'never opens fines', 'opens no fines', 'quote-removed', 7, { statement: 'kiosks' }],
  ]

  test.each(CHANGES)('names %s in every format, exits with 1, and takes it over', async (...row) => {
    const [, from, to, code, line, about] = row
    const file = await made()
    const claim = '{"type":"remark","kinds":["kiosk_key"]}'
    const words = ['--section', '1', '--text', 'A kiosk key never opens *fines*.', '--claim', claim]
    await done('add', 'statement', 'kiosks', ...words, '--matrix', file)
    await done('import', document, '--matrix', file, '--write')
    change(from, to)
    const printed = async (...format: string[]) => {
      const ended = await command(['matrix', 'source', '--matrix', file, ...format])
      expect(ended).toMatchObject({ code: 1, stderr: '' })
      return ended.stdout
    }
    const { differences } = JSON.parse(await printed('--json'))
    expect(differences).toMatchObject([{ code, line, ...about }])
    expect(await printed()).toMatch(new RegExp(`^${document}:${line} +${code} `, 'm'))
    expect(await printed('--format', 'markdown')).toContain(`| **${code}** |`)
    const sarif = JSON.parse(await printed('--format', 'sarif')).runs[0]
    expect(sarif.tool.driver).toMatchObject({ name: 'portcullis matrix source', rules: [{ id: code }] })
    expect(sarif.results[0].locations[0].physicalLocation.region.startLine).toBe(line)
    expect(await printed('--format', 'github')).toMatch(/^::error file=.*,title=/)
    await done('source', '--matrix', file, '--write')
    expect(await done('source', '--matrix', file)).toContain('says the same')
  })

  test('names a kind that is new, and one that is gone', async () => {
    const file = await made()
    change('| API | Staff badge | Kiosk key |', '| API | Staff badge | Day pass |')
    const { stdout } = await command(['matrix', 'source', '--matrix', file, '--json'])
    expect(JSON.parse(stdout).differences).toMatchObject([
      { code: 'column-added', kind: 'day_pass', line: 7 },
      { code: 'column-removed', kind: 'kiosk_key', line: 7 },
      { code: 'cell-opened', api: 'loans', kind: 'day_pass', line: 9 },
      { code: 'cell-opened', api: 'printers', kind: 'day_pass', line: 11 },
    ])
  })

  test('passes where only lines have moved, and the digest of the matrix stays', async () => {
    const file = await made()
    const { digest } = compile(read(file))
    change('# Library', '# Library\n\nMore.')
    expect(await done('source', '--matrix', file)).toContain('has changed, and says the same')
    await done('source', '--matrix', file, '--write')
    expect(read(file).apis[0]?.line).toBe(11)
    expect(compile(read(file)).digest).toBe(digest)
  })

  test('has no answer where a mark is not known, or the matrix names no document', async () => {
    const file = await made()
    change('| Fines | ✓ |', '| Fines | ? |')
    await refused(/tokens\.md:10: .*“\?”/, 'source', '--matrix', file)
    const plain = join(folder, 'plain.yaml')
    await done('init', plain)
    await refused(/plain\.yaml does not say which document/, 'source', '--matrix', plain)
    await refused(/--matrix: expected the path/, 'source')
  })
})
