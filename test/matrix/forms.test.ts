/**
 * A matrix in JSON with comments and in YAML: it is the same matrix. Values that JSON does not have are
 * refused, with its path, line and column.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { type DocumentForm, jsonc, lintFile, loadMatrix, supportMatrix } from '../../matrix/index.ts'
import { yaml } from '../../matrix/yaml.ts'
import { problemsOf } from '../support/matrices/matrix-problems.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const shipped = readFileSync(new URL('../../matrix/support-matrix.json', import.meta.url), 'utf8')

test.each<[form: string, text: string, form: DocumentForm]>([
  ['JSON with comments', shipped, jsonc],
  ['YAML that is JSON', shipped, yaml],
  ['YAML', stringify(JSON.parse(shipped)), yaml],
  ['YAML in lines of 40 characters', stringify(JSON.parse(shipped), { lineWidth: 40 }), yaml],
  [
    'YAML with quotes and Windows’ line ends',
    stringify(JSON.parse(shipped), { defaultStringType: 'QUOTE_SINGLE' }).replaceAll('\n', '\r\n'),
    yaml,
  ],
  [
    'JSON with comments and commas',
    shipped
      .replaceAll(/\{ "id"/g, '/* a row */ { "id"')
      .replaceAll(/(?<=\}|\])\n/g, ', // the end\n')
      .replaceAll(/,,/g, ',')
      .replace(/, \/\/ the end\n$/, '\n// and this, too: "}",'),
    jsonc,
  ],
])('the shipped matrix in %s is the shipped matrix', (_form, text, form) => {
  expect(loadMatrix(text, form)).toEqual(supportMatrix)
  expect(loadMatrix(new TextEncoder().encode(text), form)).toEqual(supportMatrix)
})

const YAML = stringify(smallMatrix())
const at = (text: string, part: string) => {
  const lines = text.slice(0, text.indexOf(part)).split('\n')
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
}

describe('YAML refuses what JSON cannot say, and what is broken', () => {
  test.each<[claim: string, from: string | RegExp, to: string, problem: string, place: string]>([
    [
      'an anchor',
      'title: day pass',
      'title: &a day pass',
      'tokenKinds[0].title: expected YAML without anchors',
      'day pass',
    ],
    ['an alias', 'title: day pass', 'title: *a', 'tokenKinds[0].title: expected YAML without aliases', '*a'],
    [
      'a merge key',
      'title: day pass',
      '<<: {title: x}',
      'tokenKinds[0]: expected YAML without merge keys',
      '<<',
    ],
    ['a tag', 'title: day pass', 'title: !!str x', 'tokenKinds[0].title: expected YAML without tags', 'x\n'],
    [
      'a tag of one’s own',
      'title: day pass',
      'title: !env x',
      'tokenKinds[0].title: expected YAML without tags',
      'x\n',
    ],
    [
      'a key twice',
      'title: day pass',
      'title: a\n    "title": b',
      'tokenKinds[0].title: expected each key once, this one repeats',
      '"title"',
    ],
    [
      'a key that is a number',
      'title: day pass',
      '7: x',
      'tokenKinds[0]: expected keys that are texts',
      '7: x',
    ],
    [
      'a key that is a list',
      'title: day pass',
      '? [a]\n    : b',
      'tokenKinds[0]: expected keys that are texts',
      '[a]',
    ],
    [
      'a reserved key',
      'title: day pass',
      '__proto__: {}',
      'tokenKinds[0].__proto__: expected another key: this one is reserved',
      '__proto__',
    ],
    [
      'an infinite number',
      /lifetimeSeconds: \d+/,
      'lifetimeSeconds: .inf',
      'tokenKinds[0].lifetimeSeconds: expected a number that fits into 64 bits of floating point',
      '.inf',
    ],
    [
      'half a surrogate pair',
      'title: day pass',
      'title: "\\ud800"',
      'tokenKinds[0].title: expected text without half a surrogate pair',
      '"\\ud800"',
    ],
    [
      'yes, which is a text',
      'complete: true',
      'complete: yes',
      'statements[0].claim.complete: expected a boolean',
      'complete: yes',
    ],
    ['an id that is a number', 'id: day_pass', 'id: 0x10', 'tokenKinds[0].id: expected a string', 'id: 0x10'],
  ])('%s', (_claim, from, to, problem, place) => {
    const text = YAML.replace(from, to)
    expect(text).not.toBe(YAML)
    const { problems } = lintFile(text, yaml)
    const found = problems.map(
      ({ line, column, path, expected }) => `line ${line}, column ${column} ${path}: ${expected}`,
    )
    expect(found).toContain(`${at(text, place)} ${problem}`)
    expect(problemsOf(text, (file) => loadMatrix(file, yaml))).toContain(problem)
  })

  test.each<[claim: string, text: string, problem: string]>([
    [
      'a second document',
      'a: 1\n---\nb: 2',
      'expected YAML with one document; another one begins at line 2, column 1',
    ],
    ['another version', '%YAML 1.1\n---\na: 1', 'expected YAML 1.2, without a directive of another'],
    ['a tab', 'a:\n\t- b', 'expected YAML; a line is indented with a tab at line 2, column 1'],
    [
      'a list that does not end',
      'a: [1, 2',
      'expected YAML; the indentation does not fit, or a bracket is not closed at line 1, column 9',
    ],
    [
      'a wrong indent',
      'a:\n  b: 1\n c: 2',
      'expected YAML; the indentation does not fit, or a bracket is not closed at line 3, column 1',
    ],
    ['a control character', 'a: b\u0007', 'expected YAML without control characters at line 1, column 5'],
    ['a byte order mark', '\ufeffa: 1', 'expected UTF-8 text without a byte order mark at line 1, column 1'],
    ['an empty text', '', 'expected an object'],
    ['deep lists', '['.repeat(65) + ']'.repeat(65), 'expected at most 64 levels of nesting'],
    [
      'lists deeper than every stack',
      '['.repeat(20_000),
      expect.stringMatching(/^expected at most 64 levels of nesting at line 1, column \d+$/),
    ],
    [
      'lists in lines, deeper than every stack',
      '- '.repeat(20_000),
      expect.stringMatching(/^expected at most 64 levels of nesting at/),
    ],
    ['a bomb', 'a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]', 'a: expected YAML without anchors'],
    [
      'too many parts',
      '- \n'.repeat(260_000),
      'expected at most 500000 parts of YAML; write so large a document in JSON',
    ],
    [
      'too many bytes',
      ' '.repeat(4 * 1024 * 1024 + 1),
      'expected at most 4194304 bytes, found 4194305; write so large a matrix in JSON',
    ],
  ])('%s', (_claim, text, problem) => {
    expect(problemsOf(text, (file) => loadMatrix(file, yaml))[0]).toEqual(problem)
  })

  test.each<[claim: string, bytes: Uint8Array, problem: string]>([
    [
      'UTF-16',
      Buffer.from(`\ufeff${YAML}`, 'utf16le'),
      'expected UTF-8 text, found the byte order mark of UTF-16',
    ],
    [
      'UTF-16 without its mark',
      Buffer.from('a: 1', 'utf16le'),
      'expected YAML without control characters at line 1, column 2',
    ],
    ['Latin-1', Buffer.from('title: caf\xe9', 'latin1'), 'expected UTF-8 text'],
  ])('%s', (_claim, bytes, problem) => {
    expect(problemsOf(bytes, (file) => loadMatrix(file, yaml))).toEqual([problem])
  })

  test('no problem quotes the text', () => {
    const canary = 'Canary-8f14e45f'
    for (const text of [
      `*${canary}`,
      `!${canary} x`,
      `a: [${canary}`,
      `"\\${canary}"`,
      `a: b: ${canary}`,
      `%${canary}`,
    ])
      expect(problemsOf(text, (file) => loadMatrix(file, yaml)).join()).not.toContain(canary)
  })
})

test('a fault of a row of YAML has its place, as in JSON', () => {
  const text =
    'title: Doors\ntokenKinds:\n  - id: pass\napis:\n  - id: lobby\n    titel: Lobby\n    accepts: [key]\n    section: x\n'
  const { problems } = lintFile(text, yaml)
  expect(problems.map(({ line, column, path }) => [line, column, path]).slice(-4)).toEqual([
    [3, 5, 'tokenKinds[0].section'],
    [5, 5, 'apis[0].title'],
    [6, 5, 'apis[0].titel'],
    [7, 15, 'apis[0].accepts[0]'],
  ])
})
