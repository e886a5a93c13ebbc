/** Deriving conflicts: the conflicts that follow from a claim of each type, and those that never do. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Claim, Conflict, Matrix } from '../../engine/index.ts'
import { type DerivedConflict, deriveConflicts, lintMatrix } from '../../matrix/index.ts'
import { matrices, matricesWithClaims, statementsOf } from '../support/matrices/generated-matrices.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

/**
 * Each type of claim against the rows of the small matrix: lobby accepts both kinds, library the day pass,
 * cellar the room key. A conflict is written as its type and its subject.
 */
test.each<[what: string, claims: Claim[], conflicts: string[]]>([
  ['a complete list as the table has it', [manages('day_pass', ['library', 'lobby'], true)], []],
  [
    'a complete list in two parts',
    [manages('day_pass', ['library'], true), manages('day_pass', ['lobby'], false)],
    [],
  ],
  ['a partial list', [manages('day_pass', ['lobby'], false)], []],
  ['an empty list that claims nothing', [manages('day_pass', [], false)], []],
  [
    'a complete list that leaves one out',
    [manages('day_pass', ['lobby'], true)],
    ['omission library×day_pass'],
  ],
  [
    'a complete list that leaves all out',
    [manages('day_pass', [], true)],
    ['omission lobby×day_pass', 'omission library×day_pass'],
  ],
  [
    'a complete list of another kind',
    [manages('day_pass', ['lobby'], true), manages('room_key', ['lobby', 'cellar'], true)],
    ['omission library×day_pass'],
  ],
  [
    'a list with one that the table rejects',
    [manages('day_pass', ['lobby', 'cellar'], false)],
    ['contradiction cellar×day_pass'],
  ],
  [
    'two lists with the same fault, which is one conflict',
    [manages('day_pass', ['cellar'], false), manages('day_pass', ['cellar'], false)],
    ['contradiction cellar×day_pass'],
  ],
  [
    'not managing what the table rejects',
    [{ type: 'does_not_manage', kind: 'day_pass', apis: ['cellar'] }],
    [],
  ],
  [
    'not managing what the table accepts',
    [{ type: 'does_not_manage', kind: 'day_pass', apis: ['cellar', 'lobby'] }],
    ['contradiction lobby×day_pass'],
  ],
  ['the only option as the table has it', [{ type: 'only_option', kind: 'room_key', apis: ['cellar'] }], []],
  [
    'the only option where another kind opens too',
    [{ type: 'only_option', kind: 'room_key', apis: ['cellar', 'lobby'] }],
    ['contradiction lobby×day_pass'],
  ],
  [
    'the only option where only another kind opens',
    [{ type: 'only_option', kind: 'room_key', apis: ['cellar', 'library'] }],
    ['contradiction library×room_key', 'contradiction library×day_pass'],
  ],
  [
    'the only option, with one left out',
    [{ type: 'only_option', kind: 'room_key', apis: [] }],
    ['omission cellar×room_key'],
  ],
  ['most of three, which is two', [{ type: 'most', kind: 'day_pass' }], []],
  ['a binding as the row has it', [{ type: 'bound_to', kind: 'room_key', scopeLevel: 'project' }], []],
  [
    'a binding that the row has not',
    [{ type: 'bound_to', kind: 'room_key', scopeLevel: 'account' }],
    ['contradiction room_key'],
  ],
  ['a holder as the row has it', [issuedTo(['day_pass'], 'guest', true)], []],
  ['a further holder', [issuedTo(['day_pass'], 'porter', false)], []],
  ['a holder that excludes the row’s', [issuedTo(['day_pass'], 'porter', true)], ['contradiction day_pass']],
  [
    'a holder against one that is exclusive',
    [issuedTo(['day_pass'], 'guest', true), issuedTo(['day_pass', 'room_key'], 'porter', false)],
    ['contradiction day_pass'],
  ],
  [
    'the same holder twice',
    [issuedTo(['day_pass'], 'guest', true), issuedTo(['day_pass'], 'guest', false)],
    [],
  ],
  [
    'exclusive holders of different kinds',
    [issuedTo(['day_pass'], 'guest', true), issuedTo(['room_key'], 'resident', true)],
    [],
  ],
  [
    'a row repeated with equal values',
    [{ type: 'row_repeated', api: 'lobby', accepts: ['room_key', 'day_pass'] }],
    ['duplicate_row lobby'],
  ],
  [
    'a row repeated with other values',
    [{ type: 'row_repeated', api: 'library', accepts: ['room_key'] }],
    ['contradiction library×day_pass', 'contradiction library×room_key'],
  ],
  ['advice', [{ type: 'advice', kinds: ['day_pass'], holder: 'guest', text: 'keep it dry' }], []],
  ['a remark', [{ type: 'remark', kinds: ['day_pass', 'room_key'] }], []],
])('%s: what follows from it', (_what, claims, conflicts) => {
  expect(deriveConflicts(claiming(claims)).map(briefly)).toEqual(conflicts)
})

test.each([
  ['half of two is not most', ['lobby', 'library'], ['lobby'], ['overstatement day_pass']],
  ['two of three are most', ['lobby', 'library', 'cellar'], ['lobby', 'cellar'], []],
  [
    'two of four are not most',
    ['lobby', 'library', 'cellar', 'attic'],
    ['lobby', 'attic'],
    ['overstatement day_pass'],
  ],
  ['none is not most', ['lobby'], [], ['overstatement day_pass']],
])('%s', (_claim, ids, opened, conflicts) => {
  const apis = ids.map((id) => ({
    id,
    title: id,
    accepts: opened.includes(id) ? ['day_pass'] : [],
    section: '§2',
  }))
  const matrix = { ...claiming([{ type: 'most', kind: 'day_pass' }]), apis }
  expect(deriveConflicts(matrix).map(briefly)).toEqual(conflicts)
})

test.each<[what: string, claims: Claim[], statements: number[][]]>([
  [
    'that say the same of a cell, in one conflict',
    [manages('day_pass', ['cellar'], false), manages('day_pass', ['cellar'], false)],
    [[0, 1]],
  ],
  ['about the binding of a kind', [bound('room_key', 'account')], [[0]]],
  [
    'about the bindings of two kinds, in two conflicts',
    [bound('room_key', 'account'), bound('day_pass', 'project')],
    [[0], [1]],
  ],
  ['about a repeated row', [repeated('lobby', ['day_pass', 'room_key'])], [[0]]],
  [
    'about two repeated rows, in two conflicts',
    [repeated('lobby', ['day_pass', 'room_key']), repeated('library', ['day_pass'])],
    [[0], [1]],
  ],
  [
    'that issue the kind to others alone, and none that speaks of another kind',
    [
      issuedTo(['day_pass'], 'guest', true),
      issuedTo(['room_key'], 'resident', true),
      issuedTo(['day_pass'], 'porter', false),
    ],
    [[0, 2]],
  ],
])('the statements that take part: those %s', (_what, claims, statements) => {
  expect(deriveConflicts(claiming(claims)).map((each) => each.statements)).toEqual(
    statements.map((places) => places.map((place) => `statement-${place}`)),
  )
})

test.each<[what: string, claim: Claim, conflicts: string[]]>([
  ['a list with an API', manages('day_pass', ['attic'], false), ['contradiction attic×day_pass']],
  ['a binding of a kind', bound('badge', 'account'), ['contradiction badge']],
  ['a complete list of a kind', manages('badge', [], true), []],
  [
    'the only option for an API',
    { type: 'only_option', kind: 'room_key', apis: ['attic', 'cellar'] },
    ['contradiction attic×room_key'],
  ],
])('%s that the table does not have is contradicted by it', (_what, claim, conflicts) => {
  expect(deriveConflicts(claiming([claim])).map(briefly)).toEqual(conflicts)
})

test('any matrix passes once every derived conflict is declared, and fails with any of them missing', () => {
  fc.assert(
    fc.property(matricesWithClaims, (matrix) => {
      const conflicts = deriveConflicts(matrix).map(declared)
      expect(lintMatrix({ ...matrix, conflicts }).problems).toEqual([])
      for (const { id } of conflicts)
        expect(
          lintMatrix({ ...matrix, conflicts: conflicts.filter((each) => each.id !== id) }).problems,
        ).toHaveLength(1)
    }),
    { numRuns: 500 },
  )
})

test('prose that repeats the table of any matrix brings no conflict', () => {
  fc.assert(
    fc.property(matrices(), ({ tokenKinds, apis, ...rest }) => {
      const opened = (kind: string) => apis.filter((api) => api.accepts.includes(kind)).map(({ id }) => id)
      const claims = tokenKinds.flatMap(({ id, scopeLevel, issuedTo: holder }): Claim[] => [
        manages(id, opened(id), true),
        {
          type: 'does_not_manage',
          kind: id,
          apis: apis.map((api) => api.id).filter((api) => !opened(id).includes(api)),
        },
        {
          type: 'only_option',
          kind: id,
          apis: apis.filter(({ accepts }) => accepts.join() === id).map((api) => api.id),
        },
        { type: 'bound_to', kind: id, scopeLevel },
        issuedTo([id], holder, true),
      ])
      expect(deriveConflicts({ ...rest, tokenKinds, apis, statements: statementsOf(claims) })).toEqual([])
    }),
  )
})

/** The small matrix with these claims for its only statements. */
function claiming(claims: readonly Claim[]): Matrix {
  return { ...smallMatrix(), statements: statementsOf(claims), conflicts: [] }
}

function manages(kind: string, apis: string[], complete: boolean): Claim {
  return { type: 'manages', kind, apis, complete }
}

function bound(kind: string, scopeLevel: 'account' | 'project'): Claim {
  return { type: 'bound_to', kind, scopeLevel }
}

function repeated(api: string, accepts: string[]): Claim {
  return { type: 'row_repeated', api, accepts }
}

function issuedTo(kinds: string[], holder: string, exclusive: boolean): Claim {
  return { type: 'issued_to', kinds, holder, exclusive }
}

function declared(conflict: DerivedConflict, index: number): Conflict {
  return { ...conflict, id: `conflict-${index}`, resolution: 'table', reason: 'a reason' }
}

function briefly({ type, cells, apis, kinds }: DerivedConflict): string {
  return [type, ...cells.map(({ api, kind }) => `${api}×${kind}`), ...apis, ...kinds].join(' ')
}
