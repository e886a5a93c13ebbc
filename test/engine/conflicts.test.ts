/** The seven conflicts of the source, each in default mode, in strict mode, and resolved for the prose. */
import { expect, test } from 'vitest'
import type { CredentialReason, Decision, Engine } from '../../engine/index.ts'
import {
  ACCOUNT_KIND,
  compileForProse,
  engine,
  PROJECT_KIND,
  STATIC_KIND,
  strictEngine,
} from '../support/matrices/engines.ts'
import { cells, printedApis, scopeFor } from '../support/matrices/oracle.ts'

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

test('in strict mode the contested cells are denied, and every other cell is as the table prints it', () => {
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
  // Which token it is, is not known.
  ['CREDENTIAL_INVALID', []],
  ['CREDENTIAL_MALFORMED', []],
])('a denial for %s brings the advice about the holder where the token is known', (reason, advice) => {
  const denial = engine.deny('iam', reason, ACCOUNT_KIND, 'control_panel_user')
  expect(denial).toMatchObject({ reason, advice })
  expect(denial.conflicts.map(({ id }) => id)).toEqual(advice.map(() => 'iam-token-holder-contradiction'))
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
