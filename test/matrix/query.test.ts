/** The query language: the findings of expressions, held to every cell; and the messages about wrong ones. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cellsInSteps } from '../../engine/cells.ts'
import { compile, finish, type TokenKind } from '../../engine/index.ts'
import { decideCell, QueryError, queryMatrix, supportMatrix } from '../../matrix/index.ts'
import { bindExpression, QUERY_DEPTH_MAX, QUERY_LENGTH_MAX } from '../../matrix/query/index.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

/** The findings, in one line each. */
function found(expression: string, matrix = supportMatrix as Parameters<typeof queryMatrix>[0]): string[] {
  const answer = queryMatrix(matrix, expression)
  if (answer.about === 'apis') return [...answer.apis]
  if (answer.about === 'kinds') return [...answer.kinds]
  return answer.cells.map(({ api, kind }) => `${api} ${kind}`)
}

test.each<[expression: string, found: string[]]>([
  ['opens cdn', [PROJECT_KIND]],
  ['strict.opens cdn', []],
  ['opens balance and not opens iam', [STATIC_KIND]],
  ['opens "balance" or opens tickets', [ACCOUNT_KIND, STATIC_KIND]],
  [
    'opened only by static_token',
    ['reports', 'transactions', 'ip-address-management', 'tickets', 'attachments'],
  ],
  [
    `opened by ${ACCOUNT_KIND} and opened by ${PROJECT_KIND}`,
    ['dedicated-servers', 'cloud-projects', 'cloud-quotas', 'mobile-farm'],
  ],
  [`opened by ${ACCOUNT_KIND} and not strict.opened by ${ACCOUNT_KIND}`, ['audit-logs']],
  ['opened only by iam_token_account_scoped and title ~ DNS', []],
  ['title ~ "DNS hosting (l"', ['dns-hosting-legacy']],
  ['header = x-token', [STATIC_KIND]],
  ['header != X-Token', [ACCOUNT_KIND, PROJECT_KIND]],
  ['family = iam_token and scope = project', [PROJECT_KIND]],
  ['permission = projects', [PROJECT_KIND]],
  ['holder in (control_panel_user)', [STATIC_KIND]],
  ['section != §5.4', []],
  [
    'contested',
    [
      `cdn ${PROJECT_KIND}`,
      `audit-logs ${ACCOUNT_KIND}`,
      `audit-logs ${PROJECT_KIND}`,
      `mobile-farm ${PROJECT_KIND}`,
    ],
  ],
  [
    'scope = project AND allowed and NOT strict.allowed',
    [`cdn ${PROJECT_KIND}`, `mobile-farm ${PROJECT_KIND}`],
  ],
  ['statement = account-manages', [`audit-logs ${ACCOUNT_KIND}`]],
  ['conflict ~ omission and api in (cdn, audit-logs)', [`cdn ${PROJECT_KIND}`, `audit-logs ${ACCOUNT_KIND}`]],
  ['conflict = cloud-quotas-duplicate-row and not marked', [`cloud-quotas ${STATIC_KIND}`]],
  ['strict.reason = CONTESTED and not (api = cdn or api = audit-logs)', [`mobile-farm ${PROJECT_KIND}`]],
  // `and` binds closer than `or`, and `not` closer than both.
  ['api = iam and allowed or api = cdn and allowed', [`iam ${ACCOUNT_KIND}`, `cdn ${PROJECT_KIND}`]],
  ['not allowed and api = tickets', [`tickets ${ACCOUNT_KIND}`, `tickets ${PROJECT_KIND}`]],
  ["title = 'Tickets'", ['tickets']],
  ['strict.allowed and api = balance', [`balance ${ACCOUNT_KIND}`, `balance ${STATIC_KIND}`]],
  ['statement = project-manages and api = audit-logs', [`audit-logs ${PROJECT_KIND}`]],
  ['reason = ALLOWED and api = iam', [`iam ${ACCOUNT_KIND}`]],
  ['conflict = audit-logs-project-contradiction and api = audit-logs', [`audit-logs ${PROJECT_KIND}`]],
])('%s', (expression, expected) => {
  expect(found(expression)).toEqual(expected)
})

test.each<[expression: string, kinds: string[]]>([
  ['scheme = bearer', ['day_pass']],
  ['scheme != Bearer', ['room_key']],
  ['scheme = ""', ['room_key']],
  ['prefix ~ A_', ['day_pass']],
  ["prefix = ''", ['room_key']],
])('a field that not every kind has: %s', (expression, kinds) => {
  const [pass, key] = smallMatrix().tokenKinds
  const tokenKinds = [{ ...pass, scheme: 'Bearer', prefix: 'a_1' }, key] as TokenKind[]
  expect(found(expression, { ...smallMatrix(), tokenKinds })).toEqual(kinds)
})

test('single cells can be asked about, in any order', () => {
  const cells = finish(cellsInSteps(supportMatrix))
  const [iam, federations] = ['iam', 'federations'].map((api) => cells.rows.get(api) as number)
  for (const [row, fits] of [
    [federations, true],
    [iam, false],
    [federations, true],
  ] as const) {
    const { fits: found } = bindExpression(cells, 'api = federations and allowed')
    expect(found(row as number, 0)).toBe(fits)
  }
})

test('a found cell has its answers in both modes and its conflicts', () => {
  expect(queryMatrix(supportMatrix, 'api = cdn and contested')).toEqual({
    about: 'cells',
    cells: [
      {
        ...{ api: 'cdn', kind: PROJECT_KIND, contested: true, lenient: 'ALLOWED', strict: 'CONTESTED' },
        conflicts: ['cdn-project-omission'],
      },
    ],
  })
})

test('a found cell that no conflict is about has none', () => {
  expect(queryMatrix(supportMatrix, `api = iam and kind = ${ACCOUNT_KIND}`)).toMatchObject({
    cells: [{ api: 'iam', contested: false, conflicts: [] }],
  })
})

test('the allowed cells of any matrix are those that engines allow, and the rest is the rest', () => {
  fc.assert(
    fc.property(matrices(), (matrix) => {
      for (const strict of [false, true]) {
        const engine = compile(matrix, { strict })
        const cells = matrix.apis.flatMap(({ id }) => matrix.tokenKinds.map((kind) => ({ id, kind })))
        const name = ({ id, kind }: (typeof cells)[number]) => `${id} ${kind.id}`
        const isAllowed = ({ id, kind }: (typeof cells)[number]) => decideCell(engine, id, kind).allowed
        const word = strict ? 'strict.allowed' : 'allowed'
        expect(found(word, matrix)).toEqual(cells.filter(isAllowed).map(name))
        expect(found(`not ${word}`, matrix)).toEqual(cells.filter((cell) => !isAllowed(cell)).map(name))
        for (const { id } of matrix.tokenKinds) {
          const opened = cells.filter((cell) => cell.kind.id === id && isAllowed(cell)).map((cell) => cell.id)
          expect(found(`${strict ? 'strict.' : ''}opened by ${id}`, matrix)).toEqual(opened)
        }
      }
    }),
    { numRuns: 50 },
  )
})

const ONE_OF_TERMS =
  /^column 1: expected a term: `not`, `\(` or one of allowed, strict\.allowed, contested, marked, public, api, title, section, kind, header, scheme, prefix, family, scope, holder, permission, reason, strict\.reason, conflict, statement, opens, opened, strict\.opens, strict\.opened$/

describe('an error has the column, and what was expected', () => {
  test.each<[expression: string, message: RegExp]>([
    ['', ONE_OF_TERMS],
    ['  ', /^column 3: expected a term/],
    ['alowed', /^column 1: expected a term: .*; did you mean `allowed`\?$/],
    ['nott allowed', /; did you mean `not`\?$/],
    ['allowed "and" contested', /^column 9: expected `and`, `or` or the end$/],
    ['allowed orr contested', /or the end; did you mean `or`\?$/],
    ['api inn (cdn)', /^column 5: expected `=`, `!=`, `~` or `in`; did you mean `in`\?$/],
    ['opened by', /^column 10: expected the id of a kind of token$/],
    ['\u{1f511}   "', /^column 6: expected the closing quote of this text$/u],
    ['api = cdn ad allowed', /^column 11: expected `and`, `or` or the end; did you mean `and`\?$/],
    ['allowed contested', /^column 9: expected `and`, `or` or the end$/],
    ['api', /^column 4: expected `=`, `!=`, `~` or `in`$/],
    ['api =', /^column 6: expected a value of api$/],
    ['api = (', /^column 7: expected a value of api$/],
    ['api = cdm', /^column 7: the matrix has no api `cdm`; did you mean `cdn`\?$/],
    ['kind = static', /^column 8: the matrix has no kind `static`; did you mean `static_token`\?$/],
    ['scope = galaxy', /^column 9: the matrix has no scope `galaxy`; expected one of account, project$/],
    ['api in cdn', /^column 8: expected `\(`$/],
    ['api in (cdn', /^column 12: expected `,` or `\)`$/],
    ['(allowed', /^column 9: expected `and`, `or` or `\)`$/],
    ['allowed)', /^column 8: expected `and`, `or` or the end$/],
    ['not', /^column 4: expected a term/],
    ['opens', /^column 6: expected the id of an API$/],
    ['opens cdm', /^column 7: the matrix has no API `cdm`; did you mean `cdn`\?$/],
    ['opened static_token', /^column 8: expected `by` or `only by`$/],
    ['opened only static_token', /^column 13: expected `by`$/],
    ['opened by badge-x', /^column 11: the matrix has no kind of token `badge-x`; expected one of /],
    ['title = "DNS', /^column 9: expected the closing quote of this text$/],
    ['allowed ! contested', /^column 9: expected `!=`$/],
    ['"allowed"', /^column 1: expected a term/],
    ['__proto__ = a', /^column 1: expected a term/],
    [`${'('.repeat(QUERY_DEPTH_MAX + 1)}allowed`, /^column 52: expected at most 50 levels of brackets/],
    [`${'not '.repeat(QUERY_DEPTH_MAX + 1)}allowed`, /expected at most 50 levels of brackets/],
    [`${' '.repeat(QUERY_LENGTH_MAX)}a`, /^column 2001: expected at most 2000 characters$/],
  ])('%s', (expression, message) => {
    expect(() => queryMatrix(supportMatrix, expression)).toThrow(
      expect.objectContaining({ name: 'QueryError', message: expect.stringMatching(message) }),
    )
  })

  test.each<[apis: number, asked: string, hint: string]>([
    [5, 'door-x', 'did you mean `door-a` or `door-b` or `door-c`?'],
    [5, 'oor', 'did you mean `door-a` or `door-b` or `door-c`?'],
    [20, 'zzz', `expected one of ${doors(20).join(', ')}`],
    [21, 'zzz', `expected one of ${doors(20).join(', ')}, …`],
  ])('with the few of %d APIs that may be meant by %s', (count, asked, hint) => {
    const apis = doors(count).map((id) => ({ id, title: id, accepts: ['day_pass'], section: 'x' }))
    expect(() =>
      queryMatrix({ ...smallMatrix(), apis, statements: [], conflicts: [] }, `api = ${asked}`),
    ).toThrow(new QueryError(7, `the matrix has no api \`${asked}\`; ${hint}`))
  })

  test('and the beginning of a long name', () => {
    expect(() => queryMatrix(supportMatrix, `api = ${'x'.repeat(65)}`)).toThrow(
      `column 7: the matrix has no api \`${'x'.repeat(64)}\`; expected one of`,
    )
  })

  test('whatever the text is', () => {
    const words = fc.constantFrom(
      'allowed',
      'not',
      '(',
      ')',
      'and',
      'or',
      'api',
      '=',
      '~',
      'in',
      '"',
      'opens',
      ',',
    )
    const texts = fc.oneof(
      fc.string(),
      fc.array(words).map((each) => each.join(' ')),
    )
    fc.assert(
      fc.property(texts, (text) => {
        try {
          queryMatrix(supportMatrix, text)
        } catch (error) {
          expect(error).toBeInstanceOf(QueryError)
          const { column } = error as QueryError
          expect(column).toBeGreaterThanOrEqual(1)
          expect(column).toBeLessThanOrEqual(text.length + 1)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

test('the deepest and the longest expressions are answered', () => {
  const deep = `${'('.repeat(QUERY_DEPTH_MAX)}contested${')'.repeat(QUERY_DEPTH_MAX)}`
  expect(found(deep)).toHaveLength(4)
  const long = Array.from({ length: 160 }, () => 'contested')
    .join(' or ')
    .slice(0, QUERY_LENGTH_MAX - 9)
  expect(found(long.slice(0, long.lastIndexOf(' or ')))).toHaveLength(4)
  expect(found('contested'.padStart(QUERY_LENGTH_MAX))).toHaveLength(4)
  const beside = Array.from({ length: QUERY_DEPTH_MAX + 1 }, () => '(contested)')
  expect(found(beside.join(' or '))).toHaveLength(4)
})

/** `door-a`, `door-b` and so on. */
function doors(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `door-${String.fromCharCode(97 + index)}`)
}
