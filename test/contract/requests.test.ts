/**
 * Invalid requests: each violation is reported with the path of its field, alone and together with others.
 */
import { describe, expect, test } from 'vitest'
import { BlackBox, encoded, invalid, type Message, refused } from '../support/contract/black-box.ts'
import { field, joined } from '../support/contract/protobuf-bytes.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'

const box = new BlackBox((await runSidecar()).address)

type Violation = readonly [field: string, expected: string]
const SUBJECT_NEITHER: Violation = ['subject', 'expected exactly one of credentials and token, found neither']
const SUBJECT_BOTH: Violation = ['subject', 'expected exactly one of credentials and token, found both']
const API: Violation = ['api', 'expected the id of an API']
const TARGET: Violation = ['target.account', 'expected the account that owns the resource']
const ADDRESS: Violation = ['client_address', 'expected an IPv4 or IPv6 address']

const token = { kind: 'static_token', scope: { account: ACCOUNT } }
const good: Message = { api: 'balance', token }
const both = joined(encoded('CheckRequest', good), encoded('CheckRequest', { credentials: {} }))

const CHECKS: [claim: string, question: Message | Buffer, violations: Violation[]][] = [
  ['nothing at all', {}, [API, SUBJECT_NEITHER]],
  ['no api', { token }, [API]],
  ['neither credentials nor a token', { api: 'balance' }, [SUBJECT_NEITHER]],
  ['both credentials and a token', both, [SUBJECT_BOTH]],
  [
    'both, in the other order',
    joined(encoded('CheckRequest', { credentials: {} }), encoded('CheckRequest', good)),
    [SUBJECT_BOTH],
  ],
  ['a target without an account', { ...good, target: {} }, [TARGET]],
  ['a target with a project but no account', { ...good, target: { project: 'alpha' } }, [TARGET]],
  ['a client address that is a name', { ...good, client_address: 'localhost' }, [ADDRESS]],
  ['every fault together', { target: {}, client_address: 'x' }, [API, SUBJECT_NEITHER, TARGET, ADDRESS]],
]
const at = (path: string, violations: readonly Violation[]) =>
  invalid(...violations.map(([field, expected]) => [`${path}${field}`, expected] as const))
const asBytes = (question: Message | Buffer) =>
  Buffer.isBuffer(question) ? question : encoded('CheckRequest', question)

describe.each(CHECKS)('a check with %s is refused', (_claim, question, violations) => {
  test('alone', async () => {
    expect(await refused(box.ask('check', question))).toEqual(at('', violations))
  })

  test('in a batch, with its index', async () => {
    const checks = [encoded('CheckBatchRequest', { checks: [good, good] })]
    const batch = joined(
      ...checks,
      field(1, asBytes(question)),
      encoded('CheckBatchRequest', { checks: [good] }),
    )
    expect(await refused(box.ask('checkBatch', batch))).toEqual(at('checks[2].', violations))
  })
})

test('each of them ends a stream, after the answers to the checks before it', async () => {
  for (const [, question, violations] of CHECKS) {
    const stream = box.converse('checkStream')
    stream.write({ id: 'one', check: good })
    stream.write(field(2, asBytes(question)))
    stream.end({ id: 'three', check: good })
    const ids: unknown[] = []
    const answers = (async () => {
      for await (const { id } of stream as AsyncIterable<Message>) ids.push(id)
    })()
    expect(await refused(answers)).toEqual(at('check.', violations))
    expect(ids).toEqual(['one'])
  }
})

const password = { user_name: 'account', account: ACCOUNT, password: 'secret' }
const login: Message = { password, scope: { account: ACCOUNT } }
const REQUESTER: Violation = ['requester', 'expected exactly one of password and profile']
const PURPOSE: Violation = ['purpose', 'expected exactly one of scope and apis']
const REVOKED: Violation = ['token', 'expected exactly one of value and token_id, not empty']
const APIS_MAX = 10_000

test.each<[claim: string, method: string, request: Message | Buffer, violations: Violation[]]>([
  ['a stream message without a check', 'checkStream', { id: 'one' }, [['check', 'expected a check']]],
  ['an empty issue', 'issue', {}, [REQUESTER, PURPOSE]],
  ['an issue without a requester', 'issue', { scope: { account: ACCOUNT } }, [REQUESTER]],
  ['an issue without a purpose', 'issue', { password }, [PURPOSE]],
  [
    'an issue with both requesters',
    'issue',
    joined(encoded('IssueRequest', login), encoded('IssueRequest', { profile: 'job' })),
    [REQUESTER],
  ],
  [
    'an issue with both purposes',
    'issue',
    joined(encoded('IssueRequest', { apis: { apis: ['iam'] } }), encoded('IssueRequest', login)),
    [PURPOSE],
  ],
  [
    'an issue by a profile without a name',
    'issue',
    { ...login, password: undefined, profile: '' },
    [['profile', 'expected the name of a profile']],
  ],
  [
    'an issue with an empty login',
    'issue',
    { ...login, password: {} },
    [
      ['password.user_name', 'expected the name of the service user'],
      ['password.account', 'expected the account number'],
      ['password.password', 'expected the password of the service user'],
    ],
  ],
  [
    'an issue with a password beyond the limit',
    'issue',
    { ...login, password: { ...password, password: 'x'.repeat(1025) } },
    [['password.password', 'expected at most 1024 characters']],
  ],
  [
    'an issue for an empty scope',
    'issue',
    { password, scope: {} },
    [['scope.account', 'expected the account number']],
  ],
  [
    'an issue for a project without an account',
    'issue',
    { password, scope: { project: 'alpha' } },
    [['scope.account', 'expected the account number']],
  ],
  [
    'an issue for no APIs',
    'issue',
    { password, apis: {} },
    [['apis.apis', 'expected 1 to 10000 ids of APIs, found 0']],
  ],
  ['an empty revocation', 'revoke', {}, [REVOKED]],
  ['a revocation of an empty value', 'revoke', { value: '' }, [REVOKED]],
  [
    'a revocation by an invalid id',
    'revoke',
    { token_id: 'short' },
    [['token_id', 'expected a token id: 22 characters of base64url']],
  ],
  [
    'a revocation by value and by id',
    'revoke',
    joined(encoded('RevokeRequest', { value: 'a' }), encoded('RevokeRequest', { token_id: 'b'.repeat(22) })),
    [REVOKED],
  ],
  ['a plan for no APIs', 'plan', {}, [['apis', 'expected 1 to 10000 ids of APIs, found 0']]],
  [
    'a plan for too many APIs',
    'plan',
    { apis: Array.from({ length: APIS_MAX + 1 }, () => 'iam') },
    [['apis', 'expected 1 to 10000 ids of APIs, found 10001']],
  ],
  [
    'a plan for unknown APIs',
    'plan',
    { apis: ['iam', 'nothing', 'cdn', 'IAM'] },
    [
      ['apis[1]', 'expected the id of an API of the matrix'],
      ['apis[3]', 'expected the id of an API of the matrix'],
    ],
  ],
])('%s is refused', async (_claim, method, request, violations) => {
  const asking = method === 'checkStream' ? streamed(request) : box.ask(method, request)
  expect(await refused(asking)).toEqual(invalid(...violations))
})

test('of many violations only the first ones are named, with the number of the others, because trailers are limited', async () => {
  const refusal = await refused(
    box.ask('plan', { apis: Array.from({ length: 10_000 }, (_, n) => `none-${n}`) }),
  )
  expect(refusal.violations).toHaveLength(20)
  expect(refusal.message).toMatch(/^apis\[0\]: .*; apis\[19\]: .*; and 9980 more$/)
})

async function streamed(request: Message | Buffer): Promise<void> {
  const stream = box.converse('checkStream')
  stream.end(request)
  for await (const answer of stream) throw new Error(`expected no answer, found ${JSON.stringify(answer)}`)
}

test('a batch of 1,000 checks is answered in order, and one of 1,001 is refused', async () => {
  const checks = Array.from({ length: 1_001 }, (_, index) => ({
    ...good,
    api: index % 2 ? 'balance' : 'iam',
  }))
  const { results } = await box.ask('checkBatch', { checks: checks.slice(1) })
  expect((results as Message[]).map(({ allowed }) => allowed)).toEqual(
    checks.slice(1).map(({ api }) => api === 'balance'),
  )
  expect(await refused(box.ask('checkBatch', { checks }))).toEqual(
    invalid(['checks', 'expected at most 1000 checks, found 1001']),
  )
})
