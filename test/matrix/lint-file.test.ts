/**
 * The linter for a file: all that is wrong at once, each with its line and column, and each probable slip.
 */
import { describe, expect, test } from 'vitest'
import { json, lintFile, loadMatrix, MatrixError, supportMatrix, warningsOf } from '../../matrix/index.ts'

const KIND = `{
      "id": "day_pass", "title": "day pass", "family": "pass", "scopeLevel": "account", "header": "X-Pass",
      "issuedTo": "guest", "obtained": { "by": "issue" }, "permissionScopes": ["account"],
      "lifetimeSeconds": 60, "section": "§1"
    }`
const API = '{ "id": "lobby", "title": "Lobby", "accepts": ["day_pass"], "section": "§2" }'
const file = (apis: readonly string[], kinds: readonly string[] = [KIND], more = '') => `{
  "title": "Doors", "tokenKinds": [${kinds.join(', ')}],
  "apis": [
    ${apis.join(',\n    ')}
  ]${more}
}`

/** `line:column path: expected value`. */
const shown = (text: string) => {
  const { problems, warnings } = lintFile(text)
  const line = ({ line, column, path, expected }: (typeof problems)[number]) =>
    `${line === undefined ? '' : `${line}:${column} `}${path}: ${expected}`
  return { problems: problems.map(line), warnings: warnings.map(line) }
}

test('a file without a problem has none, and no warning', () => {
  expect(shown(file([API]))).toEqual({ problems: [], warnings: [] })
})

describe('problems of form and of ids are shown together, in the order of the text', () => {
  test.each<[claim: string, text: string, problems: string[]]>([
    [
      'a misspelt kind, an unknown field and an id that is taken',
      file([API, API.replace('"Lobby"', '5'), API.replace('day_pass', 'day_pas').replace('lobby', 'roof')]),
      [
        '9:7 apis[1].id: expected a unique id, `lobby` is taken',
        '9:22 apis[1].title: expected a string',
        '10:51 apis[2].accepts[0]: expected the id of a token kind; there is no token kind `day_pas`',
      ],
    ],
    [
      'a field that is missing, at what it should be in',
      file([
        API.replace(', "section": "§2"', ''),
        API.replace('"title"', '"titel"').replace('lobby', 'roof'),
      ]),
      [
        '8:5 apis[0].section: expected this field, it is missing',
        '9:5 apis[1].title: expected this field, it is missing',
        '9:21 apis[1].titel: unknown field; did you mean `title`?',
      ],
    ],
    [
      'a kind without an id, which other rows may mean',
      file([API, API.replace('lobby', 'roof').replace('"Lobby"', '""')], [KIND.replace('"day_pass"', '7')]),
      ['3:7 tokenKinds[0].id: expected a string', '9:21 apis[1].title: expected at least 1 character'],
    ],
    [
      'a reference that is not a text',
      file([API.replace('["day_pass"]', '["day_pass", 5, "night_pass"]')]),
      [
        '8:64 apis[0].accepts[1]: expected a string',
        '8:67 apis[0].accepts[2]: expected the id of a token kind; there is no token kind `night_pass`',
      ],
    ],
    [
      'invalid rows and lists',
      file([API, '5', '"x"'], [KIND, 'null'], ',\n  "statements": 7'),
      [
        '6:8 tokenKinds[1]: expected an object',
        '9:5 apis[1]: expected an object',
        '10:5 apis[2]: expected an object',
        '12:3 statements: expected an array',
      ],
    ],
    [
      'statements and conflicts about what is not there',
      file(
        [API],
        [KIND],
        `,
  "statements": [{ "id": "one", "section": "§3", "text": "x", "claim": { "type": "complete", "kind": "key", "apis": ["lobby", "roof"] } }],
  "conflicts": [{ "id": "c", "cells": [{ "api": "roof", "kind": "day_pass" }] }]`,
      ),
      expect.arrayContaining([
        expect.stringMatching(/^\d+:\d+ statements\[0\]\.claim\.kind: expected the id of a token kind/),
        expect.stringMatching(/^\d+:\d+ statements\[0\]\.claim\.apis\[1\]: expected the id of an api/),
        expect.stringMatching(/^\d+:\d+ conflicts\[0\]\.cells\[0\]\.api: expected the id of an api/),
        expect.stringMatching(/^\d+:\d+ conflicts\[0\]\.type: expected this field/),
      ]),
    ],
    [
      'claims about what is not there, and one that is missing',
      file(
        [API.replace('"Lobby"', '5')],
        [KIND],
        `,
  "statements": [
    { "id": "a", "section": "§3", "text": "x" },
    { "id": "b", "section": "§3", "text": "x", "claim": { "type": "row_repeated", "api": "roof", "accepts": ["key"] } },
    { "id": "c", "section": "§3", "text": "x", "claim": { "type": "remark", "kinds": ["night_pass"] } }
  ]`,
      ),
      [
        '8:22 apis[0].title: expected a string',
        '11:5 statements[0].claim: expected this field, it is missing',
        '12:83 statements[1].claim.api: expected the id of an api; there is no api `roof`',
        '12:110 statements[1].claim.accepts[0]: expected the id of a token kind; there is no token kind `key`',
        '13:87 statements[2].claim.kinds[0]: expected the id of a token kind; there is no token kind `night_pass`',
      ],
    ],
    [
      'an id that is not there, above a problem of form and beside one',
      file([
        API.replace('"day_pass"]', '"night_pass", "No Id"]'),
        API.replace('"Lobby"', '5').replace('lobby', 'roof'),
      ]),
      [
        '8:52 apis[0].accepts[0]: expected the id of a token kind; there is no token kind `night_pass`',
        '8:66 apis[0].accepts[1]: expected a string that matches ^[a-z][a-z0-9]*([-_.:/][a-z0-9]+)*$',
        '9:21 apis[1].title: expected a string',
      ],
    ],
    [
      'an id that is not there, where a kind has another problem',
      file([API.replace('day_pass', 'night_pass')], [KIND.replace('"day pass"', '7')]),
      [
        '3:25 tokenKinds[0].title: expected a string',
        '8:52 apis[0].accepts[0]: expected the id of a token kind; there is no token kind `night_pass`',
      ],
    ],
    [
      'an invalid kind, which other rows may mean, and an API that no row means',
      file(
        [API.replace('day_pass', 'night_pass')],
        ['null'],
        `,
  "conflicts": [{
    "id": "c", "type": "omission", "resolution": "table", "reason": "x",
    "cells": [{ "api": "roof", "kind": "night_pass" }], "apis": [], "kinds": ["pass"], "statements": []
  }]`,
      ),
      [
        '2:36 tokenKinds[0]: expected an object',
        '8:17 conflicts[0].cells[0].api: expected the id of an api; there is no api `roof`',
      ],
    ],
    [
      'kinds that are not a list, which other rows may mean',
      file([API]).replace(/"tokenKinds": \[.*?\],\n {2}"apis"/s, '"tokenKinds": 7,\n  "apis"'),
      ['2:21 tokenKinds: expected an array'],
    ],
    ['text that is not JSON', '{"apis": [}', ['1:11 : expected JSON; value expected at line 1, column 11']],
    ['nesting without end', '['.repeat(200_000), ['1:65 : expected at most 64 levels of nesting']],
    [
      'a key twice',
      file([API], [KIND], ',\n  "apis": []'),
      ['10:3 apis: expected each key once, this one repeats'],
    ],
    [
      'a key that is quoted in its path',
      file([API.replace('"title"', '"a \\"b\\" [0]": 1, "title"')]),
      [
        '8:22 apis[0]["a \\"b\\" [0]"]: unknown field; expected one of id, title, accepts, section, public, notes, line',
      ],
    ],
  ])('%s', (_claim, text, problems) => {
    expect(shown(text).problems).toEqual(problems)
  })

  test.each([
    [100, 'and 1 more'],
    [101, 'and 1 more'],
  ])('a file with %d problems of form and one of an id shows a hundred of them', (count, more) => {
    const rows = Array.from({ length: count }, (_, index) =>
      API.replace('"Lobby"', '5').replace('lobby', `lobby-${index}`),
    )
    const { problems } = lintFile(file([...rows, API.replace('day_pass', 'night_pass')]))
    expect([problems.length, problems.at(-1)?.expected]).toEqual([101, more])
    expect(problems.every(({ path }) => !path.includes('accepts'))).toBe(true)
  })

  test('a fault of a reader is not a fault of the matrix', () => {
    const read = () => {
      throw new RangeError('a fault of the reader')
    }
    expect(() => lintFile('{}', { ...json, read })).toThrow(RangeError)
    expect(lintFile('{').conflicts).toEqual([])
  })

  test('a matrix that is loaded is refused with the same ones', () => {
    const text = file([API, API.replace('"Lobby"', '5')])
    const paths = (found: readonly { path: string }[]) => found.map(({ path }) => path).toSorted()
    let refused: unknown
    try {
      loadMatrix(text)
    } catch (error) {
      refused = error
    }
    expect(refused).toBeInstanceOf(MatrixError)
    expect(paths((refused as MatrixError).problems)).toEqual(paths(lintFile(text).problems))
    expect(lintFile(text).problems).toHaveLength(2)
  })
})

test('an error names the file, where it is in one', () => {
  const problems = [{ path: 'apis', expected: 'expected an array', line: 2, column: 3 }]
  expect(new MatrixError(problems, 'doors.json').message).toBe(
    'doors.json: the matrix is not valid:\n  2:3: apis: expected an array',
  )
})

const UTF_8 = 'expected UTF-8 text'
const UTF_16 = `${UTF_8}, found the byte order mark of UTF-16`
const NO_MARK = `${UTF_8} without a byte order mark at line 1, column 1`

/** Files with bytes before their text, with the most that a form reads, and their messages. */
test.each<[what: string, file: string | Uint8Array, bytesMax: number, expected: string, yaml?: boolean]>([
  ['as many bytes as may be', '{"a": 1}', 8, 'unknown field'],
  ['one byte too many', '{"a": 1}', 7, 'expected at most 7 bytes, found 8'],
  ['one byte too many, of a letter with two', '["é"]', 5, 'expected at most 5 bytes, found 6'],
  ['bytes, one too many', new Uint8Array(9), 8, 'expected at most 8 bytes, found 9'],
  ['bytes that are not text', new Uint8Array([0xff]), 8, UTF_8],
  ['a mark of UTF-16', new Uint8Array([0xff, 0xfe, 0x7b, 0]), 8, UTF_16],
  ['another mark of UTF-16', new Uint8Array([0xfe, 0xff, 0, 0x7b]), 8, UTF_16],
  ['a mark in a text', '\ufeff{}', 8, NO_MARK],
  ['a mark in bytes', new Uint8Array([0xef, 0xbb, 0xbf, 0x7b]), 8, NO_MARK],
  ['a mark at the end', '{}\ufeff', 8, 'expected JSON; invalid symbol at line 1, column 3'],
  [
    'YAML, one byte too many',
    '{}',
    1,
    'expected at most 1 bytes, found 2; write so large a matrix in JSON',
    true,
  ],
])('a file of %s', (_what, file, bytesMax, expected, isYaml = false) => {
  const { problems } = lintFile(file, { ...json, bytesMax, ...(isYaml && { id: 'yaml' as const }) })
  const [first] = problems
  expect(problems.some((each) => each.expected.startsWith(expected))).toBe(true)
  if (expected === 'unknown field') return
  expect(problems).toHaveLength(1)
  expect(first).toMatchObject({ code: 'unreadable', path: '', expected })
  expect([first?.line, first?.column]).toEqual(
    expected === NO_MARK ? [1, 1] : /^expected JSON/.test(expected) ? [1, 3] : [undefined, undefined],
  )
  // The place of the text as a whole is said once.
  expect(new MatrixError([first as never]).message).toBe(`the matrix is not valid:\n  ${expected}`)
})

describe('a row that changes nothing is a warning', () => {
  test('an API that nothing opens, and a kind that nothing accepts', () => {
    const closed = API.replace('lobby', 'roof').replace('["day_pass"]', '[]')
    const unused = KIND.replace('day_pass', 'night_pass').replace('X-Pass', 'X-Night-Pass')
    expect(shown(file([API, closed], [KIND, unused]))).toEqual({
      problems: [],
      warnings: [
        '6:8 tokenKinds[1]: expected an API that accepts `night_pass`; there is none',
        '13:39 apis[1].accepts: expected a kind of token that opens `roof`; there is none',
      ],
    })
  })

  test('the shipped matrix has none', () => {
    expect(warningsOf(supportMatrix)).toEqual([])
  })
})
