/** Where kinds of token may travel, and which headers and prefixes are refused. */
import { expect, test } from 'vitest'
import { matrixProblems, type TokenKind } from '../../engine/index.ts'
import { loadMatrix } from '../../matrix/index.ts'
import { problemsOf } from '../support/matrices/matrix-problems.ts'
import { planted, smallMatrix } from '../support/matrices/small-matrix.ts'

/** The small matrix whose two kinds travel so. */
function matrixWith(one: object, other: object): string {
  const matrix = smallMatrix()
  const tokenKinds = matrix.tokenKinds.map((kind, index) => ({ ...kind, ...(index === 0 ? one : other) }))
  return JSON.stringify({ ...matrix, tokenKinds })
}

const A = { header: 'Authorization' }

test.each<[claim: string, one: object, other: object]>([
  ['the same scheme', { ...A, scheme: 'Bearer' }, { ...A, scheme: 'Bearer' }],
  ['a token alone and a scheme', A, { ...A, scheme: 'Bearer' }],
  ['two schemes', { ...A, scheme: 'Bearer' }, { ...A, scheme: 'Basic' }],
  ['two prefixes', { ...A, scheme: 'Bearer', prefix: 'a_' }, { ...A, scheme: 'Bearer', prefix: 'b_' }],
  ['one prefix', { ...A, scheme: 'Bearer', prefix: 'a_' }, { ...A, scheme: 'Bearer' }],
  ['no prefix and one', A, { ...A, prefix: 'a_' }],
  ['prefixes with the same end', { ...A, prefix: 'a_b_' }, { ...A, prefix: 'b_' }],
  ['prefixes of which one is the end of the other', { ...A, prefix: 'b_' }, { ...A, prefix: 'a_b_' }],
  [
    'nested prefixes behind two schemes',
    { ...A, scheme: 'A', prefix: 'a' },
    { ...A, scheme: 'B', prefix: 'ab' },
  ],
  ['the same prefix', { ...A, prefix: 'a_' }, { ...A, prefix: 'a_' }],
  ['nested prefixes in two headers', { header: 'X-One', prefix: 'a_' }, { header: 'X-Two', prefix: 'a_b_' }],
])('kinds may share a header: %s', (_claim, one, other) => {
  expect(loadMatrix(matrixWith(one, other)).tokenKinds).toMatchObject([one, other])
})

test.each([
  ['a_', 'a_b_'],
  ['a_b_', 'a_'],
])('a prefix may not be the beginning of another one in the same place: %s, %s', (one, other) => {
  expect(
    problemsOf(
      matrixWith(
        { ...A, scheme: 'Bearer', prefix: one },
        { header: 'AUTHORIZATION', scheme: 'bearer', prefix: other },
      ),
    ),
  ).toEqual([
    'tokenKinds[1].prefix: expected a prefix that distinguishes its tokens from those of `day_pass`, which travel in the same header: neither may be the beginning of the other',
  ])
})

test.each([
  [{ scheme: '' }, {}],
  [{}, { scheme: '' }],
])('an empty scheme counts as none, where prefixes are compared: %j, %j', (first, second) => {
  const [one, other] = smallMatrix().tokenKinds
  const tokenKinds = [
    { ...one, ...A, ...first, prefix: 'a_' },
    { ...other, ...A, ...second, prefix: 'a_b_' },
  ] as TokenKind[]
  expect(matrixProblems({ ...smallMatrix(), tokenKinds }).map(({ path }) => path)).toEqual([
    'tokenKinds[1].prefix',
  ])
})

test.each([
  'X-Host',
  'Host-Key',
  'X-Cookie',
  'Cookies',
  'Cookie3',
  'Cookie22',
  'Accepted',
  'Re-Accept-X',
  'Key-Date',
])('%s only looks like another header, and may carry a credential', (header) => {
  expect(loadMatrix(matrixWith({ header }, {})).tokenKinds).toMatchObject([{ header }, {}])
})

const COOKIES = 'a browser sends cookies with every request that another site makes it send'
const ADDRESSES = 'addresses are written to logs and histories'

test.each([
  ['.cookie', COOKIES],
  ['.Cookies', COOKIES],
  ...['query', 'queries', 'queryParameter', 'query_params', 'urlParameters', 'URLparam'].map((field) => [
    `.${field}`,
    ADDRESSES,
  ]),
  ...['.param', '.params', '.parameter', '.Parameters', '["url-param"]'].map((path) => [path, ADDRESSES]),
])('a field is refused with the reason: %s', (path, why) => {
  const field = path.replaceAll(/[^\w-]/g, '')
  expect(problemsOf(matrixWith({ [field]: 'token' }, {}))).toEqual([
    `tokenKinds[0]${path}: expected a \`header\` instead: ${why}`,
  ])
})

test.each([
  ...['cookiejar', 'queryString', 'paramount', 'xparam', 'obtained.cookie'].map(
    (path) => `tokenKinds[0].${path}`,
  ),
  ...['cookie', 'apis[0].query'],
])('a field is unknown as any other: %s', (path) => {
  expect(problemsOf(JSON.stringify(planted(smallMatrix(), path, 'token')))).toEqual([
    expect.stringContaining(`${path}: unknown field`),
  ])
})

test.each(['Cookie', 'cookie', 'Set-Cookie', 'Cookie2'])(
  '%s carries no credential, and the reason is said',
  (header) => {
    expect(problemsOf(matrixWith({ header }, {}))).toEqual([
      'tokenKinds[0].header: expected a header that can carry a credential: a browser sends cookies with every request that another site makes it send, so they do not say who means it',
    ])
  },
)

test.each([
  ...[
    'Host',
    'Content-Type',
    'Connection',
    'Proxy-Authorization',
    'X-Forwarded-For',
    'Accept',
    'Sec-Fetch-Site',
  ],
  ...['Traceparent', 'X-Request-ID', 'X-Portcullis-Kind', 'X-Original-URL'],
])('%s says something of the message or its way', (header) => {
  expect(problemsOf(matrixWith({ header }, {}))).toEqual([
    'tokenKinds[0].header: expected a header that can carry a credential: this one says something of the message or its way',
  ])
})
