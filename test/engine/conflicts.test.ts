/**
 * The seven conflicts of the source, each in default mode, in strict mode, and resolved for the prose; and on
 * what a conflict bears in any matrix.
 */
import { describe, expect, test } from 'vitest'
import {
  type Conflict,
  type CredentialReason,
  compile,
  type Decision,
  type Engine,
} from '../../engine/index.ts'
import {
  ACCOUNT_KIND,
  compileForProse,
  engine,
  PROJECT_KIND,
  STATIC_KIND,
  strictEngine,
} from '../support/matrices/engines.ts'
import { cells, printedApis, scopeFor } from '../support/matrices/oracle.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

/** A conflict that puts a cell in doubt: §5.4 notes 2 and 3. */
const CONTESTED_CELLS = [
  { id: 'audit-logs-project-contradiction', type: 'contradiction', api: 'audit-logs', kind: PROJECT_KIND },
  { id: 'audit-logs-account-omission', type: 'omission', api: 'audit-logs', kind: ACCOUNT_KIND },
  { id: 'cdn-project-omission', type: 'omission', api: 'cdn', kind: PROJECT_KIND },
  { id: 'mobile-farm-project-omission', type: 'omission', api: 'mobile-farm', kind: PROJECT_KIND },
]

/**
 * A conflict that puts no cell in doubt: §5.4 note 1, §5.1, §1. `apis` and `kinds`: the cells whose every
 * decision names it.
 */
const UNCONTESTED = [
  {
    id: 'cloud-quotas-duplicate-row',
    type: 'duplicate_row',
    apis: ['cloud-quotas'],
    kinds: [ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND],
    sections: ['§5.4'],
  },
  {
    // About who should hold a token: named where the holder is known, below.
    id: 'iam-token-holder-contradiction',
    type: 'contradiction',
    apis: [],
    kinds: [],
    sections: ['§5.1'],
  },
  {
    // About how many APIs a kind opens, which no single decision is about: `Issue` and the matrix name it.
    id: 'account-most-products-overstatement',
    type: 'overstatement',
    apis: [],
    kinds: [],
    sections: ['§1'],
  },
]

test('the engine knows the seven conflicts of the source and no other', () => {
  expect(engine.conflicts.map(({ id }) => id)).toEqual(
    [...CONTESTED_CELLS, ...UNCONTESTED].map(({ id }) => id),
  )
})

test.each(CONTESTED_CELLS)(
  '$id: by default the table rules, and the decision names it',
  ({ id, type, api, kind }) => {
    const decision = ask(engine, api, kind)
    expect(decision.allowed).toBe(printed(api, kind))
    expect(decision.conflicts.find((conflict) => conflict.id === id)).toMatchObject({
      type,
      cells: [{ api, kind }],
      resolution: 'table',
      sections: ['§5.3', '§5.4'],
    })
  },
)

test.each(CONTESTED_CELLS)(
  '$id: in strict mode its cell is denied, and the denial names it',
  ({ id, api, kind }) => {
    const decision = ask(strictEngine, api, kind)
    expect(decision).toMatchObject({
      allowed: false,
      reason: printed(api, kind) ? 'CONTESTED' : 'TOKEN_KIND_NOT_ACCEPTED',
    })
    expect(decision.conflicts.map((conflict) => conflict.id)).toContain(id)
  },
)

test.each(CONTESTED_CELLS)(
  '$id: resolved for the prose, it reverses its cell and no other',
  ({ id, api, kind }) => {
    const resolved = compileForProse(id)
    const answers = cells().map((cell) => [cell.api, cell.kind, ask(resolved, cell.api, cell.kind).allowed])
    const reversed = cells().map((cell) => [
      cell.api,
      cell.kind,
      cell.api === api && cell.kind === kind ? !cell.accepted : cell.accepted,
    ])
    expect(answers).toEqual(reversed)
  },
)

test.each(CONTESTED_CELLS)(
  '$id: resolved for the prose and in strict mode, its cell is still denied',
  ({ id, api, kind }) => {
    expect(ask(compileForProse(id, { strict: true }), api, kind)).toMatchObject({
      allowed: false,
      reason: printed(api, kind) ? 'TOKEN_KIND_NOT_ACCEPTED' : 'CONTESTED',
    })
  },
)

test.each(UNCONTESTED)('$id contests no cell', ({ id }) => {
  expect(engine.conflicts.find((conflict) => conflict.id === id)).toMatchObject({ cells: [] })
  // Resolving it for the prose changes no cell either: no value of the table is in doubt.
  const resolved = compileForProse(id)
  expect(cells().map(({ api, kind }) => ask(resolved, api, kind).allowed)).toEqual(
    cells().map((cell) => cell.accepted),
  )
})

test.each(UNCONTESTED)('$id stands in the sections $sections', ({ id, type, sections }) => {
  expect(engine.conflicts.find((conflict) => conflict.id === id)).toMatchObject({ type, sections })
})

test.each(UNCONTESTED)(
  '$id is named by every decision on what it speaks of, and by no other',
  ({ id, apis, kinds }) => {
    const spoken = cells().filter(({ api, kind }) => apis.includes(api) && kinds.includes(kind))
    for (const each of [engine, strictEngine]) {
      const naming = cells().filter(({ api, kind }) =>
        ask(each, api, kind).conflicts.some((conflict) => conflict.id === id),
      )
      expect(naming.map(({ api, kind }) => `${api} ${kind}`).join('\n')).toBe(
        spoken.map(({ api, kind }) => `${api} ${kind}`).join('\n'),
      )
    }
  },
)

test('the contested cells are denied in strict mode, and every other cell is as the table prints it', () => {
  const answers = cells().map(({ api, kind }) => [api, kind, ask(strictEngine, api, kind).allowed])
  const expected = cells().map(({ api, kind, accepted }) => [api, kind, accepted && !isContested(api, kind)])
  expect(answers).toEqual(expected)
})

test.each(printedApis())('the engine lists the contested kinds of %s', (api) => {
  const contested = cells().filter((cell) => cell.api === api && isContested(cell.api, cell.kind))
  for (const each of [engine, strictEngine])
    expect(each.apis.get(api)?.contested).toEqual(contested.map(({ kind }) => kind))
})

test('a denial in strict mode never offers a contested kind', () => {
  for (const { api } of CONTESTED_CELLS) {
    const offered = strictEngine.deny(api, 'CREDENTIAL_MISSING').accepted.map(({ kind }) => kind)
    expect(offered).toEqual(
      cells()
        .filter((cell) => cell.api === api && cell.accepted && !isContested(cell.api, cell.kind))
        .map(({ kind }) => kind),
    )
  }
})

const TESTING_ONLY =
  "a control panel user's IAM token is recommended for testing only; a working tool uses a service user (§5.1)"

test.each<[claim: string, kind: string, holder: string | undefined, advice: string[]]>([
  [
    "a control panel user's account-scoped IAM token brings advice, and the conflict about its holder",
    ACCOUNT_KIND,
    'control_panel_user',
    [TESTING_ONLY],
  ],
  [
    "a control panel user's project-scoped IAM token brings advice, and the conflict about its holder",
    PROJECT_KIND,
    'control_panel_user',
    [TESTING_ONLY],
  ],
  ["a service user's IAM token brings none", ACCOUNT_KIND, 'service_user', []],
  ["a control panel user's static token brings none", STATIC_KIND, 'control_panel_user', []],
  ['a token whose holder is not known brings none', ACCOUNT_KIND, undefined, []],
  ['a holder with the name of an inherited property brings none', ACCOUNT_KIND, 'constructor', []],
])('%s, whatever the cell says', (_claim, kind, holder, advice) => {
  for (const api of printedApis()) {
    const plain = ask(engine, api, kind)
    const held = engine.decide({ api, kind, scope: scopeFor(kind), holder })
    const named = engine.conflicts.filter(
      ({ id }) => advice.length > 0 && id === 'iam-token-holder-contradiction',
    )
    expect(held).toEqual({ ...plain, advice, conflicts: [...plain.conflicts, ...named] })
  }
})

test.each<[reason: CredentialReason, advice: string[]]>([
  ['CREDENTIAL_EXPIRED', [TESTING_ONLY]],
  ['CREDENTIAL_REVOKED', [TESTING_ONLY]],
  ['ADDRESS_NOT_ALLOWED', [TESTING_ONLY]],
  // The token is not known.
  ['CREDENTIAL_INVALID', []],
  ['CREDENTIAL_MALFORMED', []],
])('a denial for %s brings the advice about the holder where the token is known', (reason, advice) => {
  const denial = engine.deny('iam', reason, ACCOUNT_KIND, 'control_panel_user')
  expect(denial).toMatchObject({ reason, advice })
  expect(denial.conflicts.map(({ id }) => id)).toEqual(advice.map(() => 'iam-token-holder-contradiction'))
})

describe('in a small matrix', () => {
  const LOBBY_KEY = { api: 'lobby', kind: 'room_key' }
  const LOBBY_PASS = { api: 'lobby', kind: 'day_pass' }
  const LIBRARY_PASS = { api: 'library', kind: 'day_pass' }
  /** A conflict about nothing, for the table; the given fields change that. */
  const conflict = (id: string, change: Partial<Conflict>): Conflict => ({
    ...{ id, type: 'contradiction', cells: [], apis: [], kinds: [], statements: [] },
    ...{ resolution: 'table', reason: 'either may be so', ...change },
  })
  const NONE_OF_LIBRARY = { 'library day_pass': [], 'library room_key': [] }

  test.each<[claim: string, conflicts: Conflict[], named: Record<string, string[]>, contested: string[]]>([
    [
      'a conflict about a cell is named there alone',
      [conflict('a', { cells: [LOBBY_KEY] }), conflict('b', { cells: [LOBBY_PASS] })],
      { 'lobby day_pass': ['b'], 'lobby room_key': ['a'], ...NONE_OF_LIBRARY },
      ['lobby day_pass', 'lobby room_key'],
    ],
    [
      'a conflict about an API is named for each kind, and contests none',
      [conflict('a', { apis: ['lobby'] }), conflict('b', { cells: [LOBBY_PASS] })],
      { 'lobby day_pass': ['a', 'b'], 'lobby room_key': ['a'], ...NONE_OF_LIBRARY },
      ['lobby day_pass'],
    ],
    [
      'of a conflict about cells of two APIs, each has its own',
      [conflict('a', { cells: [LOBBY_KEY, LIBRARY_PASS] })],
      {
        ...{ 'lobby day_pass': [], 'lobby room_key': ['a'] },
        ...{ 'library day_pass': ['a'], 'library room_key': [] },
      },
      ['lobby room_key', 'library day_pass'],
    ],
  ])('%s', (_claim, conflicts, named, contested) => {
    const { apis } = compile({ ...smallMatrix(), conflicts })
    const rows = [...apis.values()].filter(({ id }) => id !== 'cellar')
    const each = rows.flatMap(({ id, conflicts: byKind }) =>
      Array.from(byKind, ([kind, list]) => [`${id} ${kind}`, list.map((one) => one.id)]),
    )
    expect(Object.fromEntries(each)).toEqual(named)
    expect(rows.flatMap(({ id, contested: kinds }) => kinds.map((kind) => `${id} ${kind}`))).toEqual(
      contested,
    )
  })

  test.each<[sides: string, resolutions: Conflict['resolution'][], allowed: boolean]>([
    ['the table', ['table', 'table'], true],
    ['the prose and the table', ['prose', 'table'], false],
    ['the table and the prose', ['table', 'prose'], false],
    ['the prose twice', ['prose', 'prose'], false],
  ])('conflicts about one cell that are resolved for %s', (_sides, resolutions, allowed) => {
    const conflicts = resolutions.map((resolution, index) =>
      conflict(`conflict-${index}`, { cells: [LOBBY_KEY], resolution }),
    )
    const scope = { account: 'house', project: 'attic' }
    const asked = compile({ ...smallMatrix(), conflicts })
    expect(asked.decide({ ...LOBBY_KEY, scope }).allowed).toBe(allowed)
  })

  test.each<[claim: string, change: Partial<Conflict>, isNamed: boolean]>([
    ['about who gets such a token', { statements: ['pass-issued-to'] }, true],
    ['in which that is one of the statements', { statements: ['pass-most', 'pass-issued-to'] }, true],
    ['about another kind', { kinds: ['room_key'], statements: ['pass-issued-to'] }, false],
    ['about who else gets one', { statements: ['pass-for-residents'] }, false],
    ['about the advice itself', { statements: ['pass-advice'] }, false],
    ['about no statement', {}, false],
  ])('beside the advice about a holder, a conflict %s', (_claim, change, isNamed) => {
    const { statements, ...matrix } = smallMatrix()
    const issuedTo = statements.find(({ id }) => id === 'pass-issued-to')
    if (issuedTo?.claim.type !== 'issued_to') throw new TypeError('the statement is not there')
    const claim = { ...issuedTo.claim, holder: 'resident' }
    const asked = compile({
      ...matrix,
      statements: [...statements, { ...issuedTo, id: 'pass-for-residents', claim }],
      conflicts: [conflict('a', { kinds: ['day_pass'], ...change })],
    })
    const scope = { account: 'house' }
    const decision = asked.decide({ api: 'library', kind: 'day_pass', scope, holder: 'guest' })
    expect(decision.advice).toEqual(['keep it dry'])
    expect(decision.conflicts.map(({ id }) => id)).toEqual(isNamed ? ['a'] : [])
  })
})

function ask(asked: Engine, api: string, kind: string): Decision {
  return asked.decide({ api, kind, scope: scopeFor(kind) })
}

function printed(api: string, kind: string): boolean {
  return cells().some((cell) => cell.api === api && cell.kind === kind && cell.accepted)
}

function isContested(api: string, kind: string): boolean {
  return CONTESTED_CELLS.some((cell) => cell.api === api && cell.kind === kind)
}
