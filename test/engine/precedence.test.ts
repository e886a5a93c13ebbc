/** A question with several faults reports the first by precedence (DESIGN §5): every combination there is. */
import { expect, test } from 'vitest'
import { CREDENTIAL_REASONS, type CredentialReason, REASONS, type Scope } from '../../engine/index.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND, strictEngine } from '../support/matrices/engines.ts'
import { printedApis, scopeFor } from '../support/matrices/oracle.ts'
import { firstOf, PRECEDENCE } from '../support/matrices/reference.ts'

/** Ids and the faults that they bring into strict mode. Default mode has no `CONTESTED`. */
const SUBJECTS: readonly { api: string; kind: string; faults: readonly string[] }[] = [
  { api: 'dedicated-servers', kind: PROJECT_KIND, faults: [] },
  { api: 'dedicated-servers', kind: ACCOUNT_KIND, faults: [] },
  { api: 'balance', kind: STATIC_KIND, faults: [] },
  { api: 'iam', kind: PROJECT_KIND, faults: ['TOKEN_KIND_NOT_ACCEPTED'] },
  { api: 'reports', kind: ACCOUNT_KIND, faults: ['TOKEN_KIND_NOT_ACCEPTED'] },
  { api: 'cdn', kind: PROJECT_KIND, faults: ['CONTESTED'] },
  { api: 'audit-logs', kind: ACCOUNT_KIND, faults: ['CONTESTED'] },
  // §5.4 note 2: the table rejects the cell, and a conflict names it.
  { api: 'audit-logs', kind: PROJECT_KIND, faults: ['TOKEN_KIND_NOT_ACCEPTED', 'CONTESTED'] },
  { api: 'iam', kind: 'no_such_kind', faults: ['UNKNOWN_TOKEN_KIND'] },
  { api: 'no-such-api', kind: PROJECT_KIND, faults: ['UNKNOWN_API'] },
  { api: 'no-such-api', kind: ACCOUNT_KIND, faults: ['UNKNOWN_API'] },
  { api: 'no-such-api', kind: 'no_such_kind', faults: ['UNKNOWN_API', 'UNKNOWN_TOKEN_KIND'] },
]

/** Scopes that fit no kind, so that each is a fault with an unknown kind as well. */
const UNFIT_SCOPES: readonly Scope[] = [{ account: '' }, { account: '123456', project: '' }]

/** Targets and the faults that they bring for a token of account 123456, or of its project alpha. */
const TARGETS: readonly { target: Scope | undefined; account: boolean; project: boolean }[] = [
  { target: undefined, account: false, project: false },
  { target: { account: '123456', project: 'alpha' }, account: false, project: false },
  { target: { account: '123456', project: 'beta' }, account: false, project: true },
  { target: { account: '123456' }, account: false, project: true },
  { target: { account: '654321', project: 'alpha' }, account: true, project: false },
  { target: { account: '654321', project: 'beta' }, account: true, project: true },
]

/** Every combination, with all its faults. */
const COMBINATIONS = SUBJECTS.flatMap(({ api, kind, faults }) =>
  [scopeFor(kind), ...UNFIT_SCOPES].flatMap((scope, index) =>
    TARGETS.flatMap(({ target, account, project }) =>
      [true, false].map((strict) => ({
        strict,
        question: { api, kind, scope, target },
        faults: new Set([
          ...faults.filter((fault) => strict || fault !== 'CONTESTED'),
          ...(index > 0 ? ['INVALID_SCOPE'] : []),
          ...(account ? ['ACCOUNT_MISMATCH'] : []),
          // Only a token that is bound to a project can miss the target's (§1).
          ...(project && kind === PROJECT_KIND ? ['PROJECT_MISMATCH'] : []),
        ]),
      })),
    ),
  ),
)

/** Every pair of faults that one question can have. An unknown id has no cell, and so no fault of a cell. */
const PAIRS: readonly (readonly [earlier: string, later: string])[] = [
  ['UNKNOWN_API', 'UNKNOWN_TOKEN_KIND'],
  ['UNKNOWN_API', 'INVALID_SCOPE'],
  ['UNKNOWN_API', 'ACCOUNT_MISMATCH'],
  ['UNKNOWN_API', 'PROJECT_MISMATCH'],
  ['UNKNOWN_TOKEN_KIND', 'INVALID_SCOPE'],
  ['UNKNOWN_TOKEN_KIND', 'ACCOUNT_MISMATCH'],
  ['INVALID_SCOPE', 'TOKEN_KIND_NOT_ACCEPTED'],
  ['INVALID_SCOPE', 'CONTESTED'],
  ['INVALID_SCOPE', 'ACCOUNT_MISMATCH'],
  ['INVALID_SCOPE', 'PROJECT_MISMATCH'],
  ['TOKEN_KIND_NOT_ACCEPTED', 'CONTESTED'],
  ['TOKEN_KIND_NOT_ACCEPTED', 'ACCOUNT_MISMATCH'],
  ['TOKEN_KIND_NOT_ACCEPTED', 'PROJECT_MISMATCH'],
  ['CONTESTED', 'ACCOUNT_MISMATCH'],
  ['CONTESTED', 'PROJECT_MISMATCH'],
  ['ACCOUNT_MISMATCH', 'PROJECT_MISMATCH'],
]

function reasonOf({ strict, question }: (typeof COMBINATIONS)[number]): string {
  return (strict ? strictEngine : engine).decide(question).reason
}

test('the reasons stand in the order of the design', () => {
  expect(REASONS).toEqual(PRECEDENCE)
})

test('the credential reasons follow the unknown API and come before all others', () => {
  expect(CREDENTIAL_REASONS).toEqual(PRECEDENCE.slice(1, PRECEDENCE.indexOf('UNKNOWN_TOKEN_KIND')))
})

test.each(PAIRS)('%s is reported before %s', (earlier, later) => {
  const both = COMBINATIONS.filter(
    ({ faults }) => faults.size === 2 && faults.has(earlier) && faults.has(later),
  )
  expect(both).not.toHaveLength(0)
  expect(new Set(both.map(reasonOf))).toEqual(new Set([earlier]))
})

test('no pair of faults that occurs together is missing from the table of pairs', () => {
  const occurring = COMBINATIONS.flatMap(({ faults }) => {
    const ordered = PRECEDENCE.filter((reason) => faults.has(reason))
    return ordered.flatMap((earlier, index) => ordered.slice(index + 1).map((later) => `${earlier} ${later}`))
  })
  expect(new Set(occurring)).toEqual(new Set(PAIRS.map((pair) => pair.join(' '))))
})

test('the first of any combination of faults by precedence is reported', () => {
  const reported = COMBINATIONS.map((each) => ({ ...each, reason: reasonOf(each) }))
  const expected = COMBINATIONS.map((each) => ({ ...each, reason: firstOf(each.faults) }))
  expect(reported).toEqual(expected)
})

test.each(CREDENTIAL_REASONS)('an unknown API is reported before %s', (reason) => {
  expect(engine.deny('no-such-api', reason)).toMatchObject({
    allowed: false,
    reason: 'UNKNOWN_API',
    message: 'the api id is not in the matrix',
    accepted: [],
  })
})

test.each(CREDENTIAL_REASONS)('%s is reported for every known API', (reason) => {
  for (const api of printedApis()) {
    const denial = engine.deny(api, reason)
    expect(denial).toMatchObject({ allowed: false, reason, header: '', conflicts: [], advice: [] })
  }
})

test.each(['ALLOWED', 'CONTESTED', 'no reason', 'constructor', undefined])(
  'denying for %s, which is not a fault of a credential, still denies',
  (reason) => {
    const denial = engine.deny('iam', reason as CredentialReason)
    expect(denial.allowed).toBe(false)
    expect([...engine.decisions()]).toContain(denial)
    expect(engine.deny('iam', reason as CredentialReason, ACCOUNT_KIND)).toBe(denial)
  },
)
