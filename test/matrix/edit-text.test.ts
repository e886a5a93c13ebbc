/** Editing a text in one place: what was not edited stays, to the last space. */
import { expect, test } from 'vitest'
import * as library from 'yaml'
import { type DocumentChange, type Editor, editJson } from '../../matrix/document/edit.ts'
import { yamlEditor } from '../../matrix/document/edit-yaml.ts'

const editYaml = yamlEditor(library)
const append = (path: (string | number)[], value: unknown): DocumentChange => ({
  type: 'append',
  path,
  value,
})
const remove = (...path: (string | number)[]): DocumentChange => ({ type: 'remove', path })
const set = (path: (string | number)[], value: unknown): DocumentChange => ({ type: 'set', path, value })

const ROWS: readonly (readonly [
  claim: string,
  editor: Editor,
  from: string,
  change: DocumentChange,
  to: string,
])[] = [
  [
    'a text in a line',
    editJson,
    '{"a": ["x"  ,"y"]} // c',
    append(['a'], 'z'),
    '{"a": ["x"  ,"y", "z"]} // c',
  ],
  ['a text in an empty list', editJson, '{"a": [ ]}', append(['a'], 'z'), '{"a": ["z"]}'],
  [
    'a text behind a comment',
    editJson,
    '{"a": ["x" /* , */]}',
    append(['a'], 'z'),
    '{"a": ["x", "z" /* , */]}',
  ],
  [
    'a row in lines',
    editJson,
    '{"a": [\n    {"b": 1} // one\n  ]}',
    append(['a'], { b: 2 }),
    '{"a": [\n    {"b": 1}, // one\n    { "b": 2 }\n  ]}',
  ],
  [
    'a row behind a comma',
    editJson,
    '{"a": [\n  {"b": 1}, // one\n]}',
    append(['a'], { b: 2 }),
    '{"a": [\n  {"b": 1}, // one\n  { "b": 2 },\n]}',
  ],
  [
    'a row in a list that is not there',
    editJson,
    '{\n  "b": 1 // one\n}',
    append(['a'], { b: 2 }),
    '{\n  "b": 1, // one\n  "a": [\n    { "b": 2 }\n  ]\n}',
  ],
  [
    'a row with Windows’ line ends',
    editJson,
    '{"a": [\r\n  {"b": 1}\r\n]}',
    append(['a'], { b: 2 }),
    '{"a": [\r\n  {"b": 1},\r\n  { "b": 2 }\r\n]}',
  ],
  ['one item less', editJson, '{"a": ["x", "y"  ] /* c */ }', remove('a', 0), '{"a": ["y"  ] /* c */ }'],
  ['the last item less', editJson, '{"a": ["x", "y"]}', remove('a', 1), '{"a": ["x"]}'],
  ['the last row less', editJson, '[\n  {}, // one\n  {} // two\n]', remove(1), '[\n  {} // one // two\n]'],
  [
    'the last row before a comma less',
    editJson,
    '[\n  {}, // one\n  {},\n]',
    remove(1),
    '[\n  {}, // one\n]',
  ],
  ['another text', editJson, '{"a":   "x" // c\n}', set(['a'], 'y"'), '{"a":   "y\\"" // c\n}'],
  [
    'a comment above the next row',
    editJson,
    '[\n  {}, // one\n  // two\n  {}\n]',
    remove(0),
    '[\n  // two\n  {}\n]',
  ],
  ['a comment in two lines', editJson, '[\n  1, /* one\n  */ 2\n]', remove(0), '[\n  2\n]'],
  ['an object', editJson, '{"a": {"b": 1} // c\n}', set(['a'], { b: [2] }), '{"a": { "b": [2] } // c\n}'],
  ['a key more', editJson, '{"a": {"b": 1}}', set(['a', 'c'], null), '{"a": {"b": 1, "c": null}}'],
  [
    'a key more in lines',
    editJson,
    '{\r\n  "b": 1 // one\r\n}',
    set(['c'], 'x'),
    '{\r\n  "b": 1, // one\r\n  "c": "x"\r\n}',
  ],
  ['a key less', editJson, '{\n  "b": 1, // one\n  "c": 2\n}', remove('b'), '{\n  "c": 2\n}'],
  ['the last key less', editJson, '{"b": 1, "c": 2}', remove('c'), '{"b": 1}'],
  ['a text in a line of YAML', editYaml, 'a: [x,  y] # c\n', append(['a'], 'z'), 'a: [x,  y, z] # c\n'],
  ['a text in an empty list of YAML', editYaml, 'a: [] # c\n', append(['a'], 'null'), 'a: ["null"] # c\n'],
  [
    'a text in lines of YAML',
    editYaml,
    'a:\n  - x # one\n# end\nb: 1\n',
    append(['a'], 'z'),
    'a:\n  - x # one\n  - z\n# end\nb: 1\n',
  ],
  ['a text at the end of YAML', editYaml, 'a:\n- x', append(['a'], 'z'), 'a:\n- x\n- z'],
  [
    'a row of YAML',
    editYaml,
    'a:\n  - b: 1\n\nc: 1\n',
    append(['a'], { b: 2, c: ['x: y'] }),
    'a:\n  - b: 1\n  - b: 2\n    c: ["x: y"]\n\nc: 1\n',
  ],
  [
    'a row in a list of YAML that is not there',
    editYaml,
    'b: 1',
    append(['a'], { b: 2 }),
    'b: 1\na:\n  - b: 2\n',
  ],
  ['one item of YAML less', editYaml, 'a:\n  - x # one\n  - y # two\n', remove('a', 0), 'a:\n  - y # two\n'],
  [
    'the last item of YAML less',
    editYaml,
    'a:\n  - x # one\n  - y # two\nb: 1\n',
    remove('a', 1),
    'a:\n  - x # one\nb: 1\n',
  ],
  ['the only item of YAML less', editYaml, 'a:\n  - x\nb: 1\n', remove('a', 0), 'a: []\nb: 1\n'],
  [
    'the only item of YAML below a comment less',
    editYaml,
    'a:\n  # one\n  - x # x\n\n# end\nb: 1\n',
    remove('a', 0),
    'a: []\n  # one\n\n# end\nb: 1\n',
  ],
  ['an item in a line of YAML less', editYaml, 'a: [x,  y, z]\n', remove('a', 1), 'a: [x,  z]\n'],
  ['the last one in a line of YAML less', editYaml, 'a: [x,  y]\n', remove('a', 1), 'a: [x]\n'],
  [
    'a comment above the next row of YAML',
    editYaml,
    'a:\n  - b: 1 # one\n    c: 1\n  # two\n  - b: 2\n',
    remove('a', 0),
    'a:\n  # two\n  - b: 2\n',
  ],
  [
    'a block of YAML',
    editYaml,
    'a: # c\n  b: 1\n  d: 2 # e\nf: 1\n',
    set(['a'], { b: ['x y'] }),
    'a: { b: ["x y"] } # c\nf: 1\n',
  ],
  ['a folded text of YAML', editYaml, 'a: >\n  one\n  two\nb: 1\n', set(['a'], 'x'), 'a: x\nb: 1\n'],
  ['an empty value of YAML', editYaml, 'a:\nb: 1\n', set(['a'], 5), 'a: 5\nb: 1\n'],
  [
    'a key of YAML more',
    editYaml,
    'a:\n  - b: 1\n    c: [x] # one\n\n  - b: 2\n',
    set(['a', 0, 'd'], 'y'),
    'a:\n  - b: 1\n    c: [x] # one\n    d: y\n\n  - b: 2\n',
  ],
  [
    'a key more in a line of YAML',
    editYaml,
    'a: { b: 1 } # c\n',
    set(['a', 'd'], 2),
    'a: { b: 1, d: 2 } # c\n',
  ],
  ['a key of YAML less', editYaml, 'a: 1\nb: 2 # two\n# three\nc: 3\n', remove('b'), 'a: 1\n# three\nc: 3\n'],
  ['the first key of YAML less', editYaml, '- a: 1\n  b: 2\n', remove(0, 'a'), '- b: 2\n'],
  ['the last key of YAML less', editYaml, 'a: { b: 1, c: 2 }\n', remove('a', 'c'), 'a: { b: 1 }\n'],
  ['another text in YAML', editYaml, "a:   'x' # c\n", set(['a'], 'no: yes'), 'a:   "no: yes" # c\n'],
]

test.each(ROWS)('%s', (_claim, editor, from, change, to) => {
  expect(editor(from, change)).toBe(to)
})
