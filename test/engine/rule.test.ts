/** The rule over its whole space of facts, and every answer of an engine against the rule called directly. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CREDENTIAL_REASONS,
  compile,
  type Engine,
  type Matrix,
  REASONS,
  type Scope,
} from '../../engine/index.ts'
import { type Facts, reasonOf } from '../../engine/rule.ts'
import { SITUATIONS } from '../../engine/situations.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'

/** Every value of each fact. */
const VALUES: { readonly [Name in keyof Facts]: readonly Facts[Name][] } = {
  api: ['known', 'unknown'],
  credential: ['verified', ...CREDENTIAL_REASONS],
  kind: ['account', 'project', 'unknown'],
  scope: ['account', 'project', 'invalid'],
  table: ['accepts', 'rejects'],
  conflict: ['none', 'table', 'prose'],
  strict: [false, true],
  target: ['not_given', 'same', 'other_project', 'other_account'],
}

/** Every combination of facts. */
const SPACE = Object.entries(VALUES).reduce<Facts[]>(
  (space, [name, values]) => values.flatMap((value) => space.map((facts) => ({ ...facts, [name]: value }))),
  [{} as Facts],
)

/** The facts without the fault of a reason: each way to fix it. */
const FIXED: { readonly [reason: string]: (facts: Facts) => Facts[] } = {
  UNKNOWN_API: (facts) => [{ ...facts, api: 'known' }],
  ...Object.fromEntries(
    CREDENTIAL_REASONS.map((reason, index) => [
      reason,
      // The credential can have a later fault as well.
      (facts: Facts): Facts[] =>
        [...CREDENTIAL_REASONS.slice(index + 1), 'verified' as const].map((credential) => ({
          ...facts,
          credential,
        })),
    ]),
  ),
  UNKNOWN_TOKEN_KIND: (facts) => [
    { ...facts, kind: 'account' },
    { ...facts, kind: 'project' },
  ],
  INVALID_SCOPE: (facts) => [{ ...facts, scope: facts.kind === 'project' ? 'project' : 'account' }],
  TOKEN_KIND_NOT_ACCEPTED: (facts) => [
    { ...facts, table: facts.table === 'accepts' ? 'rejects' : 'accepts' },
    ...(facts.table === 'accepts' ? [{ ...facts, conflict: 'table' } as const] : []),
  ],
  CONTESTED: (facts) => [
    { ...facts, strict: false },
    ...(facts.conflict === 'table' ? [{ ...facts, conflict: 'none' } as const] : []),
  ],
  ACCOUNT_MISMATCH: (facts) =>
    VALUES.target.filter((target) => target !== 'other_account').map((target) => ({ ...facts, target })),
  PROJECT_MISMATCH: (facts) => [
    { ...facts, target: 'same' },
    { ...facts, target: 'not_given' },
  ],
}

describe('the rule', () => {
  test('has a reason for each of the 7,776 combinations of facts, and a combination for each reason', () => {
    expect(SPACE).toHaveLength(7_776)
    expect(new Set(SPACE.map((facts) => JSON.stringify(facts))).size).toBe(7_776)
    const reached = new Set(SPACE.map(reasonOf))
    expect(REASONS.filter((reason) => reached.has(reason))).toEqual(REASONS)
    expect(reached.size).toBe(REASONS.length)
  })

  test('reports faults in the order of the reasons: a fault that is fixed uncovers a later one only', () => {
    const rank = (facts: Facts) => REASONS.indexOf(reasonOf(facts))
    const early = SPACE.flatMap((facts) =>
      (FIXED[reasonOf(facts)]?.(facts) ?? [])
        .filter((fixed) => rank(fixed) <= rank(facts))
        .map((fixed) => ({ facts, reason: reasonOf(facts), fixed, fixedReason: reasonOf(fixed) })),
    )
    expect(early).toEqual([])
    // Every reason but the last one can be fixed.
    expect(Object.keys(FIXED)).toEqual(REASONS.slice(0, -1))
  })

  test('allows only what the table accepts, or what a conflict that is resolved for the prose opens', () => {
    for (const facts of SPACE)
      if (reasonOf(facts) === 'ALLOWED')
        expect(facts).toMatchObject({
          api: 'known',
          credential: 'verified',
          kind: facts.scope,
          table: facts.conflict === 'prose' ? 'rejects' : 'accepts',
        })
  })

  test('allows in strict mode no more than in default mode, and nothing that is contested', () => {
    for (const facts of SPACE)
      if (facts.strict && reasonOf(facts) === 'ALLOWED') {
        expect(facts.conflict).toBe('none')
        expect(reasonOf({ ...facts, strict: false })).toBe('ALLOWED')
      }
  })

  test('changes nothing of its facts, and gives the same reason each time', () => {
    for (const facts of SPACE) expect(reasonOf(Object.freeze({ ...facts }))).toBe(reasonOf(facts))
  })
})

const SCOPES: { readonly [scope in Facts['scope']]: readonly Scope[] } = {
  invalid: [{ account: '' }, { account: '123456', project: '' }],
  account: [{ account: '123456' }],
  project: [{ account: '123456', project: 'alpha' }],
}

/**
 * The targets that are so to a token of such a scope; no target is anything to a token without an account.
 */
function targetsFor(scope: Facts['scope'], target: Facts['target']): readonly (Scope | undefined)[] {
  switch (target) {
    case 'not_given':
      return [undefined]
    case 'same':
      return SCOPES[scope]
    case 'other_project':
      return [{ account: '123456', project: 'beta' }, ...(scope === 'project' ? [{ account: '123456' }] : [])]
    case 'other_account':
      return [{ account: '654321' }, { account: '654321', project: 'alpha' }, { account: '' }]
  }
}

/** Holders with advice, with none, and not known: no reason depends on them. */
const HOLDERS = [undefined, 'control_panel_user', 'nobody']

/** The facts about a cell, read from the rows once more. */
function cellFacts(matrix: Matrix, apiId: string, kindId: string) {
  const api = matrix.apis.find((row) => row.id === apiId)
  const kind = matrix.tokenKinds.find((row) => row.id === kindId)
  const resolutions = matrix.conflicts
    .filter(({ cells }) => cells.some((cell) => cell.api === apiId && cell.kind === kindId))
    .map(({ resolution }) => resolution)
  const rules = resolutions.includes('prose') ? 'prose' : 'table'
  return {
    api: api === undefined ? 'unknown' : 'known',
    kind: kind?.scopeLevel ?? 'unknown',
    table: api?.accepts.includes(kindId) === true ? 'accepts' : 'rejects',
    conflict: resolutions.length === 0 ? 'none' : rules,
  } as const
}

/** Asks about every cell in every situation: by names, by handle, and about every fault of the credential. */
function compareWithRule(matrix: Matrix, strict: boolean): number {
  const engine: Engine = compile(matrix, { strict })
  let compared = 0
  const disagreeing: unknown[] = []
  const compare = (facts: Facts, asked: unknown, ...reasons: string[]) => {
    compared += reasons.length
    if (reasons.some((reason) => reason !== reasonOf(facts))) disagreeing.push({ facts, asked, reasons })
  }
  for (const api of [...engine.apis.keys(), 'no-such-api'])
    for (const kind of [...engine.tokenKinds.keys(), 'no_such_kind']) {
      const cell = { ...cellFacts(matrix, api, kind), strict }
      expect(engine.reasons(api, kind)).toEqual(SITUATIONS.map((each) => reasonOf({ ...cell, ...each })))
      for (const holder of HOLDERS) {
        for (const scopeFact of VALUES.scope)
          for (const targetFact of VALUES.target)
            for (const scope of SCOPES[scopeFact])
              for (const target of targetsFor(scopeFact, targetFact)) {
                const facts: Facts = { ...cell, credential: 'verified', scope: scopeFact, target: targetFact }
                const question = { api, kind, scope, target, holder }
                const byName = engine.decide(question)
                const byHandle = engine.decideAt(engine.handle(kind, api), scope, target, holder)
                compare(facts, question, byName.reason, byHandle.reason)
              }
        for (const credential of CREDENTIAL_REASONS)
          for (const scope of VALUES.scope) {
            const facts: Facts = { ...cell, credential, scope, target: 'not_given' }
            const { reason } = engine.deny(api, credential, kind, holder)
            compare(facts, { api, kind, holder }, reason)
          }
      }
    }
  expect(disagreeing).toEqual([])
  return compared
}

describe('every answer of an engine is what the rule says', () => {
  test.each([false, true])('of the shipped matrix (strict: %s)', (strict) => {
    // 31 × 4 cells, 3 holders, by name and by handle in 27 situations, and 8 faults in 3 scopes.
    expect(compareWithRule(supportMatrix, strict)).toBe(31 * 4 * 3 * (27 * 2 + 8 * 3))
  })

  test.each([false, true])('of any small matrix (strict: %s)', (strict) => {
    fc.assert(
      fc.property(matrices(), (matrix) => compareWithRule(matrix, strict) > 0),
      { numRuns: 200 },
    )
  })
})
