/**
 * Every field of a matrix is classed: a change of it is judged as a flip of cells or of kinds, or decisions
 * and issuance do not look at it. A field that is new in the schema fails until it has a row here.
 */
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Conflict,
  compile,
  credentialPlaces,
  type Matrix,
  type MatrixSource,
  type Place,
  type TokenKind,
} from '../../engine/index.ts'
import { compareMatrices, factTexts, preferredKinds } from '../../matrix/index.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'

const KEY: TokenKind = {
  id: 'key',
  title: 'key',
  family: 'keys',
  scopeLevel: 'account',
  header: 'X-Key',
  issuedTo: 'robot',
  obtained: { by: 'issue' },
  permissionScopes: ['account'],
  lifetimeSeconds: 60,
  section: '§1',
}
const PASS: TokenKind = { ...KEY, id: 'pass', scheme: 'Pass', prefix: 'p_' }
const CONFLICT: Conflict = {
  id: 'desk-key',
  type: 'contradiction',
  cells: [{ api: 'desk', kind: 'key' }],
  ...{ apis: [], kinds: [], statements: [], resolution: 'table', reason: 'the table rules' },
}
const MATRIX: Matrix = {
  title: 'Desks',
  tokenKinds: [KEY, PASS],
  apis: [
    { id: 'desk', title: 'Desk', accepts: ['key'], section: '§2' },
    { id: 'door', title: 'Door', accepts: ['pass'], section: '§2' },
  ],
  statements: [
    { id: 'words', section: '§3', text: 'words', claim: { type: 'remark', kinds: ['key'] } },
    {
      id: 'advice',
      section: '§3',
      text: 'ask',
      claim: { type: 'advice', kinds: ['key'], holder: 'robot', text: 'ask' },
    },
  ],
  conflicts: [CONFLICT],
}

const SOURCE: MatrixSource = {
  ...{ document: 'desks.md', digest: `sha256-${'0'.repeat(64)}`, table: 2, kinds: 'rows' },
  ...{ marks: { Limited: 'note' }, names: { Key: 'key' }, leaveOut: ['Remarks'], public: 'Open', by: 'tag' },
}

type Part = 'tokenKinds' | 'apis' | 'statements' | 'conflicts'
/** The matrix with other fields in the last row of a part: in the second kind, which has a scheme. */
const withLast = (part: Part, fields: object): Matrix => ({
  ...MATRIX,
  [part]: MATRIX[part].map((row, place) => (place === MATRIX[part].length - 1 ? { ...row, ...fields } : row)),
})
const claiming = (claim: object) => withLast('statements', { claim })
const SAID = [] as const
/** Only its words differ. */
const said = (field: string, other: Matrix) => [field, other, SAID, SAID] as const
const changed = (field: string, fields: object) =>
  [
    `tokenKinds.${field}`,
    withLast('tokenKinds', fields),
    [`changed pass.${field}`],
    [`changed pass.${field}`],
  ] as const

const OWN_PLACE: Place = { header: 'X-Key', scheme: 'Pass', prefix: 'p_' }
const inPlaces = (...places: readonly Place[]) =>
  withLast('tokenKinds', { header: undefined, scheme: undefined, prefix: undefined, places })
/** Tokens travel in another place as well. */
const changedPlaces = (field: string, other: Place) => {
  const both = inPlaces(OWN_PLACE, other)
  return [`tokenKinds.places.${field}`, both, ['changed pass.places'], ['changed pass.places']] as const
}

type Flips = readonly string[]
const ROWS: readonly (readonly [field: string, other: Matrix, forth: Flips, back: Flips])[] = [
  said('$schema', { ...MATRIX, $schema: 'matrix.schema.json' } as Matrix),
  said('title', { ...MATRIX, title: 'Doors' }),
  [
    'tokenKinds.id',
    {
      ...withLast('tokenKinds', { id: 'card' }),
      apis: MATRIX.apis.map((api) => (api.id === 'door' ? { ...api, accepts: ['card'] } : api)),
    },
    [
      ...['opened door × card lenient+strict', 'closed door × pass lenient+strict'],
      ...['loosened card.kind', 'tightened pass.kind'],
    ],
    [
      ...['opened door × pass lenient+strict', 'closed door × card lenient+strict'],
      ...['loosened pass.kind', 'tightened card.kind'],
    ],
  ],
  said('tokenKinds.title', withLast('tokenKinds', { title: 'badge' })),
  said('tokenKinds.family', withLast('tokenKinds', { family: 'badges' })),
  changed('scopeLevel', { scopeLevel: 'project' }),
  changed('header', { header: 'X-Pass' }),
  said('tokenKinds.header', withLast('tokenKinds', { header: 'x-KEY' })),
  changed('scheme', { scheme: undefined }),
  said('tokenKinds.scheme', withLast('tokenKinds', { scheme: 'PASS' })),
  changed('prefix', { prefix: 'q_' }),
  changed('prefix', { prefix: undefined }),
  changed('prefix', { prefix: 'P_' }),
  said('tokenKinds.places.header', inPlaces({ header: 'x-key', scheme: 'pass', prefix: 'p_' })),
  changedPlaces('header', { header: 'X-Pass' }),
  changedPlaces('scheme', { header: 'X-Key' }),
  changedPlaces('prefix', { header: 'X-Pass', prefix: 'q_' }),
  changedPlaces('basic', { header: 'Authorization', basic: 'user' }),
  changedPlaces('with', { header: 'X-Pass', with: 'X-Mail' }),
  changed('issuedTo', { issuedTo: 'person' }),
  changed('obtained.by', { obtained: { by: 'control_panel' } }),
  said(
    'tokenKinds.obtained.link',
    withLast('tokenKinds', { obtained: { by: 'issue', link: 'https://a.example' } }),
  ),
  said('tokenKinds.obtained.steps', withLast('tokenKinds', { obtained: { by: 'issue', steps: ['Ask.'] } })),
  [
    'tokenKinds.permissionScopes',
    withLast('tokenKinds', { permissionScopes: [] }),
    ['loosened pass.permissionScopes'],
    ['tightened pass.permissionScopes'],
  ],
  [
    'tokenKinds.permissionScopes',
    withLast('tokenKinds', { permissionScopes: ['projects', 'account'] }),
    ['loosened pass.permissionScopes'],
    ['tightened pass.permissionScopes'],
  ],
  changed('permissionScopes', { permissionScopes: ['projects'] }),
  [
    'tokenKinds.lifetimeSeconds',
    withLast('tokenKinds', { lifetimeSeconds: 61 }),
    ['loosened pass.lifetimeSeconds'],
    ['tightened pass.lifetimeSeconds'],
  ],
  [
    'tokenKinds.lifetimeSeconds',
    withLast('tokenKinds', { lifetimeSeconds: null }),
    ['loosened pass.lifetimeSeconds'],
    ['tightened pass.lifetimeSeconds'],
  ],
  said('tokenKinds.section', withLast('tokenKinds', { section: '§9' })),
  [
    'apis.id',
    { ...withLast('apis', { id: 'gate', title: 'Gate', section: '§9' }) },
    ['opened gate × pass lenient+strict', 'closed door × pass lenient+strict'],
    ['opened door × pass lenient+strict', 'closed gate × pass lenient+strict'],
  ],
  said('apis.title', withLast('apis', { title: 'Gate' })),
  [
    'apis.accepts',
    withLast('apis', { accepts: ['key', 'pass'] }),
    ['opened door × key lenient+strict'],
    ['closed door × key lenient+strict'],
  ],
  said('apis.notes', withLast('apis', { notes: { pass: 'read only' } })),
  [
    'apis.public',
    withLast('apis', { public: true }),
    ['opened door × everyone lenient+strict'],
    ['closed door × everyone lenient+strict'],
  ],
  said('apis.section', withLast('apis', { section: '§9' })),
  said('statements.id', withLast('statements', { id: 'counsel' })),
  said('statements.section', withLast('statements', { section: '§9' })),
  said('statements.text', withLast('statements', { text: 'ask first' })),
  // A claim of the prose decides by a declared conflict alone; advice is a sentence beside a decision.
  ...['type', 'kinds'].map((field) =>
    said(`statements.claim.${field}`, claiming({ type: 'remark', kinds: ['pass'] })),
  ),
  ...['kind', 'apis', 'complete'].map((field) =>
    said(
      `statements.claim.${field}`,
      claiming({ type: 'manages', kind: 'key', apis: ['door'], complete: true }),
    ),
  ),
  said('statements.claim.scopeLevel', claiming({ type: 'bound_to', kind: 'key', scopeLevel: 'project' })),
  ...['holder', 'exclusive'].map((field) =>
    said(
      `statements.claim.${field}`,
      claiming({ type: 'issued_to', kinds: ['key'], holder: 'person', exclusive: true }),
    ),
  ),
  ...['api', 'accepts'].map((field) =>
    said(`statements.claim.${field}`, claiming({ type: 'row_repeated', api: 'door', accepts: ['key'] })),
  ),
  said(
    'statements.claim.text',
    claiming({ type: 'advice', kinds: ['key'], holder: 'robot', text: 'ask first' }),
  ),
  said('conflicts.id', withLast('conflicts', { id: 'desk-keys' })),
  said('conflicts.type', withLast('conflicts', { type: 'omission' })),
  [
    'conflicts.cells.api',
    withLast('conflicts', { cells: [{ api: 'door', kind: 'key' }] }),
    ['opened desk × key strict'],
    ['closed desk × key strict'],
  ],
  [
    'conflicts.cells.kind',
    withLast('conflicts', { cells: [{ api: 'desk', kind: 'pass' }] }),
    ['opened desk × key strict'],
    ['closed desk × key strict'],
  ],
  said('conflicts.apis', withLast('conflicts', { apis: ['door'] })),
  said('conflicts.kinds', withLast('conflicts', { kinds: ['pass'] })),
  said('conflicts.statements', withLast('conflicts', { statements: ['words'] })),
  [
    'conflicts.resolution',
    withLast('conflicts', { resolution: 'prose' }),
    ['closed desk × key lenient'],
    ['opened desk × key lenient'],
  ],
  said('conflicts.reason', withLast('conflicts', { reason: 'agreed' })),
  // The document of a matrix, and the lines in it, are in no digest either.
  ...['document', 'digest', 'table', 'kinds', 'marks', 'names', 'leaveOut', 'public', 'by'].map((field) =>
    said(`source.${field}`, { ...MATRIX, source: SOURCE }),
  ),
  said('apis.line', withLast('apis', { line: 7 })),
  said('statements.line', withLast('statements', { line: 7 })),
]

test('the document of a matrix and the lines in it change neither its digest nor its lists', () => {
  const lined: Matrix = {
    ...{ ...MATRIX, source: SOURCE },
    apis: MATRIX.apis.map((api, index) => ({ ...api, line: index + 1 })),
    statements: MATRIX.statements.map((statement, index) => ({ ...statement, line: index + 1 })),
  }
  expect(compile(lined).digest).toBe(compile(MATRIX).digest)
  expect(compareMatrices(MATRIX, lined)).toEqual(compareMatrices(MATRIX, MATRIX))
})

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly $defs?: Readonly<Record<string, Schema>>
}

test('a field of the schema that is not classed fails here', () => {
  const schema: Schema = JSON.parse(readFileSync(`${ROOT}matrix/support-matrix.schema.json`, 'utf8'))
  const leaves = (node: Schema, path: string): string[] => {
    const { properties = {}, items, oneOf = [] } = node
    if (node.$ref !== undefined)
      return leaves(schema.$defs?.[node.$ref.replace('#/$defs/', '')] as Schema, path)
    const inside = [
      ...Object.entries(properties).map(
        ([name, each]) => [each, path === '' ? name : `${path}.${name}`] as const,
      ),
      ...[...oneOf, ...(items ? [items] : [])].map((each) => [each, path] as const),
    ]
    return inside.length === 0 ? [path] : inside.flatMap(([each, at]) => leaves(each, at))
  }
  expect(new Set(ROWS.map(([field]) => field))).toEqual(new Set(leaves(schema, '')))
})

test('every fact that is judged can be signed off', () => {
  const path = `${ROOT}sidecar/cli/commands/matrix/allowed-flips.schema.json`
  const { $defs } = JSON.parse(readFileSync(path, 'utf8'))
  const turned = { ...MATRIX, tokenKinds: MATRIX.tokenKinds.toReversed() }
  const flips = [...ROWS.map(([, other]) => other), turned].flatMap(
    (other) => compareMatrices(MATRIX, other).kindFlips,
  )
  expect(new Set(flips.map(({ field }) => field))).toEqual(new Set($defs.ofKind.properties.field.enum))
})

test.each(ROWS)('%s is judged, and only where it decides', (_field, other, forth, back) => {
  expect(other).not.toEqual(MATRIX)
  expect(flipsOf(MATRIX, other)).toEqual(forth)
  expect(flipsOf(other, MATRIX)).toEqual(back)
  if (forth === SAID) expect(decidedBy(other)).toEqual(decidedBy(MATRIX))
})

function flipsOf(before: Matrix, after: Matrix): string[] {
  const { flips, kindFlips } = compareMatrices(before, after)
  return [
    ...flips.map(({ direction, api, kind, modes }) => `${direction} ${api} × ${kind} ${modes.join('+')}`),
    ...kindFlips.map(({ direction, kind, field }) => `${direction} ${kind}.${field}`),
  ]
}

/** All that decisions and issuance come to. */
function decidedBy(matrix: Matrix) {
  const { tokenKinds } = matrix
  return [false, true].map((strict) => {
    const engine = compile(matrix, { strict })
    return [
      credentialPlaces(tokenKinds),
      tokenKinds.map(({ obtained, permissionScopes, lifetimeSeconds, scopeLevel }) => [
        ...[obtained.by, permissionScopes, lifetimeSeconds, scopeLevel],
      ]),
      matrix.apis.map(({ id }) => tokenKinds.map((kind) => engine.reasons(id, kind.id))),
    ]
  })
}

test('the order of kinds is judged wherever another kind would be issued', () => {
  fc.assert(
    fc.property(
      matrices(4, 2).chain((matrix) =>
        fc.tuple(
          fc.constant(matrix),
          fc.shuffledSubarray([...matrix.tokenKinds], { minLength: matrix.tokenKinds.length }),
        ),
      ),
      ([matrix, tokenKinds]) => {
        const { flips, kindFlips } = compareMatrices(matrix, { ...matrix, tokenKinds })
        expect(flips).toEqual([])
        for (const { direction, field } of kindFlips)
          expect([direction, field]).toEqual(['changed', 'preferredOver'])
        const isOther = some(matrix.tokenKinds).some(
          (kinds) => issuedOf(matrix.tokenKinds, kinds) !== issuedOf(tokenKinds, kinds),
        )
        expect(kindFlips.length > 0).toBe(isOther)
      },
    ),
    { numRuns: 200 },
  )
})

/** The kind of several that is issued for APIs that all of them open. */
function issuedOf(kinds: readonly TokenKind[], opening: readonly string[]): string | undefined {
  const [first] = preferredKinds(
    kinds.filter(({ id, obtained }) => obtained.by === 'issue' && opening.includes(id)),
  )
  return first?.id
}

function some(kinds: readonly TokenKind[]): string[][] {
  const [first, ...others] = kinds
  return first === undefined ? [[]] : some(others).flatMap((ids) => [ids, [first.id, ...ids]])
}

test('a kind that is new opens nothing for other requests where its header is read already', () => {
  const { tokenKinds } = MATRIX
  const withKind = (fields: object): Matrix => ({
    ...MATRIX,
    tokenKinds: [...tokenKinds, { ...KEY, id: 'card', ...fields }],
  })
  expect(flipsOf(MATRIX, withKind({}))).toEqual(['loosened card.kind'])
  expect(flipsOf(withKind({}), MATRIX)).toEqual(['tightened card.kind'])
  expect(flipsOf(MATRIX, withKind({ header: 'X-Card' }))).toEqual(['changed card.kind'])
  expect(compareMatrices(MATRIX, withKind({})).kindFlips[0]).toMatchObject({
    ...{ before: null, after: { 'obtained.by': 'issue', permissionScopes: ['account'], preferredOver: [] } },
  })
  // One that comes first is issued in the place of the others, which its own facts say: those for the same
  // scopes that are issued.
  const others = [
    ...tokenKinds,
    { ...KEY, id: 'room_key', scopeLevel: 'project' },
    { ...KEY, id: 'old_key', obtained: { by: 'control_panel' } },
  ] as TokenKind[]
  const before = { ...MATRIX, tokenKinds: others }
  const first = { ...MATRIX, tokenKinds: [{ ...KEY, id: 'card' }, ...others] }
  expect(compareMatrices(before, first).kindFlips).toMatchObject([
    { kind: 'card', field: 'kind', after: { preferredOver: ['key', 'pass'] } },
  ])
})

test('looser facts come first, whatever their place, and are said in words', () => {
  const others: Readonly<Record<string, object>> = {
    key: { lifetimeSeconds: 1, scheme: 'Key', permissionScopes: [] },
    pass: { lifetimeSeconds: null, permissionScopes: ['account', 'projects'] },
  }
  const tokenKinds = [
    ...MATRIX.tokenKinds.map((kind) => ({ ...kind, ...others[kind.id] })),
    { ...KEY, id: 'card' },
  ]
  const { kindFlips } = compareMatrices(MATRIX, { ...MATRIX, tokenKinds })
  expect(
    kindFlips.map((flip) => `${flip.direction} ${flip.kind} ${flip.field}: ${factTexts(flip).join(' → ')}`),
  ).toEqual([
    'loosened key permissionScopes: account → none',
    'loosened pass permissionScopes: account → account projects',
    'loosened pass lifetimeSeconds: 60 → none',
    'loosened card kind: none → scopeLevel account, header X-Key, issuedTo robot, obtained.by issue, permissionScopes account, lifetimeSeconds 60, preferredOver none',
    'changed key scheme: none → Key',
    'tightened key lifetimeSeconds: 60 → 1',
  ])
})
