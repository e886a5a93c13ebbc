/**
 * The linter: holds the declared conflicts to those that follow from rows and statements, every one and no
 * other.
 */
import { expect, test } from 'vitest'
import type { Conflict } from '../../engine/index.ts'
import {
  type DerivedConflict,
  deriveConflicts,
  lintMatrix,
  problemText,
  supportMatrix,
} from '../../matrix/index.ts'
import { ACCOUNT_KIND, PROJECT_KIND } from '../support/matrices/engines.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

/** The seven conflicts of the source: §5.4 notes 1 to 3, §5.1 and §1, with the statements that take part. */
const OF_THE_SOURCE: readonly DerivedConflict[] = [
  derived('overstatement', { kinds: [ACCOUNT_KIND], statements: ['account-most-products'] }),
  derived('contradiction', {
    kinds: [ACCOUNT_KIND, PROJECT_KIND],
    statements: ['account-service-user-only', 'project-service-user-only', 'control-panel-user-iam-token'],
  }),
  derived('omission', {
    cells: [{ api: 'audit-logs', kind: ACCOUNT_KIND }],
    statements: ['account-manages'],
  }),
  derived('contradiction', {
    cells: [{ api: 'audit-logs', kind: PROJECT_KIND }],
    statements: ['project-manages'],
  }),
  derived('omission', { cells: [{ api: 'cdn', kind: PROJECT_KIND }], statements: ['project-manages'] }),
  derived('omission', {
    cells: [{ api: 'mobile-farm', kind: PROJECT_KIND }],
    statements: ['project-manages'],
  }),
  derived('duplicate_row', { apis: ['cloud-quotas'], statements: ['cloud-quotas-row-repeated'] }),
]

test('exactly the seven conflicts of the source follow from the shipped rows and statements alone', () => {
  expect(deriveConflicts({ ...supportMatrix, conflicts: [] })).toEqual(OF_THE_SOURCE)
})

test('the shipped matrix passes, with each conflict beside its declaration', () => {
  const { conflicts, problems } = lintMatrix(supportMatrix)
  expect(problems).toEqual([])
  expect(conflicts.map((each) => each.derived)).toEqual(OF_THE_SOURCE)
  expect(new Set(conflicts.map((each) => each.declared))).toEqual(new Set(supportMatrix.conflicts))
})

test.each(supportMatrix.conflicts)(
  'leaving out the declaration $id is reported',
  ({ id, type, cells, apis, kinds }) => {
    const conflicts = supportMatrix.conflicts.filter((conflict) => conflict.id !== id)
    const about = [
      ...cells.map((cell) => `\`${cell.api}\` × \`${cell.kind}\``),
      ...[...apis, ...kinds].map((each) => `\`${each}\``),
    ]
    const [cell] = cells
    const subject = cell === undefined ? (apis[0] ?? kinds[0]) : `${cell.api}-${cell.kind}`
    const report = lintMatrix({ ...supportMatrix, conflicts })
    expect(report.problems.map(problemText)).toEqual([
      expect.stringMatching(
        `^conflicts: expected a declaration with a resolution and a reason for the ${type} about ${about.join(', ')}; add to the list: {"id":"${subject}-${type.replace('_', '-')}",`,
      ),
    ])
    expect(report.conflicts.filter((each) => each.declared === undefined)).toHaveLength(1)
    expect(report.conflicts.map((each) => each.derived)).toEqual(OF_THE_SOURCE)
  },
)

/** Faults of the declarations of the small matrix. */
test.each<[claim: string, change: (conflicts: Conflict[]) => Conflict[], problems: string[]]>([
  [
    'a declaration without ground',
    (conflicts) => [
      ...conflicts,
      declared({ type: 'omission', cells: [{ api: 'cellar', kind: 'day_pass' }] }),
    ],
    [
      'conflicts[2]: expected a conflict that follows from the rows and the statements; no omission about `cellar` × `day_pass` does, so remove it',
    ],
  ],
  [
    'a declaration about nothing',
    (conflicts) => [...conflicts, declared({})],
    [
      'conflicts[2]: expected a conflict that follows from the rows and the statements; no contradiction about nothing does, so remove it',
    ],
  ],
  [
    'a conflict declared twice',
    (conflicts) => [...conflicts, ...conflicts.slice(0, 1).map((conflict) => ({ ...conflict, id: 'again' }))],
    ['conflicts[2]: expected each conflict once; `lobby-key-contradiction` declares the same'],
  ],
  [
    'a conflict declared twice, in another order',
    (conflicts) => {
      const [cell, ...apis] = [{ api: 'cellar', kind: 'day_pass' }, 'lobby', 'library'] as const
      const parts = { cells: [cell, { api: 'lobby', kind: 'day_pass' }], apis }
      const turned = { cells: parts.cells.toReversed(), apis: apis.toReversed() }
      return [...conflicts, declared(parts), declared({ ...turned, id: 'turned' })]
    },
    [
      'conflicts[3]: expected each conflict once; `declared` declares the same',
      'conflicts[2]: expected a conflict that follows from the rows and the statements; no contradiction about `cellar` × `day_pass`, `lobby` × `day_pass`, `lobby`, `library` does, so remove it',
    ],
  ],
  [
    'a conflict of the wrong type',
    (conflicts) =>
      conflicts.map((conflict) => (conflict.cells.length > 0 ? { ...conflict, type: 'omission' } : conflict)),
    [
      'conflicts: expected a declaration with a resolution and a reason for the contradiction about `lobby` × `room_key`; add to the list: ' +
        '{"id":"lobby-room_key-contradiction","type":"contradiction","cells":[{"api":"lobby","kind":"room_key"}],"apis":[],"kinds":[],' +
        '"statements":["key-manages-not"],"resolution":"table","reason":"write the reason here"}',
      'conflicts[0]: expected a conflict that follows from the rows and the statements; no omission about `lobby` × `room_key` does, so remove it',
    ],
  ],
  [
    'a list of statements with one too few',
    (conflicts) => conflicts.map((conflict) => ({ ...conflict, statements: [] })),
    [
      'conflicts[0].statements: expected the statements that take part: `key-manages-not`',
      'conflicts[1].statements: expected the statements that take part: `lobby-repeated`',
    ],
  ],
  [
    'a list of statements with one too many',
    (conflicts) =>
      conflicts.map((conflict) => ({ ...conflict, statements: [...conflict.statements, 'key-remark'] })),
    [
      'conflicts[0].statements: expected the statements that take part: `key-manages-not`',
      'conflicts[1].statements: expected the statements that take part: `lobby-repeated`',
    ],
  ],
  [
    'two cells, ruled by the table and by the prose,',
    (conflicts) => [
      ...conflicts,
      declared({ cells: [{ api: 'cellar', kind: 'day_pass' }], type: 'omission', resolution: 'prose' }),
    ],
    [
      'conflicts[2]: expected a conflict that follows from the rows and the statements; no omission about `cellar` × `day_pass` does, so remove it',
    ],
  ],
  [
    'one cell ruled by the table and by the prose',
    (conflicts) => [
      ...conflicts,
      declared({
        id: 'opposed',
        cells: [{ api: 'lobby', kind: 'room_key' }],
        type: 'omission',
        resolution: 'prose',
      }),
    ],
    [
      'conflicts[2].resolution: expected `table`, as `lobby-key-contradiction` rules the same cell',
      'conflicts[2]: expected a conflict that follows from the rows and the statements; no omission about `lobby` × `room_key` does, so remove it',
    ],
  ],
])('%s is reported', (_claim, change, problems) => {
  const matrix = smallMatrix()
  expect(lintMatrix({ ...matrix, conflicts: change(matrix.conflicts) }).problems.map(problemText)).toEqual(
    problems,
  )
})

test('the statements that take part are listed', () => {
  const conflicts = supportMatrix.conflicts.map((conflict) =>
    conflict.statements.length > 1 ? { ...conflict, statements: [] } : conflict,
  )
  expect(lintMatrix({ ...supportMatrix, conflicts }).problems.map(({ expected }) => expected)).toEqual([
    'expected the statements that take part: `account-service-user-only`, `project-service-user-only`, `control-panel-user-iam-token`',
  ])
})

test('the order of cells, statements and declarations bears on nothing', () => {
  const conflicts = supportMatrix.conflicts
    .map((conflict) => ({
      ...conflict,
      kinds: [...conflict.kinds].reverse(),
      statements: [...conflict.statements].reverse(),
    }))
    .reverse()
  expect(lintMatrix({ ...supportMatrix, conflicts }).problems).toEqual([])
})

function derived(type: Conflict['type'], parts: Partial<DerivedConflict>): DerivedConflict {
  return { type, cells: [], apis: [], kinds: [], statements: [], ...parts }
}

function declared(parts: Partial<Conflict>): Conflict {
  return {
    id: 'declared',
    resolution: 'table',
    reason: 'a reason',
    ...derived('contradiction', {}),
    ...parts,
  }
}
