/**
 * `POST /access/v1/evaluation`: the decision is that of Check, whatever is asked, and the context explains
 * it.
 */
import { describe, expect, test } from 'vitest'
import { REASONS } from '../../engine/index.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/identity/identity.ts'
import {
  api,
  CALL,
  credential,
  EVALUATION,
  type Owner,
  startAuthzen,
  token,
} from '../support/proxies/authzen.ts'
import { TESTER } from '../support/sidecar/actor.ts'

const sidecar = await startAuthzen()
const { post, credentials, running, ask } = sidecar
const { engine } = running.sidecar.rules
const APIS = [...engine.apis.keys(), 'nothing']
const KINDS = [...engine.tokenKinds.keys(), 'nothing']
const TARGETS: readonly (Owner | undefined)[] = [
  undefined,
  { account: ACCOUNT },
  { account: ACCOUNT, project: 'alpha' },
  { account: ACCOUNT, project: 'beta' },
  { account: OTHER_ACCOUNT },
]

const evaluate = async (subject: object, resource: object, more: object = {}) => {
  const { status, json } = await post(EVALUATION, { subject, action: CALL, resource, ...more })
  expect([status, typeof json.decision, typeof json.context]).toEqual([200, 'boolean', 'object'])
  return json
}

describe('as Check decides', () => {
  test.each(Object.keys(credentials) as (keyof typeof credentials)[])(
    'about each API and target, with the credential: %s',
    async (name) => {
      const headers = Object.entries(credentials[name]) as [string, string][]
      for (const id of APIS)
        for (const target of id === 'managed-kubernetes' || id === 'balance' ? TARGETS : [undefined]) {
          const { allowed, ...expected } = await running.client.check({
            api: id,
            credentials: headers,
            ...(target && { target }),
          })
          const { decision, context } = await evaluate(credential(credentials[name]), api(id, target))
          expect([decision, context.reason, context.message, context.verified]).toEqual([
            allowed,
            expected.reason,
            expected.message,
            expected.verified,
          ])
          expect(context.accepted).toEqual(expected.accepted)
          expect(context.conflicts).toEqual(expected.conflicts.map((conflict) => conflict.id))
          expect(context.token?.token_id).toBe(expected.token?.tokenId)
        }
    },
  )

  test('about each kind, API and target, with claims', async () => {
    for (const kind of KINDS)
      for (const scope of [{ account: ACCOUNT }, { account: ACCOUNT, project: 'alpha' }])
        for (const id of ['balance', 'managed-kubernetes', 'audit-logs', 'nothing'])
          for (const target of TARGETS) {
            const expected = engine.decide({ api: id, kind, scope, target })
            const { decision, context } = await evaluate(token(kind, scope), api(id, target))
            expect([decision, context.reason]).toEqual([expected.allowed, expected.reason])
            expect(context).toMatchObject({ verified: false, cache_for_ms: 5000 })
          }
  })
})

describe('a kind without an account', () => {
  test('opens what the matrix says, for each cell', async () => {
    for (const kind of KINDS)
      for (const id of APIS) {
        const accepted = engine.apis.get(id)?.accepted.some((each) => each.kind === kind) ?? false
        expect([kind, id, (await evaluate(token(kind), api(id))).decision]).toEqual([kind, id, accepted])
      }
  })

  test('opens nothing that belongs to somebody', async () => {
    for (const kind of engine.tokenKinds.keys()) {
      const { decision, context } = await evaluate(token(kind), api('balance', { account: ACCOUNT }))
      expect([decision, context.reason]).toEqual([false, 'INVALID_SCOPE'])
    }
  })
})

test.each<[claim: string, changed: object, reason: string]>([
  ['a resource that is no API', { resource: { type: 'book', id: 'balance' } }, 'UNKNOWN_RESOURCE_TYPE'],
  [
    'a resource with properties of its own',
    { resource: { type: 'book', id: '1', properties: { account: 1 } } },
    'UNKNOWN_RESOURCE_TYPE',
  ],
  ['an action of others', { action: { name: 'can_read' } }, 'UNKNOWN_ACTION'],
  ['the action in other letters', { action: { name: 'Call' } }, 'UNKNOWN_ACTION'],
  ['a user', { subject: { type: 'user', id: 'alice@example.com' } }, 'UNKNOWN_SUBJECT_TYPE'],
  ['an API in other letters', { resource: api('Balance') }, 'UNKNOWN_API'],
  ['an empty id', { resource: api('') }, 'UNKNOWN_API'],
  ['a kind of others', { subject: token('user') }, 'UNKNOWN_TOKEN_KIND'],
  ['a kind that is a name of JavaScript', { subject: token('__proto__') }, 'UNKNOWN_TOKEN_KIND'],
])('%s is denied: %s', async (_claim, changed, reason) => {
  const question = { subject: token('static_token'), action: CALL, resource: api('balance'), ...changed }
  const { status, json } = await post(EVALUATION, question)
  expect([status, json.decision, json.context.reason]).toEqual([200, false, reason])
  expect(json.context.message).toMatch(/\w/)
  expect(json.context.rules_digest).toBe(engine.rulesDigest)
})

test('a permission says by which rules, about which token, and for how long', async () => {
  const { decision, context } = await evaluate(
    credential(credentials.project),
    api('managed-kubernetes', { account: ACCOUNT, project: 'alpha' }),
  )
  expect(decision).toBe(true)
  expect(context).toEqual({
    reason: 'ALLOWED',
    message: expect.any(String),
    header: 'X-Auth-Token',
    accepted: [],
    conflicts: [],
    advice: [],
    digest: engine.digest,
    strict: false,
    rules_digest: engine.rulesDigest,
    verified: true,
    token: {
      kind: 'iam_token_project_scoped',
      scope: { account: ACCOUNT, project: 'alpha' },
      subject: { id: expect.any(String), name: 'alpha', type: 'service_user' },
      token_id: expect.any(String),
      issued_at: expect.stringMatching(/^\d{4}-.*Z$/),
      expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
    },
    cache_for_ms: 5000,
  })
})

test('an answer about a faulty credential may not be reused', async () => {
  const { context } = await evaluate(credential(credentials.forged), api('balance'))
  expect(context).toMatchObject({ reason: 'CREDENTIAL_INVALID', verified: false })
  expect(context).not.toHaveProperty('cache_for_ms')
})

describe('headers are those of the request', () => {
  const [[name = '', value = '']] = Object.entries(credentials.static) as [[string, string]]
  test.each<[claim: string, headers: object, reason: string]>([
    ['in any case', { [name.toUpperCase()]: value }, 'ALLOWED'],
    ['with others', { host: 'a.example', accept: ['a', 'b'], [name]: value }, 'ALLOWED'],
    ['in a list', { [name]: [value] }, 'ALLOWED'],
    ['twice', { [name]: [value, value] }, 'CREDENTIAL_AMBIGUOUS'],
    ['under two spellings', { [name]: value, [name.toLowerCase()]: value }, 'CREDENTIAL_AMBIGUOUS'],
    ['two tokens', { ...credentials.account, ...credentials.static }, 'CREDENTIAL_AMBIGUOUS'],
    ['in the wrong one', { 'X-Auth-Token': value }, 'WRONG_HEADER'],
    ['in one that is never read', { authorization: `Bearer ${value}` }, 'CREDENTIAL_MISSING'],
    ['with a space', { [name]: `a ${value}` }, 'CREDENTIAL_MALFORMED'],
    ['empty', { [name]: [] }, 'CREDENTIAL_MISSING'],
  ])('%s: %s', async (_claim, headers, reason) => {
    const subject = { type: 'credential', id: 'request 1', properties: { headers } }
    expect((await evaluate(subject, api('balance'))).context.reason).toBe(reason)
  })
})

test('an account that restricts addresses is asked about the address of the context alone', async () => {
  const restrict = (...ranges: string[]) =>
    running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges })
  const reasonAt = async (context?: object) =>
    (await evaluate(credential(credentials.account), api('balance'), context && { context })).context.reason
  await restrict('203.0.113.0/24', '127.0.0.0/8')
  expect(await reasonAt({ client_address: '203.0.113.9' })).toBe('ALLOWED')
  expect(await reasonAt({ client_address: '198.51.100.1' })).toBe('ADDRESS_NOT_ALLOWED')
  // The enforcement point itself asks from an allowed one.
  expect(await reasonAt({ ip: '203.0.113.9' })).toBe('ADDRESS_NOT_ALLOWED')
  expect(await reasonAt()).toBe('ADDRESS_NOT_ALLOWED')
  await restrict()
})

test('a revoked token is denied by the next answer', async () => {
  const value = await sidecar.tokenFor({})
  const asking = () => evaluate(credential({ 'X-Auth-Token': value }), api('balance'))
  const { context } = await asking()
  expect(context).toMatchObject({ reason: 'ALLOWED', verified: true, cache_for_ms: 5000 })
  await ask({
    method: 'DELETE',
    path: '/identity/v3/auth/tokens',
    headers: { 'x-auth-token': value, 'x-subject-token': value },
  })
  const { decision, context: later } = await asking()
  expect([decision, later.reason, later.verified]).toEqual([false, 'CREDENTIAL_REVOKED', false])
  // It says whose it was, and is not for another time.
  expect(later.token.token_id).toBe(context.token.token_id)
  expect(later).not.toHaveProperty('cache_for_ms')
})

test('strict mode decides here too', async () => {
  const strict = await startAuthzen({ flags: { strict: true } })
  const { json } = await strict.post(EVALUATION, {
    subject: token('iam_token_project_scoped'),
    action: CALL,
    resource: api('cdn'),
  })
  expect(json).toMatchObject({ decision: false, context: { reason: 'CONTESTED', strict: true } })
  expect(REASONS).toContain(json.context.reason)
})

describe('the shapes of the certification profile', () => {
  const alice = token('iam_token_account_scoped')
  const question = { subject: alice, action: CALL, resource: api('balance') }
  test.each<[claim: string, body: object, decision: boolean]>([
    ['identifiers alone, permitted', question, true],
    ['identifiers alone, denied', { ...question, subject: token('iam_token_project_scoped') }, false],
    ['a context', { ...question, context: { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' } }, true],
    [
      'further properties',
      {
        subject: { ...alice, properties: { department: 'Sales', role: 'manager' } },
        action: { ...CALL, properties: { method: 'GET' } },
        resource: { ...api('balance'), properties: { status: 'active', owner: 'bob' } },
      },
      true,
    ],
    ['unknown fields', { ...question, foo: 'bar', futureField: { nested: true }, evaluations: 5 }, true],
    ['its members in another order', Object.fromEntries(Object.entries(question).reverse()), true],
  ])('%s', async (_claim, body, decision) => {
    for (let time = 0; time < 3; time++) expect((await post(EVALUATION, body)).json.decision).toBe(decision)
  })
})
