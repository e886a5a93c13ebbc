/**
 * `POST /access/v1/evaluation`: the decision is that of Check, whatever is asked, and the context explains
 * it.
 */
import { describe, expect, test } from 'vitest'
import { ACCOUNT } from '../support/identity/identity.ts'
import { api, CALL, credential, EVALUATION, startAuthzen, token } from '../support/proxies/authzen.ts'

const sidecar = await startAuthzen()
const { post, credentials, running } = sidecar
const { engine } = running.sidecar.rules
const APIS = [...engine.apis.keys(), 'nothing']
const KINDS = [...engine.tokenKinds.keys(), 'nothing']
const evaluate = async (subject: object, resource: object, more: object = {}) => {
  const { status, json } = await post(EVALUATION, { subject, action: CALL, resource, ...more })
  expect([status, typeof json.decision, typeof json.context]).toEqual([200, 'boolean', 'object'])
  return json
}

describe('a kind without an account', () => {
  test('opens what the matrix says, for each cell', async () => {
    for (const kind of KINDS)
      for (const id of APIS) {
        const accepted = engine.apis.get(id)?.accepted.some((each) => each.kind === kind) ?? false
        expect([kind, id, (await evaluate(token(kind), api(id))).decision]).toEqual([kind, id, accepted])
      }
  })

  test('opens no API of an account', async () => {
    for (const kind of engine.tokenKinds.keys()) {
      const { decision, context } = await evaluate(token(kind), api('balance', { account: ACCOUNT }))
      expect([decision, context.reason]).toEqual([false, 'INVALID_SCOPE'])
    }
  })
})

test.each<[claim: string, changed: object, reason: string]>([
  ['a resource that is not an API', { resource: { type: 'book', id: 'balance' } }, 'UNKNOWN_RESOURCE_TYPE'],
  [
    'a resource with its own properties',
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
    ['with others', { host: 'a.example', accept: ['a', 'b'], [name]: value }, 'ALLOWED'],
    ['in a list', { [name]: [value] }, 'ALLOWED'],
    ['twice', { [name]: [value, value] }, 'CREDENTIAL_AMBIGUOUS'],
    ['two tokens', { ...credentials.account, ...credentials.static }, 'CREDENTIAL_AMBIGUOUS'],
    ['in one that is never read', { authorization: `Bearer ${value}` }, 'CREDENTIAL_MISSING'],
    ['empty', { [name]: [] }, 'CREDENTIAL_MISSING'],
  ])('%s: %s', async (_claim, headers, reason) => {
    const subject = { type: 'credential', id: 'request 1', properties: { headers } }
    expect((await evaluate(subject, api('balance'))).context.reason).toBe(reason)
  })
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
