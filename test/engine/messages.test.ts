/** Every reason comes with one sentence that a person can act on, and that gives no credential away. */
import { expect, test } from 'vitest'
import {
  CREDENTIAL_REASONS,
  type CredentialReason,
  compile,
  type Engine,
  namesMeant,
  type Question,
  type TokenKind,
} from '../../engine/index.ts'
import {
  ACCOUNT_KIND,
  compileForProse,
  engine,
  PROJECT_KIND,
  STATIC_KIND,
  strictEngine,
} from '../support/matrices/engines.ts'
import { scopeFor } from '../support/matrices/oracle.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

test.each<[reason: CredentialReason, api: string, message: string]>([
  [
    'CREDENTIAL_MISSING',
    'iam',
    'no credential arrived; `iam` accepts an account-scoped IAM token in `X-Auth-Token`',
  ],
  [
    'CREDENTIAL_MISSING',
    'balance',
    'no credential arrived; `balance` accepts an account-scoped IAM token in `X-Auth-Token` or a static token in `X-Token`',
  ],
  [
    'CREDENTIAL_AMBIGUOUS',
    'iam',
    'more than one credential arrived; send one token, once, in `X-Auth-Token` or `X-Token`',
  ],
  [
    'CREDENTIAL_MALFORMED',
    'iam',
    'the credential is not a token: expected visible ASCII characters without spaces',
  ],
  [
    'WRONG_HEADER',
    'iam',
    'the token arrived in the header of another kind; send an account-scoped IAM token in `X-Auth-Token`, a project-scoped IAM token in `X-Auth-Token` or a static token in `X-Token`',
  ],
  ['CREDENTIAL_INVALID', 'iam', 'no authority verified the credential; obtain a new one'],
  ['CREDENTIAL_EXPIRED', 'iam', 'the token is past its lifetime; obtain a new one'],
  [
    'CREDENTIAL_REVOKED',
    'iam',
    'the token was revoked, or its holder, their password or their permission has changed; obtain a new one',
  ],
  [
    'ADDRESS_NOT_ALLOWED',
    'iam',
    'the account restricts client addresses, and this one is not among those allowed',
  ],
])('%s on %s says what is wrong and what would be right', (reason, api, message) => {
  expect(engine.deny(api, reason)).toMatchObject({ reason, message })
})

test.each<[reason: string, engine: Engine, question: Partial<Question>, message: string]>([
  ['UNKNOWN_API', engine, { api: 'no-such-api' }, 'the api id is not in the matrix'],
  [
    'UNKNOWN_TOKEN_KIND',
    engine,
    { kind: 'no_such_kind' },
    'the token kind is not in the matrix; expected `iam_token_account_scoped`, `iam_token_project_scoped` or `static_token`',
  ],
  [
    'INVALID_SCOPE',
    engine,
    { scope: { account: '' } },
    'the scope does not fit an account-scoped IAM token: expected an account and no project',
  ],
  [
    'INVALID_SCOPE',
    engine,
    { kind: PROJECT_KIND, scope: { account: '123456' } },
    'the scope does not fit a project-scoped IAM token: expected an account and a project',
  ],
  [
    'TOKEN_KIND_NOT_ACCEPTED',
    engine,
    { api: 'tickets' },
    '`tickets` does not accept an account-scoped IAM token; it accepts a static token in `X-Token`',
  ],
  [
    'CONTESTED',
    strictEngine,
    { api: 'audit-logs' },
    'strict mode: the source contradicts itself on whether `audit-logs` accepts an account-scoped IAM token; no kind of token opens `audit-logs`',
  ],
  [
    'CONTESTED',
    strictEngine,
    { api: 'mobile-farm', kind: PROJECT_KIND },
    'strict mode: the source contradicts itself on whether `mobile-farm` accepts a project-scoped IAM token; without doubt it accepts an account-scoped IAM token in `X-Auth-Token`',
  ],
  [
    'ACCOUNT_MISMATCH',
    engine,
    { target: { account: '654321' } },
    'the target of `iam` belongs to another account than the token, or to none',
  ],
  [
    'PROJECT_MISMATCH',
    engine,
    { api: 'cdn', kind: PROJECT_KIND, target: { account: '123456' } },
    'the token is bound to one project, and the target of `cdn` is in another or in none',
  ],
  ['ALLOWED', engine, {}, '`iam` accepts an account-scoped IAM token in `X-Auth-Token`'],
])('%s says what is wrong and what would be right', (reason, asked, question, message) => {
  const { api = 'iam', kind = ACCOUNT_KIND, scope = scopeFor(kind), target } = question
  expect(asked.decide({ api, kind, scope, target })).toMatchObject({ reason, message })
})

test('the message says that the prose rules that no kind opens an API', () => {
  // Audit logs without the account-scoped token: the two conflicts about it, each the other way round (§5.4
  // note 2).
  const denial = compileForProse('audit-logs-account-omission').decide({
    api: 'audit-logs',
    kind: STATIC_KIND,
    scope: scopeFor(STATIC_KIND),
  })
  expect(denial.message).toBe(
    '`audit-logs` does not accept a static token; no kind of token opens `audit-logs`',
  )
})

test('the message about a malformed credential shows each scheme of tokens once', () => {
  const [day, ...others] = smallMatrix().tokenKinds as readonly TokenKind[] as [TokenKind, ...TokenKind[]]
  const bearer = { ...day, header: 'Authorization', scheme: 'Bearer' }
  const tokenKinds = [bearer, ...others, { ...bearer, id: 'night_pass' }]
  expect(compile({ ...smallMatrix(), tokenKinds }).deny('lobby', 'CREDENTIAL_MALFORMED').message).toMatch(
    /without spaces, after its scheme as in `Authorization: Bearer`$/,
  )
})

test('a decision has the scheme of its kind; none where the kind has none or is not known', () => {
  const [day, ...others] = smallMatrix().tokenKinds as readonly TokenKind[] as [TokenKind, ...TokenKind[]]
  const tokenKinds = [{ ...day, header: 'Authorization', scheme: 'Bearer' }, ...others]
  const house = compile({ ...smallMatrix(), tokenKinds })
  const schemes = ['day_pass', 'room_key', 'nothing'].map((kind) => {
    const { header, scheme } = house.decide({ api: 'lobby', kind, scope: { account: 'house' } })
    return [header, scheme]
  })
  expect(schemes).toEqual([
    ['Authorization', 'Bearer'],
    ['X-Room-Key', ''],
    ['', ''],
  ])
})

test.each<[name: string, known: string[], meant: string[]]>([
  ['cdm', ['dns', 'cdn', 'iam'], ['cdn']],
  ['CDN', ['cdn'], ['cdn']],
  // Of three characters or fewer, one slip; of more, two.
  ['cmm', ['cdn'], []],
  ['cdnxx', ['cdn'], []],
  ['cdns', ['cdn'], ['cdn']],
  ['cd', ['cdns'], []],
  ['lgxx', ['logs'], []],
  ['lobxx', ['lobby'], ['lobby']],
  ['lobbyxx', ['lobby'], ['lobby']],
  ['lobbyxxx', ['lobby'], []],
  ['lo', ['lobby'], []],
  ['loxxx', ['lobby'], []],
  ['', ['lobby', 'a'], ['a']],
  ['a', [''], ['']],
  ['obbyl', ['lobby'], ['lobby']],
  // A text before the common part, in either of the two, counts as well.
  ['bbyaa', ['lobby'], []],
  ['lobby', ['bbyaa'], []],
  ['yz', ['aby'], []],
  // The nearest first, and of equals the first.
  ['lobbi', ['lobxi', 'lobbi', 'lobb', 'lxbbx'], ['lobbi', 'lobxi', 'lobb', 'lxbbx']],
])('`%s` among %j: meant is %j', (name, known, meant) => {
  expect(namesMeant(name, known)).toEqual(meant)
})

test('every message is one sentence in lower case without a final period', () => {
  for (const decision of [...engine.decisions(), ...strictEngine.decisions()])
    expect(decision.message).toMatch(/^[a-z`][^\n]*[^.\s]$/)
})

test('no message of a denial for a credential repeats the id that was asked for unless the matrix has it', () => {
  for (const reason of CREDENTIAL_REASONS)
    expect(engine.deny('canary-api', reason).message).not.toContain('canary')
})
