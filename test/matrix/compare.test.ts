/** Comparing two matrices: exactly the cells that open and close in each mode, held to engines. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Api,
  type Conflict,
  compile,
  type Matrix,
  type Steps,
  type TokenKind,
} from '../../engine/index.ts'
import { compareInSteps, MODES, type Mode } from '../../matrix/compare.ts'
import { type Comparison, compareMatrices, decideCell, supportMatrix } from '../../matrix/index.ts'
import { draftInSteps, loadInSteps } from '../../matrix/load.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'

/** The shipped rows alone: a statement cannot name an API that is gone. */
const ROWS: Matrix = { ...supportMatrix, statements: [], conflicts: [] }

const withRows = (matrix: Matrix, change: (api: Api) => Api | readonly Api[]): Matrix => ({
  ...matrix,
  apis: matrix.apis.flatMap((api) => change(api)),
})
/** Rows with another id, or with other fields. */
const withRow = (matrix: Matrix, id: string, fields: Partial<Api>): Matrix =>
  withRows(matrix, (api) => (api.id === id ? { ...api, ...fields } : api))
const flipsOf = ({ flips }: Comparison) =>
  flips.map(({ direction, api, kind, modes }) => [direction, api, kind, modes.join('+')])

const NOTHING = { added: [], removed: [], changed: [] }
const SAME: Comparison = {
  ...{ flips: [], kindFlips: [], renames: [], title: undefined },
  ...{ tokenKinds: NOTHING, apis: NOTHING, statements: NOTHING, conflicts: NOTHING },
}
const BOTH = 'lenient+strict'

test('a matrix does not differ from itself, nor from one with its keys in another order', () => {
  expect(compareMatrices(supportMatrix, structuredClone(supportMatrix))).toEqual(SAME)
  const turned = JSON.parse(JSON.stringify(supportMatrix), (_key, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).reverse())
      : value,
  )
  expect(compareMatrices(supportMatrix, turned)).toEqual(SAME)
})

test('opened cells come first, whatever their place', () => {
  const first = withRow(supportMatrix, 'iam', { accepts: [PROJECT_KIND] })
  const other = withRow(first, 'attachments', { accepts: [ACCOUNT_KIND, STATIC_KIND] })
  const comparison = compareMatrices(supportMatrix, other)
  expect(flipsOf(comparison)).toEqual([
    ['opened', 'iam', PROJECT_KIND, BOTH],
    ['opened', 'attachments', ACCOUNT_KIND, BOTH],
    ['closed', 'iam', ACCOUNT_KIND, BOTH],
  ])
  const [allowed, denied] = ['ALLOWED', 'TOKEN_KIND_NOT_ACCEPTED'].map((reason) => ({
    ...{ lenient: reason, strict: reason, conflicts: [] },
  }))
  expect(comparison.flips[2]).toStrictEqual({
    ...{ direction: 'closed', api: 'iam', kind: ACCOUNT_KIND, modes: MODES, before: allowed, after: denied },
  })
  expect({ ...comparison, flips: [] }).toEqual(SAME)
})

test('an API that came opens its cells and one that is gone closes them', () => {
  const backups = { id: 'backups', title: 'Backups', accepts: [PROJECT_KIND], section: '§5.4' }
  const other = withRows(ROWS, (api) => (api.id === 'reports' ? [] : api.id === 'iam' ? [api, backups] : api))
  const comparison = compareMatrices(ROWS, other)
  expect(flipsOf(comparison)).toEqual([
    ['opened', 'backups', PROJECT_KIND, BOTH],
    ['closed', 'reports', STATIC_KIND, BOTH],
  ])
  expect(comparison.flips[1]).toMatchObject({
    before: { lenient: 'ALLOWED', strict: 'ALLOWED', conflicts: [] },
    after: { lenient: 'UNKNOWN_API', strict: 'UNKNOWN_API', conflicts: [] },
  })
  expect(comparison.apis).toEqual({ added: ['backups'], removed: ['reports'], changed: [] })
  expect(comparison.renames).toEqual([])
})

test('a kind that is gone closes its cells', () => {
  const other = {
    ...withRows(ROWS, (api) => ({ ...api, accepts: api.accepts.filter((id) => id !== STATIC_KIND) })),
    tokenKinds: ROWS.tokenKinds.filter(({ id }) => id !== STATIC_KIND),
  }
  const { flips, tokenKinds } = compareMatrices(ROWS, other)
  expect(new Set(flips.map(({ kind, after }) => `${kind} ${after.lenient} ${after.strict}`))).toEqual(
    new Set([`${STATIC_KIND} UNKNOWN_TOKEN_KIND UNKNOWN_TOKEN_KIND`]),
  )
  expect(flips).toHaveLength(8)
  expect(tokenKinds).toEqual({ ...NOTHING, removed: [STATIC_KIND] })
})

test('titles, kinds, statements and conflicts are named with what differs, though no cell flips', () => {
  const [statement, ...statements] = supportMatrix.statements
  const other = {
    ...withRow(supportMatrix, 'cdn', { title: 'Edge' }),
    title: 'Other',
    tokenKinds: supportMatrix.tokenKinds.map((kind) =>
      kind.id === STATIC_KIND
        ? {
            ...kind,
            header: 'X-Key',
            lifetimeSeconds: 60,
            issuedTo: 'customer',
            permissionScopes: ['account'],
          }
        : kind,
    ),
    statements: [{ ...statement, text: 'Other words' }, ...statements],
    conflicts: supportMatrix.conflicts.filter(({ type }) => type !== 'duplicate_row'),
  } as Matrix
  const flip = (direction: string, field: string, before: unknown, after: unknown) => ({
    ...{ direction, kind: STATIC_KIND, field, before, after },
  })
  expect(compareMatrices(supportMatrix, other)).toEqual({
    ...SAME,
    kindFlips: [
      flip('changed', 'header', 'X-Token', 'X-Key'),
      flip('changed', 'issuedTo', 'control_panel_user', 'customer'),
      flip('tightened', 'permissionScopes', [], ['account']),
      flip('tightened', 'lifetimeSeconds', null, 60),
    ],
    title: { field: 'title', before: supportMatrix.title, after: 'Other' },
    apis: {
      ...NOTHING,
      changed: [{ id: 'cdn', fields: [{ field: 'title', before: 'CDN', after: 'Edge' }] }],
    },
    tokenKinds: {
      ...NOTHING,
      changed: [
        {
          id: STATIC_KIND,
          fields: [
            { field: 'header', before: 'X-Token', after: 'X-Key' },
            { field: 'issuedTo', before: 'control_panel_user', after: 'customer' },
            { field: 'permissionScopes', before: [], after: ['account'] },
            { field: 'lifetimeSeconds', before: null, after: 60 },
          ],
        },
      ],
    },
    statements: {
      ...NOTHING,
      changed: [
        { id: statement?.id, fields: [{ field: 'text', before: statement?.text, after: 'Other words' }] },
      ],
    },
    conflicts: { ...NOTHING, removed: ['cloud-quotas-duplicate-row'] },
  })
})

test('a field that only one of the two has is named', () => {
  const [first, ...kinds] = supportMatrix.tokenKinds
  const other = { ...supportMatrix, tokenKinds: [{ ...first, scheme: 'Bearer' }, ...kinds] } as Matrix
  const changed = (before: unknown, after: unknown) => [
    { id: ACCOUNT_KIND, fields: [{ field: 'scheme', before, after }] },
  ]
  expect(compareMatrices(supportMatrix, other).tokenKinds.changed).toEqual(changed(undefined, 'Bearer'))
  expect(compareMatrices(other, supportMatrix).tokenKinds.changed).toEqual(changed('Bearer', undefined))
})

test('a matrix without its declared conflicts opens three cells in strict mode alone', () => {
  const { flips } = compareMatrices(supportMatrix, { ...supportMatrix, conflicts: [] })
  expect(flipsOf({ ...SAME, flips })).toEqual([
    ['opened', 'cdn', PROJECT_KIND, 'strict'],
    ['opened', 'audit-logs', ACCOUNT_KIND, 'strict'],
    ['opened', 'mobile-farm', PROJECT_KIND, 'strict'],
  ])
  expect(flips[0]).toMatchObject({
    before: { lenient: 'ALLOWED', strict: 'CONTESTED', conflicts: ['cdn-project-omission'] },
    after: { lenient: 'ALLOWED', strict: 'ALLOWED', conflicts: [] },
  })
})

test('a resolution for the prose opens a cell in lenient mode alone; a mark that it reverses is named', () => {
  const reversed = {
    ...supportMatrix,
    conflicts: supportMatrix.conflicts.map((conflict) =>
      conflict.id === 'audit-logs-project-contradiction'
        ? { ...conflict, resolution: 'prose' as const }
        : conflict,
    ),
  }
  expect(flipsOf(compareMatrices(supportMatrix, reversed))).toEqual([
    ['opened', 'audit-logs', PROJECT_KIND, 'lenient'],
  ])
  // The conflict goes, which opens nothing; and beside it another cell is opened.
  const other = withRow({ ...supportMatrix, conflicts: [] }, 'audit-logs', {
    accepts: [ACCOUNT_KIND, STATIC_KIND],
  })
  expect(compareMatrices(supportMatrix, other).apis).toEqual(NOTHING)
  // The conflict of the row would no longer be a contradiction: this file is not finished.
  const marked = withRow(reversed, 'audit-logs', { accepts: [ACCOUNT_KIND, PROJECT_KIND] })
  const comparison = compareMatrices(supportMatrix, marked)
  expect(comparison.flips).toEqual([])
  expect(comparison.apis.changed).toEqual([
    {
      id: 'audit-logs',
      fields: [{ field: 'accepts', before: [ACCOUNT_KIND], after: [ACCOUNT_KIND, PROJECT_KIND] }],
    },
  ])
})

test('a mark of a kind that only one of two matrices has is not another mark, though a conflict reverses it', () => {
  const [kind] = ROWS.tokenKinds
  const cell = { api: 'cdn', kind: 'badge' }
  const marked: Matrix = {
    ...withRow(ROWS, 'cdn', { accepts: [PROJECT_KIND, 'badge'] }),
    tokenKinds: [...ROWS.tokenKinds, { ...(kind as TokenKind), id: 'badge', header: 'X-Badge' }],
    conflicts: [
      {
        ...(supportMatrix.conflicts[0] as Conflict),
        apis: [],
        statements: [],
        cells: [cell],
        resolution: 'prose',
      },
    ],
  }
  for (const [before, after] of [
    [ROWS, marked],
    [marked, ROWS],
  ] as const) {
    const { flips, apis } = compareMatrices(before, after)
    expect([flips, apis]).toEqual([[], NOTHING])
  }
})

test('the flips of any two matrices are those that a look at every cell with engines finds', () => {
  fc.assert(
    fc.property(matrices(), matrices(), (one, other) => {
      const comparison = compareMatrices(one, other)
      const formerIds = new Map(comparison.renames.map(({ from, to }) => [to, from]))
      for (const mode of MODES) expect(found(comparison, mode)).toEqual(expected(one, other, mode, formerIds))
    }),
    { numRuns: 100 },
  )
})

function found({ flips }: Comparison, mode: Mode): string[] {
  return flips
    .filter(({ modes }) => modes.includes(mode))
    .map(({ direction, api, kind }) => `${direction} ${api} ${kind}`)
    .sort()
}

function expected(one: Matrix, other: Matrix, mode: Mode, formerIds: ReadonlyMap<string, string>): string[] {
  const [before, after] = [one, other].map((matrix) => compile(matrix, { strict: mode === 'strict' }))
  const allowed = (asked: typeof before, api: string, kind: string) => {
    const known = asked?.tokenKinds.get(kind)
    return known !== undefined && asked !== undefined && decideCell(asked, api, known).allowed
  }
  const former = new Set(formerIds.values())
  const apis = new Set([...one.apis, ...other.apis].map(({ id }) => id).filter((id) => !former.has(id)))
  const kinds = new Set([...one.tokenKinds, ...other.tokenKinds].map(({ id }) => id))
  return [...apis]
    .flatMap((api) =>
      [...kinds].flatMap((kind) => {
        const [then, now] = [allowed(before, formerIds.get(api) ?? api, kind), allowed(after, api, kind)]
        return then === now ? [] : [`${now ? 'opened' : 'closed'} ${api} ${kind}`]
      }),
    )
    .sort()
}

test('an invalid matrix is refused as `compile` refuses it', () => {
  const broken = withRow(supportMatrix, 'cdn', { accepts: ['unknown'] })
  expect(() => compareMatrices(supportMatrix, broken)).toThrow(/apis\[20\]\.accepts\[0\]: expected the id/)
})

test('a draft is read with what keeps it from being loaded', () => {
  const steps = draftInSteps(JSON.stringify({ ...supportMatrix, conflicts: [] }))
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  expect(step.value.matrix.apis).toHaveLength(30)
  expect(step.value.problems).toHaveLength(supportMatrix.conflicts.length)
})

// The page reads and compares between two frames.
test.each<[what: string, least: number, steps: () => Steps<unknown>]>([
  [
    'comparing: an API at a time',
    supportMatrix.apis.length,
    () => compareInSteps(supportMatrix, structuredClone(supportMatrix)),
  ],
  [
    'reading: JSON, the schema, ids and conflicts by themselves',
    3,
    () => loadInSteps(JSON.stringify(supportMatrix)),
  ],
])('%s', (_, least, steps) => {
  let count = 0
  const counted = steps()
  while (counted.next().done !== true) count++
  expect(count).toBeGreaterThanOrEqual(least)
})
