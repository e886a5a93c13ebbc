/** The scope of a token, and the owner of the target (§1, DESIGN §5 scope rules). */
import { expect, test } from 'vitest'
import type { Scope } from '../../engine/index.ts'
import { throwingGetters } from '../support/inputs/hostile-values.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND } from '../support/matrices/engines.ts'
import { scopeFor } from '../support/matrices/oracle.ts'

const ACCOUNT_EXPECTED =
  'the scope does not fit an account-scoped IAM token: expected an account and no project'
const PROJECT_EXPECTED =
  'the scope does not fit a project-scoped IAM token: expected an account and a project'

test.each<[claim: string, kind: string, scope: unknown, message: string]>([
  ['a project-bound kind without a project', PROJECT_KIND, { account: '123456' }, PROJECT_EXPECTED],
  ['a project that is empty', PROJECT_KIND, { account: '123456', project: '' }, PROJECT_EXPECTED],
  ['a project that is null', PROJECT_KIND, { account: '123456', project: null }, PROJECT_EXPECTED],
  ['a project without an account', PROJECT_KIND, { project: 'alpha' }, PROJECT_EXPECTED],
  ['an account-bound kind with a project', ACCOUNT_KIND, scopeFor(PROJECT_KIND), ACCOUNT_EXPECTED],
  ['an account-bound kind, project null', ACCOUNT_KIND, { account: '1', project: null }, ACCOUNT_EXPECTED],
  ['an account that is empty', ACCOUNT_KIND, { account: '' }, ACCOUNT_EXPECTED],
  ['an account that is a number', ACCOUNT_KIND, { account: 123456 }, ACCOUNT_EXPECTED],
  ['an account in a list', ACCOUNT_KIND, { account: ['123456'] }, ACCOUNT_EXPECTED],
  ['no scope at all', ACCOUNT_KIND, undefined, ACCOUNT_EXPECTED],
  ['a scope that is null', ACCOUNT_KIND, null, ACCOUNT_EXPECTED],
  ['a scope that is a string', ACCOUNT_KIND, '123456', ACCOUNT_EXPECTED],
])('%s is an invalid scope', (_claim, kind, scope, message) => {
  const denial = engine.decide({ api: 'dedicated-servers', kind, scope: scope as Scope })
  expect(denial).toMatchObject({ allowed: false, reason: 'INVALID_SCOPE', message })
})

test.each<[claim: string, kind: string, target: unknown]>([
  ['an account-scoped token opens its account', ACCOUNT_KIND, { account: '123456' }],
  ['an account-scoped token opens any project of it', ACCOUNT_KIND, { account: '123456', project: 'beta' }],
  ['a project-scoped token opens its project', PROJECT_KIND, { account: '123456', project: 'alpha' }],
  ['without a target only the matrix is asked', PROJECT_KIND, undefined],
])('%s', (_claim, kind, target) => {
  expect(decideOn(kind, target)).toMatchObject({ allowed: true, reason: 'ALLOWED' })
})

const OTHER_ACCOUNT =
  'the target of `dedicated-servers` belongs to another account than the token, or to none'
const OTHER_PROJECT =
  'the token is bound to one project, and the target of `dedicated-servers` is in another or in none'

test.each<[claim: string, kind: string, target: unknown]>([
  ['another project is closed', PROJECT_KIND, { account: '123456', project: 'beta' }],
  ['a resource outside of projects is closed', PROJECT_KIND, { account: '123456' }],
  ['names of projects are compared byte for byte', PROJECT_KIND, { account: '123456', project: 'Alpha' }],
])('to a project-scoped token %s', (_claim, kind, target) => {
  expect(decideOn(kind, target)).toMatchObject({
    allowed: false,
    reason: 'PROJECT_MISMATCH',
    message: OTHER_PROJECT,
  })
})

// A target that cannot be read does not belong to an account or project of the token.
test.each<[claim: string, kind: string, target: unknown]>([
  ['another account is closed', ACCOUNT_KIND, { account: '654321' }],
  ['a project of that name elsewhere is closed', PROJECT_KIND, { account: '654321', project: 'alpha' }],
  ['a target that is null is closed', ACCOUNT_KIND, null],
  ['a target without an account is closed', ACCOUNT_KIND, { project: 'alpha' }],
  ['a target with an empty project is closed', ACCOUNT_KIND, { account: '123456', project: '' }],
  ['a target with a list for an account is closed', ACCOUNT_KIND, { account: ['123456'] }],
])('to a token of account 123456 %s', (_claim, kind, target) => {
  expect(decideOn(kind, target)).toMatchObject({
    allowed: false,
    reason: 'ACCOUNT_MISMATCH',
    message: OTHER_ACCOUNT,
  })
})

test('the target is not read where the scope is invalid', () => {
  const target = throwingGetters('account', 'project') as Scope
  const question = { api: 'iam', kind: ACCOUNT_KIND, scope: { account: '' }, target }
  expect(engine.decide(question).reason).toBe('INVALID_SCOPE')
})

function decideOn(kind: string, target: unknown) {
  return engine.decide({
    api: 'dedicated-servers',
    kind,
    scope: scopeFor(kind),
    target: target as Scope | undefined,
  })
}
