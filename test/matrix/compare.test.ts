/** Comparing two matrices: exactly the cells that open and close, held to a look at every cell. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compile, type Matrix, type Steps } from '../../engine/index.ts'
import { compareInSteps } from '../../matrix/compare.ts'
import { compareEngines, decideCell, supportMatrix } from '../../matrix/index.ts'
import { loadInSteps } from '../../matrix/load.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND, strictEngine } from '../support/matrices/engines.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'

/** The shipped matrix with other rows. */
const withRows = (change: (apis: Matrix['apis']) => Matrix['apis']): Matrix => ({
  ...supportMatrix,
  apis: change(supportMatrix.apis),
})

const compared = (matrix: Matrix, before: Matrix = supportMatrix) => {
  const { cells, ...lists } = compareEngines(compile(before), compile(matrix))
  return { ...lists, cells: cells.map(({ type, api, kind }) => [type, api, kind]) }
}

const NOTHING = { added: [], removed: [], changed: [] }

test('a matrix does not differ from itself', () => {
  expect(compared(supportMatrix)).toEqual({ cells: [], apis: NOTHING, tokenKinds: NOTHING })
})

test('opened cells come first, whatever their place', () => {
  const other = withRows((apis) =>
    apis.map((api) => {
      if (api.id === 'iam') return { ...api, accepts: [PROJECT_KIND] }
      return api.id === 'attachments' ? { ...api, accepts: [ACCOUNT_KIND, STATIC_KIND] } : api
    }),
  )
  expect(compared(other)).toEqual({
    apis: NOTHING,
    tokenKinds: NOTHING,
    cells: [
      ['opened', 'iam', PROJECT_KIND],
      ['opened', 'attachments', ACCOUNT_KIND],
      ['closed', 'iam', ACCOUNT_KIND],
    ],
  })
})

test('an API that came opens its cells and one that is gone closes them; their denied cells are no changes', () => {
  // A statement cannot name an API that is gone.
  const rows = { ...supportMatrix, statements: [], conflicts: [] }
  const other = {
    ...rows,
    apis: [
      ...rows.apis.filter(({ id }) => id !== 'reports'),
      { id: 'backups', title: 'Backups', accepts: [PROJECT_KIND], section: '§5.4' },
    ],
  }
  expect(compared(other, rows)).toEqual({
    apis: { added: ['backups'], removed: ['reports'], changed: [] },
    tokenKinds: NOTHING,
    cells: [
      ['opened', 'backups', PROJECT_KIND],
      ['closed', 'reports', STATIC_KIND],
    ],
  })
})

test('a kind with another header and an API with another title are named, though no cell changes', () => {
  const other = {
    ...withRows((apis) => apis.map((api) => (api.id === 'cdn' ? { ...api, title: 'Edge' } : api))),
    tokenKinds: supportMatrix.tokenKinds.map((kind) =>
      kind.id === STATIC_KIND ? { ...kind, header: 'X-Static-Token' } : kind,
    ),
  }
  expect(compared(other)).toEqual({
    cells: [],
    apis: { ...NOTHING, changed: ['cdn'] },
    tokenKinds: { ...NOTHING, changed: [STATIC_KIND] },
  })
})

test('strict mode closes three cells, and denies a fourth one as before', () => {
  const types = compareEngines(engine, strictEngine).cells.map(({ type, api }) => [type, api])
  expect(types).toEqual([
    ['closed', 'cdn'],
    ['closed', 'audit-logs'],
    ['closed', 'mobile-farm'],
  ])
})

test('a resolution for the prose shows as the cell that it opens', () => {
  const other = {
    ...supportMatrix,
    conflicts: supportMatrix.conflicts.map((conflict) =>
      conflict.id === 'audit-logs-project-contradiction'
        ? { ...conflict, resolution: 'prose' as const }
        : conflict,
    ),
  }
  expect(compared(other).cells).toEqual([['opened', 'audit-logs', PROJECT_KIND]])
})

test('the opened and the closed cells of any two matrices are those that a look at every cell finds', () => {
  fc.assert(
    fc.property(matrices(), matrices(), fc.boolean(), (one, other, strict) => {
      const [before, after] = [compile(one), compile(other, { strict })]
      const allowed = (asked: typeof before, api: string, kind: string) => {
        const known = asked.tokenKinds.get(kind)
        return known !== undefined && decideCell(asked, api, known).allowed
      }
      const apis = new Set([...before.apis.keys(), ...after.apis.keys()])
      const kinds = new Set([...before.tokenKinds.keys(), ...after.tokenKinds.keys()])
      const expected = { opened: new Set<string>(), closed: new Set<string>() }
      for (const api of apis)
        for (const kind of kinds) {
          const [then, now] = [allowed(before, api, kind), allowed(after, api, kind)]
          if (then !== now) expected[now ? 'opened' : 'closed'].add(`${api} ${kind}`)
        }
      const { cells } = compareEngines(before, after)
      const found = (type: string) =>
        new Set(cells.filter((cell) => cell.type === type).map(({ api, kind }) => `${api} ${kind}`))
      expect({ opened: found('opened'), closed: found('closed') }).toEqual(expected)
    }),
    { numRuns: 200 },
  )
})

// The page reads and compares between two frames.
test.each<[what: string, least: number, steps: () => Steps<unknown>]>([
  ['comparing: an API at a time', supportMatrix.apis.length, () => compareInSteps(engine, strictEngine)],
  [
    'reading: JSON, the schema, ids and conflicts by themselves',
    3,
    () => loadInSteps(JSON.stringify(supportMatrix)),
  ],
])('%s', (_, least, steps) => {
  let count = 0
  const counted = steps()
  while (counted.next().done !== true) count++
  expect(count).toBe(least)
})
