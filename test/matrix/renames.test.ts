/** APIs that were given another id: which are found, and that no flip is hidden. */
import { describe, expect, test } from 'vitest'
import type { Api, Matrix, TokenKind } from '../../engine/index.ts'
import { compareMatrices, supportMatrix } from '../../matrix/index.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'

/** The shipped rows alone: a statement cannot name an API that is gone. */
const ROWS: Matrix = { ...supportMatrix, statements: [], conflicts: [] }

const withRows = (matrix: Matrix, change: (api: Api) => Api | readonly Api[]): Matrix => ({
  ...matrix,
  apis: matrix.apis.flatMap((api) => change(api)),
})
const withRow = (matrix: Matrix, id: string, fields: Partial<Api>): Matrix =>
  withRows(matrix, (api) => (api.id === id ? { ...api, ...fields } : api))

describe('an API with another id', () => {
  const renamed = (from: string, fields: Partial<Api>) => compareMatrices(ROWS, withRow(ROWS, from, fields))

  test.each<[what: string, from: string, fields: Partial<Api> & { readonly id: string }, because: string]>([
    ['and the same title', 'cdn', { id: 'edge' }, 'title'],
    ['that is the old one with a word added', 'email', { id: 'email-sending', title: 'Sending' }, 'row'],
    ['that is the old one without a word', 'dns-hosting-legacy', { id: 'legacy', title: 'Old' }, 'row'],
    ['and the same title, and a similar id', 'cdn', { id: 'cdn-2' }, 'title'],
    [
      'with its kinds in another order',
      'dedicated-servers',
      { id: 'dedicated-servers-2', title: 'Servers', accepts: [PROJECT_KIND, ACCOUNT_KIND] },
      'row',
    ],
    ['with a slip or two', 'secrets', { id: 'secretz', title: 'Vault' }, 'row'],
  ])('%s is the same API, and who asks with the old id is named', (_what, from, fields, because) => {
    const { flips, renames, apis } = renamed(from, fields)
    const { accepts } = ROWS.apis.find(({ id }) => id === from) as Api
    expect(renames).toMatchObject([{ from, to: fields.id, because }])
    expect(renames[0]?.lost).toMatchObject(
      accepts.map((kind) => ({ direction: 'closed', api: from, kind, after: { lenient: 'UNKNOWN_API' } })),
    )
    expect(renames[0]?.gained).toMatchObject(
      accepts.map((kind) => ({
        direction: 'opened',
        api: fields.id,
        kind,
        before: { strict: 'UNKNOWN_API' },
      })),
    )
    expect(flips).toEqual([])
    expect([apis.added, apis.removed]).toEqual([[], []])
  })

  test('gains by its new id what is as it was; what opens there is a flip already', () => {
    const { flips, renames } = renamed('cdn', { id: 'edge', accepts: [PROJECT_KIND, STATIC_KIND] })
    expect(flips).toMatchObject([{ direction: 'opened', api: 'edge', kind: STATIC_KIND }])
    expect(renames[0]?.gained).toEqual([
      {
        ...{ direction: 'opened', api: 'edge', kind: PROJECT_KIND, modes: ['lenient', 'strict'] },
        before: { lenient: 'UNKNOWN_API', strict: 'UNKNOWN_API', conflicts: [] },
        after: { lenient: 'ALLOWED', strict: 'ALLOWED', conflicts: [] },
      },
    ])
  })

  test('gains nothing of a kind that is new: that opens', () => {
    const badge = { ...(ROWS.tokenKinds[0] as TokenKind), id: 'badge' }
    const other = withRow(ROWS, 'cdn', { id: 'edge', accepts: [PROJECT_KIND, 'badge'] })
    const { flips, renames } = compareMatrices(ROWS, { ...other, tokenKinds: [...ROWS.tokenKinds, badge] })
    expect(flips).toMatchObject([{ direction: 'opened', api: 'edge', kind: 'badge' }])
    expect(renames[0]?.gained).toMatchObject([{ kind: PROJECT_KIND }])
    expect(renames[0]?.gained).toHaveLength(1)
  })

  test('hides no flip: its cells are compared across the two ids', () => {
    const { flips, renames, apis } = renamed('cdn', { id: 'edge', accepts: [STATIC_KIND], section: '§9' })
    expect(renames).toMatchObject([{ from: 'cdn', to: 'edge', lost: [{ api: 'cdn', kind: PROJECT_KIND }] }])
    expect(flips).toMatchObject([
      { direction: 'opened', api: 'edge', kind: STATIC_KIND, renamedFrom: 'cdn' },
      { direction: 'closed', api: 'edge', kind: PROJECT_KIND, renamedFrom: 'cdn' },
    ])
    expect(apis.changed).toEqual([
      { id: 'edge', fields: [{ field: 'section', before: '§5.4', after: '§9' }] },
    ])
  })

  test.each<[why: string, rows: (api: Api) => Api | readonly Api[]]>([
    [
      'another title and a distant id',
      (api) => (api.id === 'cdn' ? { ...api, id: 'edge', title: 'Edge' } : api),
    ],
    [
      'a similar id and other kinds',
      (api) => (api.id === 'cdn' ? { ...api, id: 'cdn-2', title: 'Edge', accepts: [STATIC_KIND] } : api),
    ],
    [
      'a similar id in another section',
      (api) => (api.id === 'cdn' ? { ...api, id: 'cdn-2', title: 'Edge', section: '§9' } : api),
    ],
    [
      'a title that one of the others takes',
      (api) => (api.id === 'cdn' ? [] : api.id === 'iam' ? { ...api, title: 'CDN' } : api),
    ],
    [
      'two that could be meant by their title',
      (api) => (api.id === 'cdn' ? ['edge', 'fastly'].map((id) => ({ ...api, id })) : api),
    ],
    [
      'two that could be meant by their ids',
      (api) => (api.id === 'cdn' ? ['cdn-1', 'cdn-2'].map((id) => ({ ...api, id, title: id })) : api),
    ],
  ])('is a new one beside one that is gone: %s', (_why, rows) => {
    const { renames, flips, apis } = compareMatrices(ROWS, withRows(ROWS, rows))
    expect(renames).toEqual([])
    expect(apis.removed).toEqual(['cdn'])
    expect(flips.some(({ direction, api }) => direction === 'closed' && api === 'cdn')).toBe(true)
  })

  const row = (id: string, title = id, accepts = [STATIC_KIND]): Api => ({
    id,
    title,
    accepts,
    section: '§1',
  })
  const renames = (gone: Api[], come: Api[]) =>
    compareMatrices(
      { ...ROWS, apis: [row('all'), ...gone] },
      { ...ROWS, apis: [row('all'), ...come] },
    ).renames.map(({ from, to }) => `${from} ${to}`)

  test.each<[what: string, gone: Api[], come: Api[], renamed: string[]]>([
    [
      'its title, and a similar one is new',
      [row('cdn', 'CDN')],
      [row('cdn-2', 'CDN'), row('cdn-3')],
      ['cdn cdn-2'],
    ],
    [
      'its title, and a similar one is gone',
      [row('cdn', 'CDN'), row('cdn-9')],
      [row('cdn-2', 'CDN')],
      ['cdn cdn-2'],
    ],
    [
      'its row, before one with its title',
      [row('edge', 'Edge'), row('mail')],
      [row('mail-2', 'Sending'), row('cloud', 'Edge')],
      ['mail mail-2', 'edge cloud'],
    ],
    [
      'its kinds in another order',
      [row('cdn', 'CDN', [STATIC_KIND, ACCOUNT_KIND])],
      [row('cdn-2', 'Edge', [ACCOUNT_KIND, STATIC_KIND])],
      ['cdn cdn-2'],
    ],
  ])('is found by %s', (_what, gone, come, renamed) => {
    expect(renames(gone, come)).toEqual(renamed)
  })

  test.each([
    [100, 100, 100],
    [101, 101, 0],
    [101, 1, 0],
    [1, 101, 0],
    [100, 1, 1],
    [1, 100, 1],
  ])('is one of %d that are gone and %d that are new: %d are found by their rows', (gone, come, found) => {
    const rows = (count: number, end: string) =>
      Array.from({ length: count }, (_, index) => row(`door-${index}-of-a-house${end}`))
    expect(renames(rows(gone, ''), rows(come, '-new'))).toHaveLength(found)
  })

  test('is not found by a title that two of the old ones had', () => {
    const twins = withRows(ROWS, (api) => (api.id === 'cdn' ? [api, { ...api, id: 'quic' }] : api))
    const other = withRows(ROWS, (api) => (api.id === 'cdn' ? { ...api, id: 'edge' } : api))
    expect(compareMatrices(twins, other).renames).toEqual([])
  })
})
