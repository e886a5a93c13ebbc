/** Editing YAML in one place: the rest stays, to the last space. */
import { expect, test } from 'vitest'
import * as library from 'yaml'
import type { DocumentChange } from '../../matrix/document/edit.ts'
import { yamlEditor } from '../../matrix/document/edit-yaml.ts'

const editYaml = yamlEditor(library)

const append = (path: (string | number)[], value: unknown): DocumentChange => ({
  type: 'append',
  path,
  value,
})
const remove = (...path: (string | number)[]): DocumentChange => ({ type: 'remove', path })
const set = (path: (string | number)[], value: unknown): DocumentChange => ({ type: 'set', path, value })

test.each<[claim: string, from: string, change: DocumentChange, to: string]>([
  ['a text in a line', 'a: [x,  y] # c\n', append(['a'], 'z'), 'a: [x,  y, z] # c\n'],
  ['a text in an empty list', 'a: [] # c\n', append(['a'], 'null'), 'a: ["null"] # c\n'],
  [
    'a text in lines',
    'a:\n  - x # one\n# end\nb: 1\n',
    append(['a'], 'z'),
    'a:\n  - x # one\n  - z\n# end\nb: 1\n',
  ],
  ['a text at the end', 'a:\n- x', append(['a'], 'z'), 'a:\n- x\n- z'],
  [
    'a row',
    'a:\n  - b: 1\n\nc: 1\n',
    append(['a'], { b: 2, c: ['x: y'] }),
    'a:\n  - b: 1\n  - b: 2\n    c: ["x: y"]\n\nc: 1\n',
  ],
  ['a row in a list that is not there', 'b: 1', append(['a'], { b: 2 }), 'b: 1\na:\n  - b: 2\n'],
  ['one item less', 'a:\n  - x # one\n  - y # two\n', remove('a', 0), 'a:\n  - y # two\n'],
  ['the last item less', 'a:\n  - x # one\n  - y # two\nb: 1\n', remove('a', 1), 'a:\n  - x # one\nb: 1\n'],
  ['the only item less', 'a:\n  - x\nb: 1\n', remove('a', 0), 'a: []\nb: 1\n'],
  [
    'the only item below a comment less',
    'a:\n  # one\n  - x # x\n\n# end\nb: 1\n',
    remove('a', 0),
    'a: []\n  # one\n\n# end\nb: 1\n',
  ],
  ['an item in a line less', 'a: [x,  y, z]\n', remove('a', 1), 'a: [x,  z]\n'],
  ['the last one in a line less', 'a: [x,  y]\n', remove('a', 1), 'a: [x]\n'],
  [
    'a comment above the next row',
    'a:\n  - b: 1 # one\n    c: 1\n  # two\n  - b: 2\n',
    remove('a', 0),
    'a:\n  # two\n  - b: 2\n',
  ],
  [
    'a block',
    'a: # c\n  b: 1\n  d: 2 # e\nf: 1\n',
    set(['a'], { b: ['x y'] }),
    'a: { b: ["x y"] } # c\nf: 1\n',
  ],
  ['a folded text', 'a: >\n  one\n  two\nb: 1\n', set(['a'], 'x'), 'a: x\nb: 1\n'],
  ['an empty value', 'a:\nb: 1\n', set(['a'], 5), 'a: 5\nb: 1\n'],
  [
    'a key more',
    'a:\n  - b: 1\n    c: [x] # one\n\n  - b: 2\n',
    set(['a', 0, 'd'], 'y'),
    'a:\n  - b: 1\n    c: [x] # one\n    d: y\n\n  - b: 2\n',
  ],
  ['a key more in a line', 'a: { b: 1 } # c\n', set(['a', 'd'], 2), 'a: { b: 1, d: 2 } # c\n'],
  ['a key less', 'a: 1\nb: 2 # two\n# three\nc: 3\n', remove('b'), 'a: 1\n# three\nc: 3\n'],
  ['the first key less', '- a: 1\n  b: 2\n', remove(0, 'a'), '- b: 2\n'],
  ['the last key less', 'a: { b: 1, c: 2 }\n', remove('a', 'c'), 'a: { b: 1 }\n'],
  ['another text', "a:   'x' # c\n", set(['a'], 'no: yes'), 'a:   "no: yes" # c\n'],
  // Lists.
  ['two items in a line', 'a: [x]\n', append(['a'], ['y', 5]), 'a: [x, [y, 5]]\n'],
  [
    'a text in lines, in brackets',
    'a: [\n  x, # one\n  y\n]\n',
    append(['a'], 'z'),
    'a: [\n  x, # one\n  y,\n  z\n]\n',
  ],
  [
    'a text in lines behind a comma, in brackets',
    'a: [\n  x # one, two\n  ,\n]\n',
    append(['a'], 'z'),
    'a: [\n  x # one, two\n  ,\n  z,\n]\n',
  ],
  ['a row in an empty list', 'a: []\nc: 1\n', append(['a'], { b: 2 }), 'a:\n  - b: 2\nc: 1\n'],
  [
    'a row in an empty list inside',
    'x:\r\n  a: []\r\n',
    append(['x', 'a'], { b: 2, c: 3 }),
    'x:\r\n  a:\r\n    - b: 2\r\n      c: 3\r\n',
  ],
  ['a row in an empty list in a line', '{ a: [] }\n', append(['a'], { b: 2 }), '{ a: [{ b: 2 }] }\n'],
  [
    'a row in a list that is not there, with Windows’ line ends',
    'b: 1\r\n',
    append(['a'], { b: 2 }),
    'b: 1\r\na:\r\n  - b: 2\r\n',
  ],
  [
    'a row with Windows’ line ends',
    'a:\r\n  - b: 1 # one\r\nc: 1\r\n',
    append(['a'], { b: 2, c: 3 }),
    'a:\r\n  - b: 1 # one\r\n  - b: 2\r\n    c: 3\r\nc: 1\r\n',
  ],
  [
    'a row behind a text in lines',
    'a:\r\n  - b: |\r\n      one\r\n\r\nc: 1\r\n',
    append(['a'], { b: 2 }),
    'a:\r\n  - b: |\r\n      one\r\n  - b: 2\r\n\r\nc: 1\r\n',
  ],
  ['a row below a dash', 'a:\n  -\n    b: 1\n', append(['a'], { b: 2 }), 'a:\n  -\n    b: 1\n  - b: 2\n'],
  ['a row below a dash less', 'a:\n  -\n    b: 1\n  - b: 2\n', remove('a', 0), 'a:\n  - b: 2\n'],
  ['the last row less', 'a:\n  - x\n  - y', remove('a', 1), 'a:\n  - x\n'],
  ['the first item in a line less', 'a: [x,  y]\n', remove('a', 0), 'a: [y]\n'],
  ['the only item of a list in a list less', '- [x]\n- y\n', remove(0, 0), '- []\n- y\n'],
  [
    'a text behind a comment with a comma, in brackets',
    'a: [\n  x # a, b\n]\n',
    append(['a'], 'y'),
    'a: [\n  x, # a, b\n  y\n]\n',
  ],
  // Values.
  ['an item', 'a:\n  - x\n  - y # c\n', set(['a', 1], 'day_pass-2'), 'a:\n  - x\n  - day_pass-2 # c\n'],
  [
    'words that are not texts, and others',
    'a: 1\n',
    set(['a'], ['on', 'button', 'online', 'a b']),
    'a: ["on", button, online, "a b"]\n',
  ],
  ['a row in a line', 'a: 1\n', set(['a'], { b: null, c: 5 }), 'a: { b: null, c: 5 }\n'],
  ['a value behind a quoted key', '"a:b" : 1\n', set(['a:b'], 2), '"a:b" : 2\n'],
  ['a value behind a colon alone', '{"a":1}\n', set(['a'], 2), '{"a": 2}\n'],
  ['a key without a value', 'a: { b, c: 1 }\n', set(['a', 'b'], 2), 'a: { b: 2, c: 1 }\n'],
  ['a key more, behind one without a value', 'a: { b }\n', set(['a', 'c'], 2), 'a: { b, c: 2 }\n'],
  [
    'a key more, in brackets on lines',
    'a: {\n  b: 1, # one\n}\n',
    set(['a', 'c'], 2),
    'a: {\n  b: 1, # one\n  c: 2,\n}\n',
  ],
  ['a key more, at the end', 'a:\r\n  b: 1 # one', set(['a', 'c'], 2), 'a:\r\n  b: 1 # one\r\n  c: 2'],
  ['a key more, with Windows’ line ends', 'a: 1 # one\r\n', set(['c'], 2), 'a: 1 # one\r\nc: 2\r\n'],
  ['the last key in lines less', 'a: 1\nb: 2 # two', remove('b'), 'a: 1\n'],
  ['the only key of a block less', 'a:\n  b: 1\nc: 2\n', remove('a', 'b'), 'a:\n  {}\nc: 2\n'],
  ['the only key in a line less', 'a: { b: 1 }\n', remove('a', 'b'), 'a: {}\n'],
  ['a block behind a colon with a space before it', 'a :\n  b: 1\n', set(['a'], 2), 'a : 2\n'],
  ['a key more before a brace', 'a: {\n  b: 1 }\n', set(['a', 'c'], 2), 'a: {\n  b: 1,\n  c: 2 }\n'],
  ['a text before a bracket', 'a: [\n  x ]\n', append(['a'], 'y'), 'a: [\n  x,\n  y ]\n'],
  ['a key in a line less', 'a: { b: 1, c: 2 }\n', remove('a', 'b'), 'a: { c: 2 }\n'],
  ['a key less, behind one without a value', 'a: { b, c: 2 }\n', remove('a', 'c'), 'a: { b }\n'],
])('%s', (_claim, from, change, to) => {
  expect(editYaml(from, change)).toBe(to)
})
