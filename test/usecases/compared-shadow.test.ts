/**
 * The counts of a second matrix, in this process: which rows, whose accounts, since when; who hears of it;
 * and that no answer depends on it. `test/rules/shadow.test.ts` runs it in a sidecar.
 */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { compile, type Engine, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { DecisionListener } from '../../sidecar/usecases/asker.ts'
import { checkClaims } from '../../sidecar/usecases/check.ts'
import type { ComparedShadow } from '../../sidecar/usecases/compared-shadow.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { OTHER_CELLS } from '../support/matrices/shadow-matrices.ts'
import { beside, clock, OTHER, SHIPPED } from '../support/sidecar/beside.ts'

beforeEach(() => {
  vi.useFakeTimers()
  clock.nowMs = 1_800_000_000_000
})
afterEach(() => vi.useRealTimers())

describe('a row', () => {
  test('is of one API, kind and direction, and those with most come first', () => {
    const { compared, ask } = beside(OTHER)
    ask('reports')
    for (let count = 0; count < 3; count++) ask('balance')
    for (let count = 0; count < 2; count++) ask('tickets', STATIC_KIND)
    ask('balance', STATIC_KIND)
    const rows = compared.differences.map(({ api, kind, direction, count }) => [api, kind, direction, count])
    expect(rows).toEqual([
      ['balance', ACCOUNT_KIND, 'closed', 3],
      ['tickets', STATIC_KIND, 'closed', 2],
      ['reports', ACCOUNT_KIND, 'opened', 1],
    ])
    expect(compared).toMatchObject({ compared: 7, beyond: 0 })
    compared.close()
  })

  test('of an API is one for each kind, and for each direction', () => {
    const both: Matrix = { ...OTHER_CELLS, apis: [{ ...api(), accepts: [PROJECT_KIND] }] }
    const { compared, ask } = beside(compile(both), compile({ ...both, apis: [api()] }))
    const of = { account: '1', project: 'p' }
    ask('any')
    ask('any', PROJECT_KIND, of)
    ask('any', STATIC_KIND)
    ask('any')
    expect(compared.differences.map(({ kind, direction, count }) => [kind, direction, count])).toEqual([
      [ACCOUNT_KIND, 'closed', 2],
      [PROJECT_KIND, 'opened', 1],
      [STATIC_KIND, 'closed', 1],
    ])
    compared.close()
  })

  test('names accounts, those with most first, and counts those of whom nothing is known', () => {
    const { compared, ask } = beside(OTHER)
    for (const account of ['1', '2', '3', '2', '3', '3']) ask('balance', ACCOUNT_KIND, { account })
    const decision = SHIPPED.decide({ api: 'balance', kind: ACCOUNT_KIND, scope: { account: '1' } })
    compared.ofKind('balance', ACCOUNT_KIND, decision)
    const [row] = compared.differences
    expect(row).toEqual({
      ...{ api: 'balance', kind: ACCOUNT_KIND, direction: 'closed', count: 7, otherAccounts: 1 },
      accounts: ['3', '2', '1'].map((account) => ({ account, count: Number(account) })),
      ...{ firstMs: clock.nowMs, lastMs: clock.nowMs },
    })
    compared.close()
  })

  test.each<[length: number, kept: number]>([
    [256, 1],
    [257, 0],
  ])('keeps an account whose name has %i characters: %i', (length, kept) => {
    const { compared, ask } = beside(OTHER)
    ask('balance', ACCOUNT_KIND, { account: 'x'.repeat(length) })
    expect(compared.differences[0]?.accounts).toHaveLength(kept)
    expect(compared.differences[0]?.otherAccounts).toBe(1 - kept)
    compared.close()
  })

  test('says when it began, and when it was counted last, to the second', () => {
    const { compared, ask } = beside(OTHER)
    const beganMs = clock.nowMs
    clock.nowMs += 5_000
    ask('balance')
    clock.nowMs += 7_000
    ask('balance')
    const seen = () =>
      compared.differences.map(({ firstMs, lastMs }) => [firstMs - beganMs, lastMs - beganMs])
    expect([compared.sinceMs, seen()]).toEqual([beganMs, [[5_000, 5_000]]])
    vi.advanceTimersByTime(1_000)
    ask('balance')
    expect(seen()).toEqual([[5_000, 12_000]])
    clock.nowMs += 2_000
    ask('reports')
    expect(seen()[1]).toEqual([14_000, 14_000])
    compared.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})

const api = () => ({ id: 'any', title: 'any', section: '1', accepts: [ACCOUNT_KIND, STATIC_KIND] })

describe('counting', () => {
  test('begins anew when either matrix changes, and ends when it is closed', () => {
    const { compared, ask, rules, other, onBegin, onDefect } = beside(OTHER)
    expect(onBegin.mock.calls).toEqual([[SHIPPED, OTHER]])
    expect([compared.engine, compared.matrix]).toEqual([OTHER, { title: 'kept' }])
    for (const [which, next] of [
      [rules, compile({ ...supportMatrix, title: 'next' })],
      [other, compile({ ...OTHER_CELLS, title: 'next' })],
    ] as const) {
      ask('balance')
      expect(compared).toMatchObject({ compared: 1, differences: [{ count: 1 }] })
      clock.nowMs += 1_000
      which.replace(next)
      expect(onBegin).toHaveBeenLastCalledWith(rules.engine, other.engine)
      expect(compared).toMatchObject({ compared: 0, differences: [], beyond: 0, sinceMs: clock.nowMs })
    }
    expect(onDefect).not.toHaveBeenCalled()
    compared.reload()
    expect([other.reload.mock.calls, rules.reload.mock.calls]).toEqual([[[]], []])
    compared.close()
    expect([rules.watchers.size, other.watchers.size]).toEqual([0, 0])
    expect([other.close.mock.calls, rules.close.mock.calls]).toEqual([[[]], []])
  })

  test('is of decisions of the rules in force alone', () => {
    const { compared } = beside(OTHER)
    const strict: Engine = compile(supportMatrix, { strict: true })
    const scope = { account: '1' }
    const question = { api: 'balance', kind: ACCOUNT_KIND, scope, target: undefined }
    const told = strict.decide(question)
    const credentials = { api: 'balance', headers: [], target: undefined, clientAddress: undefined }
    const outcome = { decision: told, token: undefined, verified: false }
    expect([
      compared.ofClaims(question, told),
      compared.ofKind('balance', ACCOUNT_KIND, told),
      compared.ofCredentials(credentials, undefined, outcome),
      compared.ofOwnToken('balance', { kind: ACCOUNT_KIND, scope }, told),
    ]).toEqual([undefined, undefined, undefined, undefined])
    expect(compared.compared).toBe(0)
    compared.close()
  })

  test('is of each kind of question', () => {
    const { compared } = beside(OTHER)
    const scope = { account: '7' }
    const token = {
      ...{ kind: ACCOUNT_KIND, scope, subject: { id: 'u', name: 'u', type: 'service_user' } },
      ...{ tokenId: 't', issuedAtMs: 0, expiresAtMs: undefined },
    }
    const decision = SHIPPED.decide({ api: 'balance', kind: ACCOUNT_KIND, scope })
    const headers: [string, string][] = [['X-Auth-Token', 'any']]
    const credentials = { api: 'balance', headers, target: undefined, clientAddress: undefined }
    const found = SHIPPED.extract(headers)
    const claims = { api: 'balance', kind: ACCOUNT_KIND, scope, target: undefined }
    expect(compared.ofCredentials(credentials, found, { decision, token, verified: true })).toBe('closed')
    expect(compared.ofClaims(claims, decision)).toBe('closed')
    expect(compared.ofClaims({ ...claims, scope: undefined }, decision)).toBe('closed')
    expect(compared.ofKind('balance', ACCOUNT_KIND, decision)).toBe('closed')
    expect(compared.ofOwnToken('balance', { kind: ACCOUNT_KIND, scope }, decision)).toBe('unknown')
    const row = { api: 'balance', kind: ACCOUNT_KIND }
    expect(compared.differences).toMatchObject([
      { ...row, direction: 'closed', count: 4, accounts: [{ account: '7', count: 2 }], otherAccounts: 2 },
      { ...row, direction: 'unknown', count: 1, accounts: [{ account: '7', count: 1 }], otherAccounts: 0 },
    ])
    compared.close()
  })

  test('is without a kind and an account where no token is known', () => {
    const { compared } = beside(OTHER)
    const headers: [string, string][] = [['X-Auth-Token', 'any']]
    const credentials = { api: 'support-tickets', headers, target: undefined, clientAddress: undefined }
    const decision = SHIPPED.deny('support-tickets', 'CREDENTIAL_MISSING')
    const outcome = { decision, token: undefined, verified: false }
    expect(compared.ofCredentials(credentials, undefined, outcome)).toBe('unknown')
    expect(compared.ofOwnToken('support-tickets', undefined, decision)).toBe('unknown')
    const row = { api: 'support-tickets', kind: '', direction: 'unknown', count: 2, accounts: [] }
    expect(compared.differences).toMatchObject([{ ...row, otherAccounts: 2 }])
    compared.close()
  })

  test('is for the metrics, too', () => {
    const { compared, ask, metered } = beside(OTHER, SHIPPED, true)
    for (const each of ['balance', 'reports', 'balance', 'iam']) ask(each)
    expect(metered).toEqual([
      `balance ${ACCOUNT_KIND} closed`,
      `reports ${ACCOUNT_KIND} opened`,
      `balance ${ACCOUNT_KIND} closed`,
    ])
    compared.close()
  })
})

test('names from clients fill no table: hostile APIs, kinds and accounts', () => {
  const { compared, ask } = beside(OTHER)
  for (let index = 0; index < 5_000; index++) {
    ask(`api-${index}`)
    ask('balance', `kind-${index}`)
    const account = index < 30 ? `account-${index}` : 'x'.repeat(1_000) + index
    ask('balance', ACCOUNT_KIND, { account })
  }
  ask('balance', ACCOUNT_KIND, { account: 'account-3' })
  expect(compared.compared).toBe(15_001)
  const [row, ...others] = compared.differences
  expect(others).toEqual([])
  expect(row).toMatchObject({ count: 5_001, otherAccounts: 4_980 })
  expect(row?.accounts).toHaveLength(20)
  expect(row?.accounts[0]).toEqual({ account: 'account-3', count: 2 })
  compared.close()
})

test.each([true, false])('more differences than rows are counted beyond, and metered: %s', (isMetered) => {
  const [api] = supportMatrix.apis as [Matrix['apis'][number]]
  const many = (accepts: readonly string[]): Engine =>
    compile<string, string>({
      ...{ title: 'many', tokenKinds: supportMatrix.tokenKinds },
      apis: Array.from({ length: 1_200 }, (_, index) => ({ ...api, id: `api-${index}`, accepts })),
    })
  const { compared, ask, metered, onDefect } = beside(many([]), many([ACCOUNT_KIND]), isMetered)
  for (let round = 0; round < 2; round++) for (let index = 0; index < 1_200; index++) ask(`api-${index}`)
  expect(compared.differences).toHaveLength(1_000)
  expect([compared.beyond, metered.length]).toEqual([400, isMetered ? 2_400 : 0])
  expect(onDefect).not.toHaveBeenCalled()
  compared.close()
})

describe('one question of each kind', () => {
  const scope = { account: '1' }
  const token = {
    ...{ kind: ACCOUNT_KIND, scope, subject: { id: 'u', name: 'u', type: 'service_user' } },
    ...{ tokenId: 't', issuedAtMs: 0, expiresAtMs: undefined },
  }
  const headers: [string, string][] = [['X-Auth-Token', 'any']]
  const found = SHIPPED.extract(headers)
  const question = (api: string) => ({ api, headers, target: undefined, clientAddress: undefined })
  const answered = (api: string) => SHIPPED.decide({ api, kind: ACCOUNT_KIND, scope })
  const QUESTIONS: readonly [what: string, ask: (compared: ComparedShadow, api: string) => unknown][] = [
    [
      'claims',
      (compared, api) =>
        compared.ofClaims({ api, kind: ACCOUNT_KIND, scope, target: undefined }, answered(api)),
    ],
    ['a kind', (compared, api) => compared.ofKind(api, ACCOUNT_KIND, answered(api))],
    [
      'credentials',
      (compared, api) =>
        compared.ofCredentials(question(api), found, { decision: answered(api), token, verified: true }),
    ],
    [
      'a token of its own',
      (compared, api) => compared.ofOwnToken(api, { kind: ACCOUNT_KIND, scope }, answered(api)),
    ],
  ]

  test.each(QUESTIONS)('about %s has no row where the shadow answers alike', (_what, ask) => {
    const { compared, onDefect } = beside(OTHER)
    expect(ask(compared, 'iam')).toBeUndefined()
    expect(compared).toMatchObject({ compared: 1, differences: [] })
    expect(onDefect).not.toHaveBeenCalled()
    compared.close()
  })

  test.each(QUESTIONS)('about %s is not disturbed by a defect, which is reported once each', (_what, ask) => {
    const defective = (title: string): Engine => ({
      ...compile({ ...OTHER_CELLS, title }),
      decide: () => {
        throw new Error(`a defect of ${title}`)
      },
    })
    const { compared, other, onDefect } = beside(defective('one'))
    for (const title of ['one', 'two']) {
      if (title === 'two') other.replace(defective(title))
      for (let count = 0; count < 3; count++) expect(ask(compared, 'balance')).toBeUndefined()
      expect(onDefect).toHaveBeenLastCalledWith(new Error(`a defect of ${title}`))
    }
    expect([onDefect.mock.calls.length, compared.differences]).toEqual([2, []])
    compared.close()
  })
})

test('any two matrices: the difference is what both engines say, and the answer is that of the one in force', () => {
  const kinds: string[] = supportMatrix.tokenKinds.map(({ id }) => id)
  const table = fc
    .uniqueArray(fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), accepts: fc.subarray(kinds) }), {
      selector: ({ id }) => id,
      minLength: 1,
    })
    .map((rows) => ({
      ...{ title: 'any', tokenKinds: supportMatrix.tokenKinds },
      apis: rows.map((row) => ({ ...row, title: row.id, section: '1' })),
    }))
  const scope = fc.record({
    account: fc.constantFrom('1', '2', ''),
    project: fc.constantFrom(undefined, 'p', 'q'),
  })
  const question = fc.record({
    api: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    kind: fc.constantFrom(...kinds, 'none'),
    scope: fc.option(scope, { nil: undefined }),
    target: fc.option(scope, { nil: undefined }),
  })
  fc.assert(
    fc.property(
      table,
      table,
      fc.array(question, { minLength: 30, maxLength: 60 }),
      (one, other, questions) => {
        const [engine, shadow] = [one, other].map((each) => compile<string, string>(each)) as [Engine, Engine]
        const { compared } = beside(shadow, engine)
        const told: unknown[] = []
        const next = { ofClaims: (_: unknown, __: unknown, difference: unknown) => told.push(difference) }
        const listener = compared.listener(next as unknown as DecisionListener)
        const answers = questions.map((each) => checkClaims({ engine }, each, listener))
        expect(answers).toEqual(questions.map((each) => checkClaims({ engine }, each, undefined)))
        const expected = questions.map((each) => {
          const [was, is] = [engine, shadow].map((of) => checkClaims({ engine: of }, each, undefined).allowed)
          return was === is ? undefined : is ? 'opened' : 'closed'
        })
        expect(told).toEqual(expected)
        compared.close()
      },
    ),
    { numRuns: 100 },
  )
})
