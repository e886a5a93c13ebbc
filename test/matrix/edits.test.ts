/** Edits of a matrix: the changes of the document that make each of them, and the effect on conflicts. */
import { expect, test } from 'vitest'
import type { Api, Matrix } from '../../engine/index.ts'
import type { DocumentChange } from '../../matrix/document/edit.ts'
import { changesOf, followUps, type MatrixEdit, missingDeclarations } from '../../matrix/edits.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const [PASS, KEY] = smallMatrix().tokenKinds
const LOBBY = smallMatrix().apis[0] as Api
const DUPLICATE = 'lobby-duplicate-row'

/** A change in one line: `set apis[0].title = "x"`. */
function briefly(change: DocumentChange): string {
  const path = change.path.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${segment}`))
  const value = change.type === 'remove' ? '' : ` = ${JSON.stringify(change.value)}`
  return `${change.type} ${path.join('').slice(1)}${value}`
}

const CONTRADICTION = 'lobby-key-contradiction'
const REASON = { resolution: 'prose', reason: 'x' } as const

test.each<[edit: MatrixEdit, changes: string[]]>([
  [{ type: 'title', title: 'Doors' }, ['set title = "Doors"']],
  [{ type: 'title', title: 'Doors of a house' }, []],
  [{ type: 'add', part: 'apis', row: LOBBY }, [`append apis = ${JSON.stringify(LOBBY)}`]],
  [{ type: 'change', part: 'apis', row: LOBBY }, []],
  [{ type: 'change', part: 'apis', row: { ...LOBBY, id: 'attic' } }, []],
  [
    { type: 'change', part: 'apis', row: { ...LOBBY, title: 'Hall', accepts: [] } },
    ['set apis[0].title = "Hall"', 'set apis[0].accepts = []'],
  ],
  [
    { type: 'change', part: 'tokenKinds', row: { ...PASS, scheme: 'Pass', section: undefined } as never },
    ['remove tokenKinds[0].section', 'set tokenKinds[0].scheme = "Pass"'],
  ],
  [{ type: 'accept', api: 'library', kind: 'room_key' }, ['append apis[1].accepts = "room_key"']],
  [{ type: 'accept', api: 'lobby', kind: 'room_key' }, []],
  [{ type: 'reject', api: 'lobby', kind: 'room_key' }, ['remove apis[0].accepts[1]']],
  [{ type: 'reject', api: 'library', kind: 'room_key' }, []],
  [{ type: 'rename', part: 'apis', id: 'lobby', to: 'lobby' }, []],
  [
    { type: 'rename', part: 'apis', id: 'lobby', to: 'hall' },
    [
      ...['apis[0].id', 'statements[0].claim.apis[0]', 'statements[1].claim.apis[0]'],
      ...['statements[6].claim.api', 'conflicts[0].cells[0].api', 'conflicts[1].apis[0]'],
    ].map((path) => `set ${path} = "hall"`),
  ],
  [
    { type: 'rename', part: 'tokenKinds', id: 'room_key', to: 'badge' },
    [
      ...['tokenKinds[1].id', 'apis[0].accepts[1]', 'apis[2].accepts[0]', 'statements[1].claim.kind'],
      ...['statements[2].claim.kind', 'statements[4].claim.kind', 'statements[6].claim.accepts[1]'],
      ...['statements[8].claim.kinds[0]', 'conflicts[0].cells[0].kind'],
    ].map((path) => `set ${path} = "badge"`),
  ],
  [
    { type: 'rename', part: 'statements', id: 'lobby-repeated', to: 'again' },
    ['set statements[6].id = "again"', 'set conflicts[1].statements[0] = "again"'],
  ],
  [
    { type: 'remove', part: 'apis', id: 'lobby' },
    [
      ...['statements[6]', 'statements[1].claim.apis[0]', 'statements[0].claim.apis[0]'],
      ...['conflicts[1]', 'conflicts[0]', 'apis[0]'],
    ].map((path) => `remove ${path}`),
  ],
  [{ type: 'remove', part: 'apis', id: 'cellar' }, ['remove statements[2]', 'remove apis[2]']],
  [
    { type: 'remove', part: 'apis', id: 'library' },
    ['remove statements[1].claim.apis[1]', 'remove statements[0].claim.apis[1]', 'remove apis[1]'],
  ],
  [
    { type: 'remove', part: 'tokenKinds', id: 'day_pass' },
    [
      ...['tokenKinds[0]', 'statements[7]', 'statements[6].claim.accepts[0]', 'statements[5]'],
      ...['statements[3]', 'statements[0]', 'apis[1].accepts[0]', 'apis[0].accepts[0]'],
    ].map((path) => `remove ${path}`),
  ],
  [
    { type: 'remove', part: 'statements', id: 'key-manages-not' },
    ['remove statements[1]', 'remove conflicts[0].statements[0]'],
  ],
  [
    { type: 'resolve', conflict: CONTRADICTION, ...REASON },
    ['set conflicts[0].resolution = "prose"', 'set conflicts[0].reason = "x"'],
  ],
  [{ type: 'resolve', conflict: 'none', ...REASON }, []],
])('%j', (edit, changes) => {
  expect(changesOf(smallMatrix(), edit).map(briefly)).toEqual(changes)
})

test('a row that says several things of what goes is removed once, with the conflicts that name it', () => {
  const claim = { type: 'row_repeated', api: 'lobby', accepts: ['room_key'] } as const
  const more = { id: 'twelfth', section: '§3', text: 'x', claim }
  const statements = [...smallMatrix().statements, ...[1, 2].map((at) => ({ ...more, id: `more-${at}` }))]
  const [first, second] = smallMatrix().conflicts
  const conflicts = [first, { ...second, apis: ['cellar'], statements: ['more-1', 'lobby-repeated'] }]
  const matrix = { ...smallMatrix(), statements, conflicts } as Matrix
  expect(changesOf(matrix, { type: 'remove', part: 'apis', id: 'lobby' }).map(briefly)).toEqual(
    [
      ...['statements[10]', 'statements[9]', 'statements[6]', 'statements[1].claim.apis[0]'],
      ...['statements[0].claim.apis[0]', 'conflicts[1].statements[1]', 'conflicts[1].statements[0]'],
      ...['conflicts[0]', 'apis[0]'],
    ].map((path) => `remove ${path}`),
  )
})

test('a row with the same id in another part stays, and conflicts about kinds name them', () => {
  const { tokenKinds, conflicts, ...rest } = smallMatrix()
  const [pass, key] = tokenKinds
  const [first, second] = conflicts
  const matrix = {
    ...{ ...rest, tokenKinds: [pass, { ...key, id: 'lobby' }] },
    apis: rest.apis.map((api) => ({ ...api, accepts: ['lobby'] })),
    statements: [
      { ...rest.statements[6], claim: { type: 'row_repeated', api: 'lobby', accepts: ['lobby'] } },
    ],
    conflicts: [
      { ...first, cells: [{ api: 'lobby', kind: 'lobby' }] },
      { ...second, kinds: ['lobby'] },
    ],
  } as Matrix
  const rename = (part: 'apis' | 'tokenKinds') =>
    changesOf(matrix, { type: 'rename', part, id: 'lobby', to: 'x' }).map(briefly)
  expect(rename('apis')).toEqual(
    ['apis[0].id', 'statements[0].claim.api', 'conflicts[0].cells[0].api', 'conflicts[1].apis[0]'].map(
      (path) => `set ${path} = "x"`,
    ),
  )
  expect(rename('tokenKinds')).toEqual(
    [
      ...['tokenKinds[1].id', 'apis[0].accepts[0]', 'apis[1].accepts[0]', 'apis[2].accepts[0]'],
      ...['statements[0].claim.accepts[0]', 'conflicts[0].cells[0].kind', 'conflicts[1].kinds[0]'],
    ].map((path) => `set ${path} = "x"`),
  )
  // A row that is repeated may accept nothing.
  expect(changesOf(matrix, { type: 'remove', part: 'tokenKinds', id: 'lobby' }).map(briefly)).toContain(
    'remove statements[0].claim.accepts[0]',
  )
})

/** The small matrix with these declared conflicts. */
const declaring = (change: (conflicts: Matrix['conflicts']) => object[]): Matrix => ({
  ...smallMatrix(),
  conflicts: change(smallMatrix().conflicts) as unknown as Matrix['conflicts'],
})

test('a conflict that is not declared is resolved by its declaration', () => {
  const matrix = declaring(() => [])
  expect(missingDeclarations(matrix).map(({ id }) => id)).toEqual(['lobby-room_key-contradiction', DUPLICATE])
  const [declaration] = missingDeclarations(matrix)
  expect(changesOf(matrix, { type: 'resolve', conflict: 'lobby-room_key-contradiction', ...REASON })).toEqual(
    [{ type: 'append', path: ['conflicts'], value: { ...declaration, ...REASON } }],
  )
  expect(missingDeclarations(smallMatrix())).toEqual([])
})

test.each<
  [what: string, change: (conflicts: Matrix['conflicts']) => object[], changes: string[], removed: string[]]
>([
  ['are as they are', (conflicts) => [...conflicts], [], []],
  ['are not declared', () => [], [], []],
  [
    'do not follow',
    ([first, second]) => [
      { ...first, kinds: [KEY?.id] },
      { ...second, apis: ['cellar'] },
    ],
    ['remove conflicts[1]', 'remove conflicts[0]'],
    [CONTRADICTION, DUPLICATE],
  ],
  [
    'name other statements',
    ([first, ...others]) => [{ ...first, statements: ['pass-most', 'key-remark'] }, ...others],
    [
      'remove conflicts[0].statements[1]',
      'remove conflicts[0].statements[0]',
      'append conflicts[0].statements = "key-manages-not"',
    ],
    [],
  ],
])('an edit updates conflicts that %s', (_what, change, changes, removed) => {
  const { changes: found, ...rest } = followUps(declaring(change))
  expect([found.map(briefly), rest.removed]).toEqual([changes, removed])
})
