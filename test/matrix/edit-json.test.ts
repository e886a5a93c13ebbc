/** Editing JSON in one place: the rest stays, to the last space. */
import { expect, test } from 'vitest'
import { type DocumentChange, editJson } from '../../matrix/document/edit.ts'

const append = (path: (string | number)[], value: unknown): DocumentChange => ({
  type: 'append',
  path,
  value,
})
const remove = (...path: (string | number)[]): DocumentChange => ({ type: 'remove', path })
const set = (path: (string | number)[], value: unknown): DocumentChange => ({ type: 'set', path, value })

/** Longer than a line of a row. */
const LONG = 'long '.repeat(40)

test.each<[claim: string, from: string, change: DocumentChange, to: string]>([
  ['a text in a line', '{"a": ["x"  ,"y"]} // c', append(['a'], 'z'), '{"a": ["x"  ,"y", "z"]} // c'],
  ['a text in an empty list', '{"a": [ ]}', append(['a'], 'z'), '{"a": ["z"]}'],
  ['a text behind a comment', '{"a": ["x" /* , */]}', append(['a'], 'z'), '{"a": ["x", "z" /* , */]}'],
  [
    'a row in lines',
    '{"a": [\n    {"b": 1} // one\n  ]}',
    append(['a'], { b: 2 }),
    '{"a": [\n    {"b": 1}, // one\n    { "b": 2 }\n  ]}',
  ],
  [
    'a row behind a comma',
    '{"a": [\n  {"b": 1}, // one\n]}',
    append(['a'], { b: 2 }),
    '{"a": [\n  {"b": 1}, // one\n  { "b": 2 },\n]}',
  ],
  [
    'a row in a list that is not there',
    '{\n  "b": 1 // one\n}',
    append(['a'], { b: 2 }),
    '{\n  "b": 1, // one\n  "a": [\n    { "b": 2 }\n  ]\n}',
  ],
  [
    'a row with Windows’ line ends',
    '{"a": [\r\n  {"b": 1}\r\n]}',
    append(['a'], { b: 2 }),
    '{"a": [\r\n  {"b": 1},\r\n  { "b": 2 }\r\n]}',
  ],
  ['one item less', '{"a": ["x", "y"  ] /* c */ }', remove('a', 0), '{"a": ["y"  ] /* c */ }'],
  ['the last item less', '{"a": ["x", "y"]}', remove('a', 1), '{"a": ["x"]}'],
  ['the last row less', '[\n  {}, // one\n  {} // two\n]', remove(1), '[\n  {} // one // two\n]'],
  ['the last row before a comma less', '[\n  {}, // one\n  {},\n]', remove(1), '[\n  {}, // one\n]'],
  ['another text', '{"a":   "x" // c\n}', set(['a'], 'y"'), '{"a":   "y\\"" // c\n}'],
  ['a comment above the next row', '[\n  {}, // one\n  // two\n  {}\n]', remove(0), '[\n  // two\n  {}\n]'],
  ['a comment in two lines', '[\n  1, /* one\n  */ 2\n]', remove(0), '[\n  2\n]'],
  ['an object', '{"a": {"b": 1} // c\n}', set(['a'], { b: [2] }), '{"a": { "b": [2] } // c\n}'],
  ['a key more', '{"a": {"b": 1}}', set(['a', 'c'], null), '{"a": {"b": 1, "c": null}}'],
  [
    'a key more in lines',
    '{\r\n  "b": 1 // one\r\n}',
    set(['c'], 'x'),
    '{\r\n  "b": 1, // one\r\n  "c": "x"\r\n}',
  ],
  ['a key less', '{\n  "b": 1, // one\n  "c": 2\n}', remove('b'), '{\n  "c": 2\n}'],
  ['the last key less', '{"b": 1, "c": 2}', remove('c'), '{"b": 1}'],
  // Lists.
  [
    'a row in an empty list',
    '{\r\n  "a": []\r\n}',
    append(['a'], { b: 2 }),
    '{\r\n  "a": [\r\n    { "b": 2 }\r\n  ]\r\n}',
  ],
  ['a list that is not there in a line', '{"b": 1}', append(['a'], 'x'), '{"b": 1, "a": [\n  "x"\n]}'],
  [
    'a list that is not there behind a comma',
    '{\r\n  "b": 1, // one\r\n}',
    append(['a'], { b: 2 }),
    '{\r\n  "b": 1, // one\r\n  "a": [\r\n    { "b": 2 }\r\n  ],\r\n}',
  ],
  [
    'a long row in a list that is not there',
    '{\n  "b": 1\n}',
    append(['a'], { b: LONG, c: [1, 2] }),
    `{\n  "b": 1,\n  "a": [\n    {\n      "b": "${LONG}",\n      "c": [1, 2]\n    }\n  ]\n}`,
  ],
  [
    'a row of 140 characters',
    '[\n  1\n]',
    append([], { b: LONG.slice(0, 127) }),
    `[\n  1,\n  { "b": "${LONG.slice(0, 127)}" }\n]`,
  ],
  [
    'a row of one more',
    '[\n  1\n]',
    append([], { b: LONG.slice(0, 128) }),
    `[\n  1,\n  {\n    "b": "${LONG.slice(0, 128)}"\n  }\n]`,
  ],
  ['a long row in a line', '[1]\r\n', append([], { b: LONG }), `[1, {\r\n  "b": "${LONG}"\r\n}]\r\n`],
  ['a row before a bracket', '{"a": [\n  1]\n}', append(['a'], 2), '{"a": [\n  1,\n  2]\n}'],
  ['a row before white space', '[\n  1,\n  2 ]', append([], 3), '[\n  1,\n  2,\n  3 ]'],
  [
    'a row before a bracket that something follows',
    '{"a": [\n  1,\n  2 ],\n"b": 3}',
    append(['a'], 3),
    '{"a": [\n  1,\n  2,\n  3 ],\n"b": 3}',
  ],
  [
    'a row behind a comment that begins as another one',
    '[\n  1 // /*\n  // */\n]',
    append([], 2),
    '[\n  1, // /*\n  2\n  // */\n]',
  ],
  ['a row behind carriage returns', '[\n  1 /* \r */\n]', append([], 2), '[\n  1, /* \r */\n  2\n]'],
  [
    'a row behind a comment on two lines, and a comma',
    '[\n  1 /* one\n  */ // two\n  ,\n]',
    append([], 2),
    '[\n  1 /* one\n  */ // two\n  ,\n  2,\n]',
  ],
  ['the only item less', '{"a": [ "x" ] }', remove('a', 0), '{"a": [] }'],
  ['a row on several lines less', '[\n  {\n    "a": 1\n  },\n  {}\n]', remove(0), '[\n  {}\n]'],
  ['a row less, with its comma on a line', '[\n  1\n  ,\n  2\n]', remove(0), '[\n  2\n]'],
  [
    'a row less, with space before its comma',
    '[\n  1 , // one\n  // two\n  2\n]',
    remove(0),
    '[\n  // two\n  2\n]',
  ],
  ['a row less behind a bracket', '[ 1, // one\n  2 ]', remove(0), '[ 2 ]'],
  ['a row less of two on a line', '[\n  1, 2\n]', remove(0), '[\n  2\n]'],
  [
    'a row less, with its comments',
    '[\n  1, /* a */ /* b */\n  // c\n  2\n]',
    remove(0),
    '[\n  // c\n  2\n]',
  ],
  ['a row less, with one that goes on', '[\n  1, /* a */ /* b\n  */ 2\n]', remove(0), '[\n  2\n]'],
  ['the last row less behind a comma', '[1 /* a */ , 2]', remove(1), '[1 /* a */]'],
  ['the last row less behind a comma and a comment', '[1 // a, b\n, 2]', remove(1), '[1 // a, b\n]'],
  [
    'the last row less behind a comment on two lines',
    '[1 /* a,\n*/, /* c */ 2, /* d */ ]',
    remove(1),
    '[1 /* a,\n*/, /* c */ /* d */ ]',
  ],
  ['the last row less behind two comments', '[1 // a\n/* b */, 2]', remove(1), '[1 // a\n/* b */]'],
  ['a row behind a comment with a comma', '[\n  1 // a, b\n]', append([], 2), '[\n  1, // a, b\n  2\n]'],
  [
    'a long row in an empty list',
    '{\n  "a": []\n}',
    append(['a'], { b: LONG }),
    `{\n  "a": [\n    {\n      "b": "${LONG}"\n    }\n  ]\n}`,
  ],
  // Values.
  ['a long text', '{"a": 1}', set(['a'], LONG), `{"a": "${LONG}"}`],
  [
    'a long list',
    '{\r\n\t"a": 1\r\n}',
    set(['a'], [LONG, 'x']),
    `{\r\n\t"a": [\r\n\t  "${LONG}",\r\n\t  "x"\r\n\t]\r\n}`,
  ],
  [
    'a long row',
    '{\n  "a": {\n  }\n}',
    set(['a'], { b: LONG, c: {} }),
    `{\n  "a": {\n    "b": "${LONG}",\n    "c": {}\n  }\n}`,
  ],
  [
    'lists and objects',
    '{"a": 1}',
    set(['a'], { b: [1, null], c: {} }),
    '{"a": { "b": [1, null], "c": {} }}',
  ],
])('%s', (_claim, from, change, to) => {
  expect(editJson(from, change)).toBe(to)
})
