/** Matrix files that are not JSON, or JSON that JSON.parse passes over in silence: each is refused. */
import { expect, test } from 'vitest'
import { MATRIX_BYTES_MAX } from '../../matrix/index.ts'
import { problemsOf } from '../support/matrices/matrix-problems.ts'
import { exchanged, smallMatrix } from '../support/matrices/small-matrix.ts'

const text = JSON.stringify(smallMatrix())
const BYTE_ORDER_MARK = 'expected UTF-8 text without a byte order mark at line 1, column 1'
const bytes = (content: string): Uint8Array => new TextEncoder().encode(content)

test.each<[claim: string, file: string | Uint8Array, problem: string]>([
  ['an empty file', '', 'expected JSON; value expected at line 1, column 1'],
  ['a blank file', ' \n\t', 'expected JSON; value expected at line 2, column 2'],
  ['a comment', `// the doors\n${text}`, 'expected JSON; invalid comment token at line 1, column 1'],
  ['a comment inside', exchanged(text, '"apis"', '/* rows */ "apis"'), at('invalid comment token', '"apis"')],
  [
    'a trailing comma',
    exchanged(text, '"}]}', '"}],}'),
    `expected JSON; property name expected at line 1, column ${text.length + 1}`,
  ],
  ['a missing comma', exchanged(text, ',"apis"', ' "apis"'), at('comma expected', '"apis"')],
  ['a name without quotes', exchanged(text, '"apis"', 'apis'), at('invalid symbol', '"apis"')],
  ['a number that JSON does not have', exchanged(text, '86400', 'NaN'), at('invalid symbol', '86400')],
  [
    'an escape that JSON does not have',
    exchanged(text, '"Lobby"', '"\\x41"'),
    at('invalid escape character', '"Lobby"'),
  ],
  ['a control character in a text', exchanged(text, '"Lobby"', '"\t"'), at('invalid character', '"Lobby"')],
  [
    'a second document',
    `${text}{}`,
    `expected JSON; end of file expected at line 1, column ${text.length + 1}`,
  ],
  [
    'a file cut short',
    text.slice(0, -1),
    `expected JSON; close brace expected at line 1, column ${text.length}`,
  ],
  // A byte order mark is not part of JSON (RFC 8259 §8.1), whether the file comes as text or as bytes.
  ['a byte order mark in the text', `\ufeff${text}`, BYTE_ORDER_MARK],
  ['a byte order mark in the bytes', bytes(`\ufeff${text}`), BYTE_ORDER_MARK],
  ['bytes that are not UTF-8', new Uint8Array([...bytes(text), 0xff]), 'expected UTF-8 text'],
  [
    'half of a surrogate pair in UTF-8',
    new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]),
    'expected UTF-8 text',
  ],
  ['UTF-16', Buffer.from(text, 'utf16le'), 'expected UTF-8 text'],
  [
    'UTF-16 with its byte order mark',
    Buffer.from(`\ufeff${text}`, 'utf16le'),
    'expected UTF-8 text, found the byte order mark of UTF-16',
  ],
  [
    'UTF-16 in the other order',
    Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    'expected UTF-8 text, found the byte order mark of UTF-16',
  ],
  ['half of a mark', new Uint8Array([0xff]), 'expected UTF-8 text'],
  // At the limit a file is read, and refused only for what it holds.
  ['letters up to the size limit', new Uint8Array(MATRIX_BYTES_MAX).fill(0x61), at('invalid symbol', '{')],
  [
    'one byte too many',
    new Uint8Array(MATRIX_BYTES_MAX + 1),
    `expected at most ${MATRIX_BYTES_MAX} bytes, found ${MATRIX_BYTES_MAX + 1}`,
  ],
  [
    'one character too many',
    ' '.repeat(MATRIX_BYTES_MAX + 1),
    `expected at most ${MATRIX_BYTES_MAX} bytes, found ${MATRIX_BYTES_MAX + 1}`,
  ],
  // The limit is in bytes: a text of two-byte characters has twice as many of them as of characters.
  [
    'one two-byte character too many',
    'é'.repeat(MATRIX_BYTES_MAX / 2 + 1),
    `expected at most ${MATRIX_BYTES_MAX} bytes, found ${MATRIX_BYTES_MAX + 2}`,
  ],
  ['nesting beyond the limit', '['.repeat(65) + ']'.repeat(65), 'expected at most 64 levels of nesting'],
  [
    'nesting beyond every stack',
    '['.repeat(100_000) + ']'.repeat(100_000),
    'expected at most 64 levels of nesting',
  ],
  ['nesting beyond every stack in objects', '{"a":'.repeat(100_000), 'expected at most 64 levels of nesting'],
])('no JSON: %s', (_claim, file, problem) => {
  // Faults after a syntax error are guesswork of the parser; the first fault is what counts.
  expect(problemsOf(file)[0]).toBe(problem)
})

test.each<[part: string, repeated: string, path: string]>([
  ['"title":"Doors of a house"', '"title":"Doors"', 'title'],
  ['"apis":[', '"apis":[],', 'apis'],
  ['"title":"day pass"', '"title":"day pass"', 'tokenKinds[0].title'],
  ['"by":"control_panel"', '"by":"issue"', 'tokenKinds[1].obtained.by'],
  ['"accepts":["day_pass"]', '"accepts":[]', 'apis[1].accepts'],
  ['"complete":true', '"c\\u006fmplete":false', 'statements[0].claim.complete'],
  ['"api":"lobby","kind":"room_key"', '"kind":"day_pass"', 'conflicts[0].cells[0].kind'],
])('a key given twice is refused: %s', (part, repeated, path) => {
  const doubled = exchanged(text, part, part.endsWith('[') ? `${repeated}${part}` : `${part},${repeated}`)
  expect(problemsOf(doubled)).toEqual([`${path}: expected each key once, this one repeats`])
})

test.each<[part: string, path: string]>([
  ['"title":"Doors of a house"', '__proto__'],
  ['"title":"day pass"', 'tokenKinds[0].__proto__'],
  ['"by":"control_panel"', 'tokenKinds[1].obtained.__proto__'],
  ['"kind":"room_key"', 'statements[1].claim.__proto__'],
])('the key `__proto__` is refused, however it is written: beside %s', (part, path) => {
  for (const key of ['__proto__', '__pr\\u006fto__'])
    expect(problemsOf(exchanged(text, part, `"${key}":{"id":"x"},${part}`))).toEqual([
      `${path}: expected another key: this one is reserved`,
    ])
})

/** A syntax error where a part of the small matrix begins. */
function at(code: string, part: string): string {
  return `expected JSON; ${code} at line 1, column ${text.indexOf(part) + 1}`
}
