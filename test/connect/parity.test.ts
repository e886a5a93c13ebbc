/**
 * The same calls over gRPC and in every form of HTTP have the same outcome: answers, errors and their
 * details. The clients are those of Connect.
 */
import type { JsonObject } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { FORMS, type Form, outcomeOf, transportOf } from '../support/contract/contract.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const running = await runSidecar({ flags: { 'http.address': '127.0.0.1:0', 'http.connect': true } })
const secrets = await populate(running)
const { value: iamToken } = await issued(running, secrets)
const addresses = { grpc: running.address, http: running.sidecar.httpAddress ?? '' }
const grpc = transportOf('gRPC', addresses)
const others = new Map<Form, Transport>(FORMS.map((form) => [form, transportOf(form, addresses)]))

const scope = { account: ACCOUNT }
const password = { userName: 'account', account: ACCOUNT, password: secrets.passwordOf('account') }
const about = (name: string, value: string) => ({
  api: 'balance',
  credentials: { headers: [{ name, value }] },
})
const NOBODY = { authorization: `Bearer ${'nobody'.repeat(8)}` }
const USER = { 'x-auth-token': iamToken }

/** Calls that change nothing, so that each can be made again and again. */
const CALLS: [claim: string, method: string, input: JsonObject, headers?: Record<string, string>][] = [
  ['a check of an IAM token', 'Check', about('X-Auth-Token', iamToken)],
  ['a check of an invalid token', 'Check', about('X-Auth-Token', 'nobody')],
  ['an empty check', 'Check', {}],
  ['a check with an invalid address', 'Check', { ...about('x', 'y'), clientAddress: 'here' }],
  ['a check for an empty target', 'Check', { ...about('x', 'y'), target: {} }],
  ['a batch', 'CheckBatch', { checks: [about('X-Token', secrets.staticToken), about('X-Token', 'x')] }],
  ['an empty batch', 'CheckBatch', {}],
  ['a batch with a bad check', 'CheckBatch', { checks: [about('x', 'y'), {}] }],
  ['a batch that is too long', 'CheckBatch', { checks: Array.from({ length: 1001 }, () => ({})) }],
  ['a plan', 'Plan', { apis: ['balance', 'cdn'] }],
  ['a plan for nothing', 'Plan', {}],
  ['the matrix', 'GetMatrix', {}],
  ['a login without a password', 'Issue', { password: { ...password, password: '' }, scope }],
  ['a login with a wrong password', 'Issue', { password: { ...password, password: 'wrong' }, scope }],
  ['a token by a profile, for an unknown caller', 'Issue', { profile: 'job', scope }],
  ['a token by a profile, for a wrong caller', 'Issue', { profile: 'job', scope }, NOBODY],
  ['a revocation of nothing', 'Revoke', {}],
  ['a revocation by an unknown caller', 'Revoke', { tokenId: 'A'.repeat(22) }],
  ['a revocation by a wrong caller', 'Revoke', { tokenId: 'A'.repeat(22) }, NOBODY],
  ['accounts, for an unknown caller', 'ListAccounts', {}],
  ['accounts, for a wrong caller', 'ListAccounts', {}, NOBODY],
  ['accounts, for a user', 'ListAccounts', {}, USER],
  ['another account', 'GetAccount', { account: '1' }, USER],
  ['a page of no list', 'ListProjects', { account: ACCOUNT, pageToken: 'x' }, USER],
]

describe.each(FORMS)('%s', (form) => {
  const transport = others.get(form) as Transport

  test.each(CALLS)('%s', async (_claim, method, input, headers) => {
    const expected = await outcomeOf(grpc, method, input, headers)
    expect(await outcomeOf(transport, method, input, headers)).toEqual(expected)
  })

  test('a token is issued, verified and revoked', async () => {
    const issuance = await outcomeOf(transport, 'Issue', { password, scope })
    const { value } = 'answer' in issuance ? issuance.answer : {}
    const question = about('X-Auth-Token', value as string)
    expect(await outcomeOf(grpc, 'Check', question)).toMatchObject({ answer: { allowed: true } })
    expect(await outcomeOf(transport, 'Revoke', { value: value as string })).toHaveProperty('answer')
    expect(await outcomeOf(transport, 'Check', question)).toMatchObject({
      answer: { allowed: false, reason: 'REASON_CREDENTIAL_REVOKED' },
    })
  })
})

test('the rows have answers and errors of many kinds', async () => {
  const outcomes = await Promise.all(CALLS.map(([, ...call]) => outcomeOf(grpc, ...call)))
  const kinds = new Set(outcomes.map((outcome) => ('error' in outcome ? outcome.error : 'answer')))
  expect([...kinds].sort()).toEqual(['InvalidArgument', 'PermissionDenied', 'Unauthenticated', 'answer'])
})
