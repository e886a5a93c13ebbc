/** Reading JSON, with comments and without: accepted and refused texts, and where; and places of paths. */
import { expect, test } from 'vitest'
import { formOfName, forms, json, jsonc, type ReadingOptions, readJson } from '../../matrix/document/index.ts'
import { placesOf, segmentsOf } from '../../matrix/document/places.ts'

test.each([
  ['matrix.json', 'json'],
  ['matrix.JSON', 'json'],
  ['matrix.jsonc', 'jsonc'],
  ['matrix.yaml', 'yaml'],
  ['folder.json/matrix.yml', 'yaml'],
  ['matrix.YML', 'yaml'],
  ['matrix', 'jsonc'],
  ['yaml', 'jsonc'],
  ['/dev/fd/63', 'jsonc'],
  ['matrix.yaml.bak', 'jsonc'],
])('a file named %s is %s', (name, form) => {
  expect(formOfName(name)).toBe(form)
})

test.each<[text: string, value: unknown, inJson?: boolean]>([
  ['// a\n{"a": 1} // b', { a: 1 }],
  ['/* {"a": 2,} */ {"a": [1, 2, /* 3 */],}', { a: [1, 2] }],
  ['{"a": "// no, /* no */ ,}", "b": ",]"}', { a: '// no, /* no */ ,}', b: ',]' }, true],
  ['[{},[],]', [{}, []]],
])('JSON with comments: %s', (text, value, inJson = false) => {
  expect(readJson(text, { comments: true })).toEqual({ ok: true, value })
  expect(readJson(text).ok).toBe(inJson)
})

test.each(['[,]', '{,}', '[1,,]', '{"a":1,,}', '/* open', '[1] // a\n[2]', '{"a":1,"a":2,}'])(
  'JSON with comments refuses %s',
  (text) => {
    expect(readJson(text, { comments: true }).ok).toBe(false)
  },
)

const REPEATS = 'expected each key once, this one repeats'
const RESERVED = 'expected another key: this one is reserved'
const HALF = 'expected text without half a surrogate pair'
const FINITE = 'expected a number that fits into 64 bits of floating point'
const DEEP = 'expected at most 64 levels of nesting'

/** `line:column path: expected`. */
test.each<[text: string, problems: string[], options?: ReadingOptions]>([
  ['{"a": 1,\n "a": 2, "b": {"b": 1, "b": 2}}', [`2:2 a: ${REPEATS}`, `2:24 b.b: ${REPEATS}`]],
  ['{"a": 1,\n "a": 2, "b": {"b": 1, "b": 2}}', [`2:2 a: ${REPEATS}`], { firstProblem: true }],
  ['{"a": {"b": 1}, "b": [{"b": 1}, {"b": 2}]}', []],
  ['[{"__proto__": 1}]', [`1:3 [0].__proto__: ${RESERVED}`]],
  ['[{"__proto__": 1}]', [], { anyKey: true }],
  ['{"proto": 1}', []],
  ['{"\\ud800": "\\ud800"}', [`1:2 ["\\ud800"]: ${HALF}`, `1:12 ["\\ud800"]: ${HALF}`]],
  ['[1, "\\udc00", "\\ud83d\\ude00"]', [`1:5 [1]: ${HALF}`]],
  ['{"a": [1e999, -1e999, 1e99]}', [`1:8 a[0]: ${FINITE}`, `1:15 a[1]: ${FINITE}`]],
  ['['.repeat(64) + ']'.repeat(64), []],
  [`\n ${'['.repeat(65)}`, [`2:66 : ${DEEP}`]],
  [`${'{"a":'.repeat(64)}{`, [`1:321 : ${DEEP}`]],
  [`[${'[],{},'.repeat(70)}0]`, []],
  ['[1,\n x, y]', ['2:2 : expected JSON; invalid symbol at line 2, column 2']],
  ['{"a" 1}', ['1:6 : expected JSON; colon expected at line 1, column 6']],
  ['{"a": 1 /* b */}', ['1:9 : expected JSON; invalid comment token at line 1, column 9']],
  ['[1,]', ['1:4 : expected JSON; value expected at line 1, column 4']],
  ['[1,]', [], { comments: true }],
])('%j: %j', (text, problems, options) => {
  const reading = readJson(text, options)
  const found = reading.ok
    ? []
    : reading.problems.map(({ line, column, path, expected }) => `${line}:${column} ${path}: ${expected}`)
  expect(found).toEqual(problems)
  if (reading.ok) expect(reading.value).toEqual(JSON.parse(text.replace('1,]', '1]')))
})

test.each<[text: string, value: unknown]>([
  ['[1, /* a */ 2 /* b */ , // c\n 3 , ]', [1, 2, 3]],
  ['{"a": {"b": [1,],},}', { a: { b: [1] } }],
  ['[/* , */]', []],
  ['[1, 2]', [1, 2]],
  ['[{"a": 1},\n /* end */ ]', [{ a: 1 }]],
])('comments, and commas behind the last items, are passed over: %j', (text, value) => {
  expect(readJson(text, { comments: true })).toEqual({ ok: true, value })
})

test('a form reads its texts, and says where paths are', () => {
  expect(forms).toEqual({ json, jsonc })
  expect([json.id, jsonc.id, json.bytesMax, jsonc.bytesMax]).toEqual([
    'json',
    'jsonc',
    33_554_432,
    33_554_432,
  ])
  expect([json.read('[1] // a').ok, jsonc.read('[1] // a').ok]).toEqual([false, true])
  expect([json, jsonc].map((form) => form.placesOf('[1]', ['[0]']))).toEqual(
    [1, 2].map(() => [{ line: 1, column: 2 }]),
  )
})

const TEXT = `{
  "a": 1, "b": [
    {"c": [7, "x"]},
    [], 5
  ],
  "a b": {"a": {"c": 1}}, "a": 2
}`

test.each<[path: string, place: string | undefined]>([
  ['', undefined],
  // Of a key that repeats, the last one.
  ['a', '6:27'],
  ['b', '2:11'],
  ['b[0]', '3:5'],
  ['b[0].c', '3:6'],
  ['b[0].c[0]', '3:12'],
  ['b[0].c[1]', '3:15'],
  ['b[1]', '4:5'],
  ['b[2]', '4:9'],
  // A missing value lies in its parent.
  ['b[3]', '2:11'],
  ['b[0].d', '3:5'],
  ['b[0].c[2].e', '3:6'],
  ['c', undefined],
  ['["a b"]', '6:3'],
  ['["a b"].a', '6:11'],
  ['["a b"].a.c', '6:17'],
])('the place of %s is %s', (path, place) => {
  const text = (found: { line: number; column: number } | undefined) =>
    found && `${found.line}:${found.column}`
  expect(placesOf(TEXT, [path]).map(text)).toEqual([place])
  // Asked with others it is the same.
  expect(placesOf(TEXT, ['b[0].c[1]', path, 'a', path]).map(text)).toEqual(['3:15', place, '6:27', place])
})

test.each<[path: string, segments: (string | number)[]]>([
  ['', []],
  ['a', ['a']],
  ['a.b[12].$c_1', ['a', 'b', 12, '$c_1']],
  ['[0][1]', [0, 1]],
  ['a["b \\"c\\" [0]"].d["e\\\\"]', ['a', 'b "c" [0]', 'd', 'e\\']],
  ['[""]', ['']],
])('the segments of %s', (path, segments) => {
  expect(segmentsOf(path)).toEqual(segments)
})

test('a document that is wrong as a whole is not walked', () => {
  expect(placesOf('['.repeat(1_000_000), ['', ''])).toEqual([undefined, undefined])
})
