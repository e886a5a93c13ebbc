/** `portcullis matrix lint` for readers, for programs, for code hosts and for GitHub Actions. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lintFile } from '../../matrix/index.ts'
import { annotations, reportText, sarifText } from '../../sidecar/cli/commands/matrix/lint-texts.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import { command } from '../support/processes/command-line.ts'
import { type Ended, run } from '../support/processes/processes.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const folder = newFolder()
const { statements: _, conflicts: __, ...rows } = smallMatrix()
const broken = join(folder, 'my matrix, 100%.json')
writeFileSync(
  broken,
  JSON.stringify(rows, undefined, 2).replace('"lobby"', '"Lobby"').replace('"title"', '"titel"'),
)
mkdirSync(join(folder, 'empty'))

const many = JSON.stringify({ ...rows, apis: Array.from({ length: 150 }, () => ({})) })

/** All findings about a text. */
const found = (text: string) => {
  const { problems, warnings } = lintFile(text)
  return [...problems, ...warnings]
}

test.each([
  ['errors', JSON.stringify(rows).replace('"lobby"', '"Lobby"')],
  [
    'warnings',
    JSON.stringify({
      ...rows,
      apis: [...rows.apis.slice(0, 1), { ...rows.apis[1], id: 'lobbi', accepts: [] }],
    }),
  ],
  ['more than a hundred', many],
  ['text that is not JSON', '['],
  ['nothing', JSON.stringify({ ...rows, apis: rows.apis.slice(0, 1) })],
])('each result in SARIF of %s names its rule and place', (_what, file) => {
  const findings = found(file)
  const log = JSON.parse(sarifText('folder/my file.json', findings))
  const [{ tool, results }] = log.runs
  expect(results).toHaveLength(findings.length)
  for (const [index, { ruleId, ruleIndex, level, locations }] of results.entries()) {
    const { code = 'more', severity, line, column } = findings[index] ?? {}
    expect([ruleId, tool.driver.rules[ruleIndex].id, level]).toEqual([code, code, severity])
    if (line === undefined) continue
    expect(locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: 'folder/my%20file.json' },
      region: { startLine: line, startColumn: column },
    })
  }
})

test('SARIF has the parts that 2.1.0 asks for (§3.13 to §3.30), and no other part', () => {
  const text = expect.stringMatching(/./)
  expect(JSON.parse(sarifText('my file.json', found('{"title": 5}')))).toEqual({
    $schema: expect.stringMatching(/sarif-schema-2\.1\.0\.json$/),
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            ...{ name: 'portcullis matrix lint', version: text },
            rules: [
              {
                ...{ id: 'malformed', shortDescription: { text }, help: { text } },
                defaultConfiguration: { level: 'error' },
              },
            ],
          },
        },
        columnKind: 'utf16CodeUnits',
        results: expect.arrayContaining([
          {
            ...{ ruleId: 'malformed', ruleIndex: 0, level: 'error', message: { text } },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: 'my%20file.json' },
                  region: { startLine: 1, startColumn: 2 },
                },
                logicalLocations: [{ fullyQualifiedName: 'title' }],
              },
            ],
          },
        ]),
      },
    ],
  })
})

test('an annotation is one line, whatever the file is named and says', () => {
  const lines = annotations(broken, found('{"a\\n::error::x": 1}')).trimEnd().split('\n')
  for (const line of lines)
    expect(line).toMatch(
      /^::error file=[^,:]*my matrix%2C 100%25\.json,(line=\d+,col=\d+,)?title=malformed::/,
    )
  expect(lines.length).toBeGreaterThan(1)
})

test('a fault of the text says its place once', () => {
  expect(reportText('m.json', lintFile('{"apis": [}'))).toContain(
    '\n  m.json:1:11: error[unreadable] expected JSON; value expected\n',
  )
})

test.each([
  [['--format', 'sarif'], /^\{"\$schema":.*"ruleId":"malformed".*\}\n$/],
  [['--format', 'github'], /^(::error file=.*\n)+$/],
  [['--format', 'json'], /^\{"conflicts":.*"code":"malformed".*\}\n$/],
  [['--json'], /^\{"conflicts":.*"severity":"error","fix":".*\}\n$/],
  [[], /: 3 problems\n.*error\[malformed\] .*\n\nwhat to do:\n {2,}malformed /s],
])('%j', async (options, printed) => {
  const ended = await command(['matrix', 'lint', broken, ...options])
  expect(ended).toMatchObject({ code: 1, stderr: '' })
  expect(ended.stdout).toMatch(printed)
})

test.each([
  [['matrix', 'lint', broken, '--json', '--format', 'text'], 'expected one of --json and --format'],
  [['matrix', 'lint', broken, '--format', 'xml'], 'Allowed choices are text, json, sarif, github'],
  [['matrix', 'lint', broken, '--strict'], "unknown option '--strict'"],
  [['matrix', '--html', 'x.html', 'lint', broken], "unknown option '--html'"],
  [['matrix', 'lint', join(folder, 'none.yaml')], 'none.yaml cannot be read (ENOENT)'],
  [['matrix', 'lint', join(folder, 'empty')], 'cannot be read (EISDIR)'],
])('%j is refused', async (words, message) => {
  const ended = await command(words)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain(message)
})

describe('any other command with an invalid matrix', () => {
  const noMatrix = newFile('{}', 'matrix.json')
  const INVALID = ['--matrix', noMatrix]
  const said = `${noMatrix}: the matrix is not valid:\n`

  test.each([['matrix'], ['plan', 'iam']])('names it in the error: %j', async (...args) => {
    const { code, stdout, stderr } = await command([...args, ...INVALID])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(`portcullis: ${said}`)
  })

  test.each<[run: (args: string[]) => Promise<Ended>, args: string[]]>([
    [command, ['matrix']],
    [command, ['plan', 'iam']],
    [run, ['serve', '--http', 'off', '--data', newFolder()]],
  ])('lists its problems in the JSON: %o %j', async (ask, args) => {
    const { code, stderr } = await ask([...args, ...INVALID, '--json'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(JSON.parse(stderr).error).toMatchObject({
      ...{ code: 'INVALID_ARGUMENT', reason: 'MATRIX_INVALID', message: expect.stringContaining(said) },
      violations: expect.arrayContaining([
        { field: 'apis', description: 'expected this field, it is missing' },
      ]),
    })
  })
})
