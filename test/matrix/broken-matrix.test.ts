/** JSON that is not a matrix: each fault is refused with its path and the expected value there. */
import { expect, test } from 'vitest'
import { problemsOf } from '../support/matrices/matrix-problems.ts'
import { planted, smallMatrix } from '../support/matrices/small-matrix.ts'

const PATTERN = 'expected a string that matches ^[a-z][a-z0-9]*([-_.:/][a-z0-9]+)*$'
const RESERVED = 'expected another value: this one is reserved'
const MISSING = 'expected this field, it is missing'

/** A value planted at a path of the small matrix, and the expected value there. */
test.each<[path: string, value: unknown, expected: string]>([
  // Types, at every level.
  ['title', 7, 'expected a string'],
  ['title', '', 'expected at least 1 character'],
  ['title', 'a'.repeat(2001), 'expected at most 2000 characters'],
  ['title', '\ud800', 'expected text without half a surrogate pair'],
  ['tokenKinds', {}, 'expected an array'],
  ['tokenKinds', [], 'expected at least 1 item'],
  ['tokenKinds[0]', null, 'expected an object'],
  ['tokenKinds[0].scopeLevel', 'region', 'expected one of `account`, `project`'],
  ['tokenKinds[0].header', 'X Day Pass', 'expected a string that matches ^[A-Za-z][A-Za-z0-9-]*$'],
  ['tokenKinds[0].header', 'X-Day-Pass\n', 'expected a string that matches ^[A-Za-z][A-Za-z0-9-]*$'],
  ['tokenKinds[0].scheme', '', 'expected a string that matches ^[A-Za-z][A-Za-z0-9-]*$'],
  ['tokenKinds[0].scheme', 'Bearer ', 'expected a string that matches ^[A-Za-z][A-Za-z0-9-]*$'],
  ['tokenKinds[0].prefix', '', 'expected a string that matches ^[A-Za-z0-9_~.-]+$'],
  ['tokenKinds[0].prefix', 'a,b', 'expected a string that matches ^[A-Za-z0-9_~.-]+$'],
  ['tokenKinds[0].obtained', 'issue', 'expected an object'],
  ['tokenKinds[0].obtained.by', 'post', 'expected one of `issue`, `control_panel`, `elsewhere`'],
  ['tokenKinds[1].obtained.steps', [], 'expected at least 1 item'],
  [
    'tokenKinds[0].permissionScopes[0]',
    'project',
    'expected one of `account`, `projects`; did you mean `projects`?',
  ],
  ['tokenKinds[0].lifetimeSeconds', '86400', 'expected an integer or null'],
  ['tokenKinds[0].lifetimeSeconds', 1.5, 'expected an integer or null'],
  ['tokenKinds[0].lifetimeSeconds', 0, 'expected a number >= 1'],
  ['tokenKinds[0].lifetimeSeconds', 315_360_001, 'expected a number <= 315360000'],
  ['tokenKinds[0].section', '', 'expected at least 1 character'],
  ['apis', [], 'expected at least 1 item'],
  ['apis[0].accepts', 'day_pass', 'expected an array'],
  ['statements', null, 'expected an array'],
  ['statements[0].claim', [], 'expected an object'],
  ['statements[0].claim.type', 'manage', 'expected the name of a known type'],
  ['statements[0].claim.type', 'constructor', 'expected the name of a known type'],
  ['statements[0].claim.type', 7, 'expected a string'],
  ['statements[0].claim.complete', 'yes', 'expected a boolean'],
  ['statements[4].claim.scopeLevel', 'region', 'expected one of `account`, `project`'],
  [
    'conflicts[0].type',
    'doubt',
    'expected one of `contradiction`, `omission`, `duplicate_row`, `overstatement`',
  ],
  ['conflicts[0].cells', {}, 'expected an array'],
  ['conflicts[0].cells[0]', 'lobby', 'expected an object'],
  ['conflicts[0].resolution', 'both', 'expected one of `table`, `prose`'],
  // Ids, wherever one stands.
  ['tokenKinds[0].id', 'Day_pass', PATTERN],
  ['tokenKinds[0].id', 'day pass', PATTERN],
  ['tokenKinds[0].id', 'day_pass\n', PATTERN],
  ['tokenKinds[0].id', 'pаss', PATTERN],
  ['tokenKinds[0].id', '__proto__', PATTERN],
  ['tokenKinds[0].id', 'constructor', RESERVED],
  ['tokenKinds[0].id', 'prototype', RESERVED],
  ['tokenKinds[0].id', 'a'.repeat(129), 'expected at most 128 characters'],
  // No path of a file or a URL that an id is a part of leads elsewhere.
  ...['a/../b', '../a', 'a/..', 'a/./b', '/a', 'a/', 'a//b', 'a:', 'a..b', 'a:/b', '.a'].map(
    (id): [string, string, string] => ['apis[0].id', id, PATTERN],
  ),
  ['tokenKinds[0].family', '', PATTERN],
  ['tokenKinds[0].issuedTo', 'constructor', RESERVED],
  ['apis[0].id', '__proto__', PATTERN],
  ['apis[0].id', 'constructor', RESERVED],
  ['apis[0].id', '-lobby', PATTERN],
  ['apis[0].id', 7, 'expected a string'],
  ['apis[0].accepts[0]', '__proto__', PATTERN],
  ['apis[0].accepts[0]', 'constructor', RESERVED],
  ['statements[0].id', '', PATTERN],
  ['statements[0].claim.kind', '__proto__', PATTERN],
  ['statements[5].claim.holder', 'constructor', RESERVED],
  ['conflicts[0].id', 'prototype', RESERVED],
  ['conflicts[0].cells[0].api', '__proto__', PATTERN],
  ['conflicts[0].cells[0].kind', 'constructor', RESERVED],
])('%s = %j is refused there: %s', (path, value, expected) => {
  expect(problemsOf(JSON.stringify(planted(smallMatrix(), path, value)))).toEqual([`${path}: ${expected}`])
})

const ids = (count: number) => Array.from({ length: count }, (_, index) => `id-${index}`)
const small = smallMatrix() as { readonly tokenKinds: object[]; readonly apis: object[] }

test.each<[path: string, value: readonly unknown[], expected: string]>([
  ['tokenKinds', Array(65).fill(small.tokenKinds[0]), 'expected at most 64 items, found 65'],
  ['tokenKinds[1].obtained.steps', Array(9).fill('Ask.'), 'expected at most 8 items, found 9'],
  ['apis', Array(100_001).fill(small.apis[0]), 'expected at most 100000 items, found 100001'],
  ['conflicts[0].apis', ids(1_001), 'expected at most 1000 items, found 1001'],
  ['conflicts[0].statements', ids(1_001), 'expected at most 1000 items, found 1001'],
])('a list at %s that is too long is refused: the limit and the length are said', (path, value, expected) => {
  expect(problemsOf(JSON.stringify(planted(smallMatrix(), path, value)))).toContain(`${path}: ${expected}`)
})

/** The kind of an id, and every place that refers to one. */
const REFERENCES: Readonly<Record<string, readonly string[]>> = {
  'token kind': [
    'apis[0].accepts[1]',
    'statements[0].claim.kind',
    'statements[1].claim.kind',
    'statements[2].claim.kind',
    'statements[3].claim.kind',
    'statements[4].claim.kind',
    'statements[5].claim.kinds[0]',
    'statements[6].claim.accepts[0]',
    'statements[7].claim.kinds[0]',
    'statements[8].claim.kinds[0]',
    'conflicts[0].cells[0].kind',
    'conflicts[0].kinds[0]',
  ],
  api: [
    'statements[0].claim.apis[1]',
    'statements[1].claim.apis[0]',
    'statements[2].claim.apis[0]',
    'statements[6].claim.api',
    'conflicts[0].cells[0].api',
    'conflicts[0].apis[0]',
  ],
  statement: ['conflicts[0].statements[0]'],
}

test.each(Object.entries(REFERENCES).flatMap(([what, paths]) => paths.map((path) => [path, what])))(
  '%s: an id of no %s is refused there',
  (path, what) => {
    const article = what === 'api' ? 'an' : 'a'
    expect(problemsOf(JSON.stringify(planted(smallMatrix(), path, 'nothing')))).toEqual([
      `${path}: expected the id of ${article} ${what}; there is no ${what} \`nothing\``,
    ])
  },
)

test.each<[path: string, first: string]>([
  ['tokenKinds[1].id', 'day_pass'],
  ['apis[2].id', 'lobby'],
  ['statements[1].id', 'pass-manages'],
  ['conflicts[1].id', 'lobby-key-contradiction'],
])('an id that is taken is refused: %s', (path, taken) => {
  const matrix = {
    ...smallMatrix(),
    ...(path.startsWith('tokenKinds') || path.startsWith('apis') ? { statements: [], conflicts: [] } : {}),
  }
  expect(problemsOf(JSON.stringify(planted(matrix, path, taken)))).toContain(
    `${path}: expected a unique id, \`${taken}\` is taken`,
  )
})

test.each<[path: string, value: unknown]>([
  ['tokenKinds[0].permissionScopes', ['account', 'projects', 'account']],
  ['apis[0].accepts', ['day_pass', 'room_key', 'day_pass']],
  ['statements[0].claim.apis', ['lobby', 'library', 'lobby']],
  ['conflicts[0].statements', ['key-manages-not', 'pass-manages', 'key-manages-not']],
  [
    'conflicts[0].cells',
    [
      { api: 'lobby', kind: 'room_key' },
      { api: 'lobby', kind: 'day_pass' },
      { kind: 'room_key', api: 'lobby' },
    ],
  ],
])('an item that repeats is refused: in %s', (path, value) => {
  // The later one of the two, which is the third item of each row.
  expect(problemsOf(JSON.stringify(planted(smallMatrix(), path, value)))).toEqual([
    `${path}[2]: expected no repetition of an earlier item`,
  ])
})

/** Every object of the small matrix, with the fields that it must have. */
const REQUIRED: readonly (readonly [place: string, fields: readonly string[]])[] = [
  ['', ['title', 'tokenKinds', 'apis']],
  [
    'tokenKinds[0]',
    [
      'id',
      'title',
      'family',
      'scopeLevel',
      'header',
      'issuedTo',
      'obtained',
      'permissionScopes',
      'lifetimeSeconds',
      'section',
    ],
  ],
  ['tokenKinds[0].obtained', ['by']],
  ['apis[0]', ['id', 'title', 'accepts', 'section']],
  ['statements[0]', ['id', 'section', 'text', 'claim']],
  ['statements[0].claim', ['type', 'kind', 'apis', 'complete']],
  ['statements[1].claim', ['type', 'kind', 'apis']],
  ['statements[2].claim', ['type', 'kind', 'apis']],
  ['statements[3].claim', ['type', 'kind']],
  ['statements[4].claim', ['type', 'kind', 'scopeLevel']],
  ['statements[5].claim', ['type', 'kinds', 'holder', 'exclusive']],
  ['statements[6].claim', ['type', 'api', 'accepts']],
  ['statements[7].claim', ['type', 'kinds', 'holder', 'text']],
  ['statements[8].claim', ['type', 'kinds']],
  ['conflicts[0]', ['id', 'type', 'cells', 'apis', 'kinds', 'statements', 'resolution', 'reason']],
  ['conflicts[0].cells[0]', ['api', 'kind']],
]

/** The fields that may be absent, by the place of the object. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
  '': ['statements', 'conflicts', 'source'],
  'tokenKinds[0]': ['scheme', 'prefix', 'places'],
  'apis[0]': ['public', 'notes', 'line'],
  'statements[0]': ['line'],
  'tokenKinds[0].obtained': ['steps', 'link'],
}

const NO_PLACE = 'expected the header that its tokens travel in, or a list of `places`'

const inside = (place: string, field: string): string => (place === '' ? field : `${place}.${field}`)

test.each(REQUIRED.flatMap(([place, fields]) => fields.map((field) => inside(place, field))))(
  'a missing field is named: %s',
  (path) => {
    const problems = problemsOf(JSON.stringify(planted(smallMatrix(), path, undefined)))
    // A kind may have places in its stead.
    const missing = path === 'tokenKinds[0].header' ? NO_PLACE : MISSING
    expect(problems).toEqual([`${path}: ${missing}`])
  },
)

const hint = (extra: string, known: readonly string[]) => {
  const meant = { Title: 'title', sectoin: 'section' }[extra]
  return meant !== undefined && known.includes(meant)
    ? `did you mean \`${meant}\`?`
    : `expected one of ${known.join(', ')}`
}

test.each(REQUIRED)(
  'an unknown field is named, with those that there are: in an object like %s',
  (place, fields) => {
    const known = [...fields, ...(OPTIONAL[place] ?? [])]
    for (const extra of ['extra', 'constructor', 'toString', 'Title', 'sectoin'])
      expect(problemsOf(JSON.stringify(planted(smallMatrix(), inside(place, extra), 'x')))).toEqual([
        `${inside(place, extra)}: unknown field; ${hint(extra, known)}`,
      ])
  },
)

test.each(['null', 'true', '7', '"text"', '[]'])(
  'a document that is %s is refused as a whole',
  (document) => {
    expect(problemsOf(document)).toEqual(['expected an object'])
  },
)

test('several faults are all named', () => {
  const matrix = planted(planted(smallMatrix(), 'title', 7), 'apis[1].id', 'constructor')
  expect(problemsOf(JSON.stringify(matrix))).toEqual([`title: expected a string`, `apis[1].id: ${RESERVED}`])
})

test.each([
  'title',
  'tokenKinds',
  'tokenKinds[0].id',
  'tokenKinds[0].lifetimeSeconds',
  'apis[0].accepts[0]',
  'statements[0].claim',
  'conflicts[0].cells[0]',
  'conflicts[0].resolution',
])('a value that is refused is never repeated in the refusal: at %s', (path) => {
  const canary = 'Canary-8f14e45f'
  for (const value of [[canary], { id: canary }, [{ id: canary }]])
    expect(problemsOf(JSON.stringify(planted(smallMatrix(), path, value))).join()).not.toContain(canary)
})
