/** Reading YAML: the values of texts, refused texts and where; and places of paths. */
import { expect, test } from 'vitest'
import * as library from 'yaml'
import { yamlForm } from '../../matrix/document/yaml.ts'
import { yaml } from '../../matrix/yaml.ts'

test.each<[text: string, value: unknown]>([
  ['# c\na: 1 # d\n...\n', { a: 1 }],
  ['{a: 1, "b": [x, {}]}', { a: 1, b: ['x', {}] }],
  ['- - - x', [[['x']]]],
  ['a: ~\nb:\nc: null', { a: null, b: null, c: null }],
  ['', null],
  ['a: 0x10\nb: 0o17\nc: 1e3\nd: yes\ne: True', { a: 16, b: 15, c: 1000, d: 'yes', e: true }],
  ['a: >\n  x\n  y\nb: |\n  x\n  y\n', { a: 'x y\n', b: 'x\ny\n' }],
  ['"<<": {}', { '<<': {} }],
  [
    'a: \u00a0b\u{1f511}\ud7ff\ue000\ufefe\uff00\ufffd',
    { a: '\u00a0b\u{1f511}\ud7ff\ue000\ufefe\uff00\ufffd' },
  ],
  ['%YAML 1.2\n---\na: 1', { a: 1 }],
  [`${'['.repeat(64)}${']'.repeat(64)}`, JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`)],
])('%j is %j', (text, value) => {
  expect(yaml.read(text)).toEqual({ ok: true, value })
})

/** The reader of a text does not change its errors. */
const { stackTraceLimit } = Error

const ALIASES = 'expected YAML without aliases'
const ANCHORS = 'expected YAML without anchors'
const TAGS = 'expected YAML without tags'
const TEXTS = 'expected keys that are texts'
const PLAIN_KEYS = 'expected keys without anchors and tags'
const FINITE = 'expected a number that fits into 64 bits of floating point'
const HALF = 'expected text without half a surrogate pair'
const CONTROL = 'expected YAML without control characters'
const DEEP = 'expected at most 64 levels of nesting'

/** `line:column path: expected`. */
test.each<[text: string, ...problems: string[]]>([
  ['- &a x\n- *b', `1:6 [0]: ${ANCHORS}`, `2:3 [1]: ${ALIASES}`],
  ['a: &x [1]', `1:7 a: ${ANCHORS}`],
  ['a: &x {b: 1}', `1:7 a: ${ANCHORS}`],
  ['- &x', `1:5 [0]: ${ANCHORS}`],
  ['- !!foo x', `1:9 [0]: ${TAGS}`],
  ['- !<tag:x> y', `1:12 [0]: ${TAGS}`],
  ['a: !!int 5', `1:10 a: ${TAGS}`],
  ['? [a]\n: b', `1:3 : ${TEXTS}`],
  ['{: b}', `1:2 : ${TEXTS}`],
  ['5: a\nnull: b\ntrue: c', `1:1 : ${TEXTS}`, `2:1 : ${TEXTS}`, `3:1 : ${TEXTS}`],
  ['&x a: 1', `1:4 : ${PLAIN_KEYS}`],
  ['!!str a: 1', `1:7 : ${PLAIN_KEYS}`],
  ['a:\n  <<: {}', '2:3 a: expected YAML without merge keys'],
  ['a: 1\na: 2', '2:1 a: expected each key once, this one repeats'],
  ['- __proto__: 1', '1:3 [0].__proto__: expected another key: this one is reserved'],
  ['a: .inf\nb: [-.Inf, .nan]', `1:4 a: ${FINITE}`, `2:5 b[0]: ${FINITE}`, `2:12 b[1]: ${FINITE}`],
  ['- "\\ud800"', `1:3 [0]: ${HALF}`],
  ['- "\\ud800": 1', `1:3 [0]: ${HALF}`],
  ['b: 1\na: \ud800', `2:4 : ${HALF} at line 2, column 4`],
  ['b: 1\na: \u0007', `2:4 : ${CONTROL} at line 2, column 4`],
  ['a: \u007f', `1:4 : ${CONTROL} at line 1, column 4`],
  ['a: x\ufeffy', `1:5 : ${CONTROL} at line 1, column 5`],
  ['a: \ufffe', `1:4 : ${CONTROL} at line 1, column 4`],
  ['- &a *b', `1:6 : ${ALIASES} at line 1, column 6`],
  ['- *', `1:3 : ${ALIASES} at line 1, column 3`],
  ['- !a !b x', `1:6 : ${TAGS} at line 1, column 6`],
  ['a: 1\n---\nb: 2', '2:1 : expected YAML with one document; another one begins at line 2, column 1'],
  [
    'a: "x',
    '1:6 : expected YAML; a character is missing, such as a quote, a bracket or a colon, at line 1, column 6',
  ],
  [
    'a: [1',
    '1:6 : expected YAML; the indentation does not fit, or a bracket is not closed at line 1, column 6',
  ],
  ['"a\nb": 1', '1:1 : expected YAML; a key must be on one line at line 1, column 1'],
  ['a: b: c', '1:4 : expected YAML; block as implicit key at line 1, column 4'],
  ['a: ]', '1:4 : expected YAML; a character does not belong at line 1, column 4'],
  ['a:\n\t- b', '2:1 : expected YAML; a line is indented with a tab at line 2, column 1'],
  ['a: @x', '1:4 : expected YAML; bad scalar start at line 1, column 4'],
  ['%YAML 1.1\n---\na: 1', 'undefined:undefined : expected YAML 1.2, without a directive of another'],
  [`${'['.repeat(65)}${']'.repeat(65)}`, `1:65 : ${DEEP}`],
])('%j is refused: %s', (text, ...problems) => {
  const reading = yaml.read(text)
  const found = reading.ok
    ? []
    : reading.problems.map(({ line, column, path, expected }) => `${line}:${column} ${path}: ${expected}`)
  expect(found).toEqual(problems)
  expect(Error.stackTraceLimit).toBe(stackTraceLimit)
})

test('a text has half a million parts at most', () => {
  // Parsing that many takes a second, and shows nothing else.
  const parseDocument = (() => library.parseDocument('')) as typeof library.parseDocument
  const { read } = yamlForm({ ...library, parseDocument })
  expect(read('\n'.repeat(500_000))).toEqual({ ok: true, value: null })
  expect(read('\n'.repeat(500_001))).toMatchObject({
    problems: [{ path: '', expected: expect.stringContaining('at most 500000 parts') }],
  })
})

test('YAML has a name and a bound', () => {
  expect([yaml.id, yaml.bytesMax]).toEqual(['yaml', 4_194_304])
})

const TEXT = `a: 1
b:
  - c: [7, "x"]
  - []
  - 5
"a b": { a: { c: 1 } }
a: 2
`

test.each<[path: string, place: string | undefined]>([
  ['', undefined],
  // Of a key that repeats, the last one.
  ['a', '7:1'],
  ['b', '2:1'],
  ['b[0]', '3:5'],
  ['b[0].c', '3:5'],
  ['b[0].c[1]', '3:12'],
  ['b[1]', '4:5'],
  ['b[2]', '5:5'],
  // A missing value lies in its parent.
  ['b[3]', '2:1'],
  ['b[0].d', '3:5'],
  ['b[0].c[2]', '3:5'],
  ['b[2].d.e', '5:5'],
  ['b.c', '2:1'],
  ['b.map', '2:1'],
  ['[0]', undefined],
  ['c', undefined],
  ['["a b"].a.c', '6:15'],
])('the place of %s is %s', (path, place) => {
  const text = (found: { line: number; column: number } | undefined) =>
    found && `${found.line}:${found.column}`
  expect(yaml.placesOf(TEXT, [path]).map(text)).toEqual([place])
  expect(yaml.placesOf(TEXT, [])).toEqual([])
  expect(yaml.placesOf(TEXT, ['', path, 'b']).map(text)).toEqual([undefined, place, '2:1'])
})
