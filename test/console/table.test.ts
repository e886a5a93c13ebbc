/**
 * The table of the explorer: what cells show, which rows a search and filters leave, and which of them are
 * drawn.
 */
import { describe, expect, test } from 'vitest'
import { drawnRows, moved } from '../../console/model/moves.ts'
import { queryReader } from '../../console/model/query.ts'
import { rulesOf } from '../../console/model/rules.ts'
import { looksLikeQuery, piecesOf, wordsOf } from '../../console/model/search.ts'
import { type Filters, rowsFitting, tableOf } from '../../console/model/table.ts'
import { FIRST_VIEW } from '../../console/model/view.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { cells } from '../support/matrices/oracle.ts'

const rules = rulesOf(supportMatrix, 'resolved')
const table = tableOf(rules.engine('resolved'))
const strictTable = tableOf(rules.engine('strict'))

const stateIn = ({ rows, kinds }: typeof table, api: string, kind: string) =>
  rows.find((row) => row.api.id === api)?.cells[kinds.findIndex(({ id }) => id === kind)]

test('every cell shows what the source prints', () => {
  const shown = cells().map(({ api, kind }) => [api, kind, stateIn(table, api, kind)?.startsWith('allowed')])
  expect(shown).toEqual(cells().map(({ api, kind, accepted }) => [api, kind, accepted]))
})

test.each([
  ['cdn', PROJECT_KIND, 'allowed-contested', 'denied-strict'],
  ['mobile-farm', PROJECT_KIND, 'allowed-contested', 'denied-strict'],
  ['audit-logs', ACCOUNT_KIND, 'allowed-contested', 'denied-strict'],
  ['audit-logs', PROJECT_KIND, 'denied-contested', 'denied-contested'],
  ['cdn', STATIC_KIND, 'denied', 'denied'],
  ['iam', ACCOUNT_KIND, 'allowed', 'allowed'],
])('%s × %s is %s, and in strict mode %s', (api, kind, resolved, strict) => {
  expect([stateIn(table, api, kind), stateIn(strictTable, api, kind)]).toEqual([resolved, strict])
})

test.each<[string, Partial<Filters>, string[]]>([
  ['words of the title, in any order and case', { search: 'LEGACY dns' }, ['dns-hosting-legacy']],
  ['a part of an id', { search: 'k8s' }, []],
  ['accents do not matter', { search: 'tíckets' }, ['tickets']],
  ['contested rows', { contested: true }, ['cdn', 'audit-logs', 'mobile-farm']],
  [
    'a kind',
    { kinds: [STATIC_KIND], search: 's' },
    [
      'statistics',
      'reports',
      'transactions',
      'dns-hosting-legacy',
      'ip-address-management',
      'tickets',
      'attachments',
    ],
  ],
  [
    'a header and a kind',
    { header: 'X-Token', kinds: [ACCOUNT_KIND] },
    ['balance', 'statistics', 'dns-hosting-legacy'],
  ],
  ['a header that the matrix does not have', { header: 'X-Other' }, []],
  ['a kind that the matrix does not have', { kinds: ['other'] }, []],
])('%s', (_what, filters, ids) => {
  expect(rowsFitting(table, { ...FIRST_VIEW, ...filters }).map(({ api }) => api.id)).toEqual(ids)
})

describe('a search', () => {
  const read = queryReader(supportMatrix)

  test.each<[search: string, ids: string[]]>([
    [
      'opened only by static_token and title ~ t',
      ['reports', 'transactions', 'ip-address-management', 'tickets', 'attachments'],
    ],
    ['api in (cdn, iam) and strict.allowed', ['iam']],
    ['contested and not allowed', ['audit-logs']],
    [
      'not (opened by static_token or opened by iam_token_project_scoped or api = iam)',
      ['federations', 'global-router', 'audit-logs'],
    ],
    ['opens iam and contested', ['audit-logs']],
  ])('%s is an expression, and leaves rows with a cell that fits', (search, ids) => {
    expect(looksLikeQuery(search)).toBe(true)
    const found = read(search)
    if (found.type !== 'cells') throw new Error(found.type)
    const rows = rowsFitting(table, { ...FIRST_VIEW, search }, found.fits)
    expect(rows.map(({ api }) => api.id)).toEqual(ids)
    // The other filters go on working.
    expect(rowsFitting(table, { ...FIRST_VIEW, search, header: 'X-Other' }, found.fits)).toEqual([])
  })

  test('of kinds leaves every row, and the cells of those kinds', () => {
    const found = read('opens balance and not opens iam')
    if (found.type !== 'cells') throw new Error(found.type)
    expect(table.kinds.map((_, column) => found.fits(0, column))).toEqual([false, false, true])
    expect(rowsFitting(table, FIRST_VIEW, found.fits)).toHaveLength(30)
  })

  test.each(['dns', 'LEGACY dns', 'contested', 'allowed', 'not', 'api', 'iam (users', 'opens', ''])(
    'of words stays one: %j',
    (search) => {
      expect(looksLikeQuery(search)).toBe(false)
    },
  )

  test.each(['users and roles', 'not found', 'opens nothing', 'opened by'])(
    'that only looks like an expression is one of words: %s',
    (search) => {
      expect(looksLikeQuery(search)).toBe(true)
      expect(read(search)).toEqual({ type: 'words' })
    },
  )

  test('with a sign of an expression says what is wrong with it', () => {
    expect(read('kind = static_tokn')).toEqual({
      type: 'fault',
      message: 'column 8: the matrix has no kind `static_tokn`; did you mean `static_token`?',
    })
  })
})

test('a text is cut where words of the search are, and never loses a letter', () => {
  expect(piecesOf('DNS hosting (legacy)', wordsOf('host dn'))).toEqual([
    { text: 'DN', found: true },
    { text: 'S ', found: false },
    { text: 'host', found: true },
    { text: 'ing (legacy)', found: false },
  ])
  expect(piecesOf('ﬁle', wordsOf('file'))).toEqual([{ text: 'ﬁle', found: false }])
})

describe('10,000 APIs', () => {
  const apis = Array.from({ length: 10_000 }, (_, index) => ({
    id: `api-${index}`,
    title: `<b>API</b> ${index}`,
    accepts: [index % 2 === 0 ? STATIC_KIND : ACCOUNT_KIND],
    section: '§1',
  }))
  const large = tableOf(
    rulesOf({ ...supportMatrix, apis, statements: [], conflicts: [] }, 'resolved').engine('resolved'),
  )

  test('all are in the table, and a search finds one', () => {
    expect(large.rows).toHaveLength(10_000)
    const found = rowsFitting(large, { ...FIRST_VIEW, search: 'api-9876' })
    expect(found.map(({ api }) => api.id)).toEqual(['api-9876'])
  })
})

test.each<[string, Parameters<typeof drawnRows>, unknown]>([
  ['few rows', [3, 0, 30, undefined], [{ row: 0 }, { row: 1 }, { row: 2 }]],
  ['no rows', [0, 0, 30, undefined], []],
  ['a focus that is not there', [1, 0, 30, 7], [{ row: 0 }]],
])('%s are drawn', (_what, given, drawn) => {
  expect(drawnRows(...given)).toEqual(drawn)
})

test('of many rows those around the sight and the one with the focus are drawn, and the others have their height', () => {
  const drawn = drawnRows(10_000, 5_000, 30, 3)
  expect(drawn.slice(0, 4)).toEqual([
    { skipped: 3, before: 3 },
    { row: 3 },
    { skipped: 4_984, before: 4_988 },
    { row: 4_988 },
  ])
  expect(drawn.at(-1)).toEqual({ skipped: 4_958, before: 10_000 })
  const height = drawn.reduce((sum, each) => sum + ('row' in each ? 1 : each.skipped), 0)
  expect(height).toBe(10_000)
  // A list that became shorter than the place that is scrolled to still shows its end.
  expect(drawnRows(100, 5_000, 30, undefined).at(-1)).toEqual({ row: 99 })
})

test.each([
  ['ArrowDown', false, { row: 29, column: 1 }],
  ['ArrowUp', false, { row: 28, column: 1 }],
  ['ArrowLeft', false, { row: 29, column: 0 }],
  ['ArrowRight', false, { row: 29, column: 2 }],
  ['PageUp', false, { row: 19, column: 1 }],
  ['PageDown', false, { row: 29, column: 1 }],
  ['Home', false, { row: 29, column: 0 }],
  ['End', false, { row: 29, column: 3 }],
  ['Home', true, { row: 0, column: 0 }],
  ['End', true, { row: 29, column: 3 }],
  ['a', false, undefined],
])('%s (ctrl: %s) leads from the last row to %o', (key, ctrl, place) => {
  expect(moved({ row: 29, column: 1 }, key, ctrl, { rows: 30, columns: 4, page: 10 })).toEqual(place)
})
