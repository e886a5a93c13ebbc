/** The faults of a document, in words: by the keyword of a schema, in few and short texts. */
import { expect, test } from 'vitest'
import {
  firstProblems,
  Problems,
  pathOf,
  problemsBy,
  problemText,
  type SchemaError,
  schemaProblems,
} from '../../matrix/document/problems.ts'

const error = (keyword: string, params: SchemaError['params'], more: Partial<SchemaError> = {}) => ({
  ...{ keyword, instancePath: '/a', params },
  ...more,
})
const properties = { $schema: {}, title: {}, section: {} }

test.each<[expected: string, error: SchemaError, path?: string]>([
  [
    'unknown field; did you mean `title`?',
    error('additionalProperties', { additionalProperty: 'titel' }, { parentSchema: { properties } }),
    'a.titel',
  ],
  [
    'unknown field; expected one of title, section',
    error('unevaluatedProperties', { unevaluatedProperty: 'x' }, { parentSchema: { properties } }),
    'a.x',
  ],
  ['unknown field', error('additionalProperties', { additionalProperty: 'x' }, { parentSchema: {} }), 'a.x'],
  ['unknown field', error('additionalProperties', { additionalProperty: 'x' }), 'a.x'],
  ['expected this field, it is missing', error('required', { missingProperty: 'b' }), 'a.b'],
  ['expected a string', error('type', { type: 'string' })],
  ['expected an integer or null', error('type', { type: ['integer', 'null'] })],
  ['expected an object', error('type', { type: 'object' })],
  ['expected one of `one`, 2, null', error('enum', { allowedValues: ['one', 2, null] })],
  [
    'expected one of `account`, `project`; did you mean `project`?',
    error('enum', { allowedValues: ['account', 'project'] }, { data: 'projekt' }),
  ],
  [
    'expected one of `project`, 2, null; did you mean `project`?',
    error('enum', { allowedValues: ['project', 2, null] }, { data: 'projekt' }),
  ],
  ['expected one of `5`, `6`', error('enum', { allowedValues: ['5', '6'] }, { data: 5 })],
  ['expected `one`', error('const', { allowedValue: 'one' })],
  ['expected the name of a known type', error('discriminator', { tag: 'type' }), 'a.type'],
  ['expected a string that matches ^a$', error('pattern', { pattern: '^a$' })],
  ['expected another value: this one is reserved', error('not', {})],
  ['expected at least 1 character', error('minLength', { limit: 1 })],
  ['expected at least 2 characters', error('minLength', { limit: 2 })],
  ['expected at most 1 character', error('maxLength', { limit: 1 })],
  ['expected at least 0 items', error('minItems', { limit: 0 })],
  ['expected at most 1 item', error('maxItems', { limit: 1 })],
  ['expected at most 1 item, found 3', error('maxItems', { limit: 1 }, { data: [1, 2, 3] })],
  ['expected no repetition of an earlier item', error('uniqueItems', { i: 3, j: 1 }), 'a[3]'],
  ['expected no repetition of an earlier item', error('uniqueItems', { i: 1, j: 3 }), 'a[3]'],
  ['expected a number >= 1', error('minimum', { comparison: '>=', limit: 1 })],
  ['expected a number <= 9', error('maximum', { comparison: '<=', limit: 9 })],
  ['must be a mail address', error('format', {}, { message: 'must be a mail address' })],
  ['expected `format` to hold', error('format', {})],
  ['expected a string', error('type', { type: 'string' }, { instancePath: '' }), ''],
  ['expected a string', error('type', { type: 'string' }, { propertyName: 'b c' }), 'a["b c"]'],
  ['expected a string', error('type', { type: 'string' }, { instancePath: '/l/1/x~1y~0z' }), 'l[1]["x/y~z"]'],
  ['expected a string', error('type', { type: 'string' }, { instancePath: '/l/7/0' }), 'l[7]["0"]'],
])('%s', (expected, found, path = 'a') => {
  const document = { a: 1, l: [0, { 'x/y~z': 1 }] }
  expect(schemaProblems([found], document)).toEqual([{ path, expected }])
})

test('a repetition in the branches of a union is left out, and so is a second problem of a place', () => {
  const errors = [
    ...['oneOf', 'if', 'propertyNames'].map((keyword) => error(keyword, {})),
    ...[error('type', { type: 'string' }), error('minLength', { limit: 1 })],
  ]
  expect(schemaProblems(errors, {})).toEqual([{ path: 'a', expected: 'expected a string' }])
})

const at = (index: number) => error('type', { type: 'string' }, { instancePath: `/a${index}` })
const places = (count: number) => Array.from({ length: count }, (_, index) => at(index))

test.each<[what: string, errors: SchemaError[], described: number, last: string]>([
  ['a hundred places', places(100), 100, 'expected a string'],
  ['a hundred places, and one of them again', [...places(100), at(0)], 101, 'and 1 more'],
  ['more places', places(105), 101, 'and 5 more'],
  ['one place five hundred times', Array.from({ length: 500 }, () => at(0)), 1, 'expected a string'],
  [
    'one place more often, and another',
    [...Array.from({ length: 499 }, () => at(0)), at(1), at(2)],
    3,
    'and 1 more',
  ],
])('the first of many errors are described, and the others counted: %s', (_what, errors, described, last) => {
  const problems = schemaProblems(errors, {})
  expect([problems.length, problems.at(-1)?.expected]).toEqual([described, last])
})

test('a problem that is only counted is not made', () => {
  const problems = new Problems()
  let made = 0
  for (let index = 0; index < 103; index++)
    problems.add(() => ({ path: 'a', expected: `expected ${++made}` }))
  problems.count()
  expect([made, problems.list().at(-1)]).toEqual([100, { path: '', expected: 'and 4 more' }])
  expect(firstProblems(problems.list()).slice(-2)).toEqual([
    { path: 'a', expected: 'expected 100' },
    { path: '', expected: 'and 1 more' },
  ])
})

test.each<[length: number, shown: { path: number; expected: number }]>([
  [500, { path: 500, expected: 500 }],
  [501, { path: 501, expected: 501 }],
  [4_000, { path: 501, expected: 4_000 }],
  [4_001, { path: 501, expected: 4_001 }],
  [9_000, { path: 501, expected: 4_001 }],
])('the beginning of paths and texts of %d characters is shown', (length, shown) => {
  const [found] = firstProblems([{ path: 'p'.repeat(length), expected: 'e'.repeat(length) }])
  expect({ path: found?.path.length, expected: found?.expected.length }).toEqual(shown)
  expect([found?.path.endsWith('…'), found?.expected.endsWith('…')]).toEqual([length > 500, length > 4_000])
})

test.each<[path: string, segments: (string | number)[]]>([
  ['', []],
  ['a', ['a']],
  ['apis[3].accepts[0]', ['apis', 3, 'accepts', 0]],
  ['[0]', [0]],
  ['$a._b1', ['$a', '_b1']],
  ['a["b c"].d', ['a', 'b c', 'd']],
  ['["1a"]["a-b"][""]["ä"]', ['1a', 'a-b', '', 'ä']],
  [`a.${'k'.repeat(100)}`, ['a', 'k'.repeat(100)]],
  [`a["${'k'.repeat(100)}"]`, ['a', 'k'.repeat(101)]],
])('the path %s', (path, segments) => {
  expect(pathOf(segments)).toBe(path)
  expect(problemText({ path, expected: 'expected x' })).toBe(
    path === '' ? 'expected x' : `${path}: expected x`,
  )
})

test('a long value is not compared with the names that may be meant', () => {
  const long = (data: string) =>
    schemaProblems([error('enum', { allowedValues: ['k'.repeat(100)] }, { data })], {})
  expect(long('k'.repeat(5_000))[0]?.expected).toContain('did you mean')
})

test('a document that fits has no problem, and one that does not has those of its schema', () => {
  const validate = Object.assign((document: unknown) => document === 1, { errors: [at(1)] })
  expect(problemsBy(validate, 1)).toEqual([])
  expect(problemsBy(validate, 2)).toEqual([{ path: 'a1', expected: 'expected a string' }])
  expect(problemsBy(() => false, 2)).toEqual([])
})
