/**
 * `POST /access/v1/evaluations`: defaults, the three semantics, and the result of an evaluation that fails.
 */
import { describe, expect, test } from 'vitest'
import type { Verification } from '../../sidecar/authority/authority.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import { type Asked, answerEvaluations } from '../../sidecar/http/authzen/evaluations.ts'
import { httpErrorOf } from '../../sidecar/http/http-error.ts'
import { api, CALL, credential, EVALUATIONS, startAuthzen, token } from '../support/proxies/authzen.ts'
import { working } from '../support/suite/resources.ts'

const EVALUATIONS_MAX = 20
const { post, credentials, running } = await startAuthzen({
  flags: { 'grpc.max_batch_length': EVALUATIONS_MAX },
})
const { engine } = running.sidecar.rules

const alice = token('iam_token_account_scoped')
const bob = token('static_token')
/** The resource that the subject may call. */
const YES = { resource: api('balance') }
const NO = { resource: api('managed-kubernetes') }

const decisionsOf = async (body: object) => {
  const { status, json } = await post(EVALUATIONS, body)
  expect([status, 'decision' in json]).toEqual([200, false])
  return json.evaluations.map(({ decision }: { decision: boolean }) => decision)
}

test.each<[claim: string, body: object, decisions: boolean[]]>([
  [
    'each item whole',
    {
      evaluations: [
        { subject: alice, action: CALL, ...YES },
        { subject: bob, action: CALL, ...NO },
      ],
    },
    [true, false],
  ],
  [
    'one subject and action for all',
    { subject: alice, action: CALL, evaluations: [YES, NO, YES] },
    [true, false, true],
  ],
  [
    'an empty item inherits everything',
    { subject: alice, action: CALL, ...YES, evaluations: [{}, NO] },
    [true, false],
  ],
  [
    'an item with its own action',
    { subject: alice, action: CALL, ...YES, evaluations: [{}, { action: { name: 'delete' } }] },
    [true, false],
  ],
  [
    'an item with its own subject',
    { subject: alice, action: CALL, resource: api('reports'), evaluations: [{}, { subject: bob }] },
    [false, true],
  ],
  [
    'an entity replaces its default whole',
    {
      subject: token('iam_token_account_scoped', { account: '1' }),
      action: CALL,
      resource: api('balance', { account: '2' }),
      evaluations: [
        {},
        { resource: api('balance', { account: '1' }) },
        { resource: api('balance') },
        { subject: alice },
      ],
    },
    [false, true, true, false],
  ],
  [
    'credentials beside claims',
    {
      subject: credential(credentials.static),
      action: CALL,
      evaluations: [YES, NO, { ...YES, subject: bob }],
    },
    [true, false, true],
  ],
  [
    'unknown fields and options',
    {
      subject: alice,
      action: CALL,
      foo: 1,
      evaluations: [{ ...YES, foo: 1 }],
      options: { another_option: 'value' },
    },
    [true],
  ],
])('%s', async (_claim, body, decisions) => {
  expect(await decisionsOf(body)).toEqual(decisions)
})

test('an item replaces the context whole, the address with it', async () => {
  const { json } = await post(EVALUATIONS, {
    subject: alice,
    action: CALL,
    ...YES,
    context: { client_address: '203.0.113.9' },
    evaluations: [{}, { context: {} }, { context: { client_address: 'nowhere' } }],
  })
  expect(json.evaluations.map(({ decision }: { decision: boolean }) => decision)).toEqual([true, true, false])
  expect(json.evaluations[2].context.error.message).toContain('evaluations[2].context.client_address')
})

describe('the semantics', () => {
  const body = { subject: alice, action: CALL }
  test.each<[semantic: string | undefined, evaluations: object[], decisions: boolean[]]>([
    [undefined, [YES, NO, YES], [true, false, true]],
    ['execute_all', [NO, NO, YES], [false, false, true]],
    ['deny_on_first_deny', [YES, NO, YES], [true, false]],
    ['deny_on_first_deny', [YES, YES], [true, true]],
    ['deny_on_first_deny', [NO, YES], [false]],
    ['deny_on_first_deny', [YES, {}, YES], [true, false]],
    ['permit_on_first_permit', [YES, NO, YES], [true]],
    ['permit_on_first_permit', [NO, {}, YES, NO], [false, false, true]],
    ['permit_on_first_permit', [NO, NO], [false, false]],
  ])('%s of %j', async (semantic, evaluations, decisions) => {
    const options = semantic === undefined ? {} : { options: { evaluations_semantic: semantic } }
    expect(await decisionsOf({ ...body, ...options, evaluations })).toEqual(decisions)
  })
})

test.each<[claim: string, evaluations: object]>([
  ['without the array', {}],
  ['with an empty one', { evaluations: [], options: 5 }],
])('%s it is one evaluation', async (_claim, evaluations) => {
  const { status, json } = await post(EVALUATIONS, { subject: alice, action: CALL, ...YES, ...evaluations })
  expect([status, json.decision, json.evaluations]).toEqual([200, true, undefined])
  const incomplete = await post(EVALUATIONS, { subject: alice, ...YES, ...evaluations })
  expect(incomplete.status).toBe(400)
})

describe('a fault of one evaluation is reported in its place', () => {
  test.each<[claim: string, item: unknown, message: string]>([
    ['it lacks a resource', {}, 'evaluations[1].resource: expected an object with `type` and `id`'],
    [
      'a resource without its id is not filled up',
      { resource: { type: 'api' } },
      'evaluations[1].resource.id: expected a string',
    ],
    [
      'its subject is a text',
      { subject: 'alice', ...YES },
      'evaluations[1].subject: expected an object with `type` and `id`',
    ],
    [
      'its subject is null',
      { subject: null, ...YES },
      'evaluations[1].subject: expected an object with `type` and `id`',
    ],
    ['its action is null', { action: null, ...YES }, 'evaluations[1].action: expected an object with `name`'],
    [
      'its resource is null',
      { resource: null },
      'evaluations[1].resource: expected an object with `type` and `id`',
    ],
    ['its context is null', { context: null, ...YES }, 'evaluations[1].context: expected an object, or none'],
    ['it is a number', 5, 'evaluations[1]: expected an object'],
    ['it is null', null, 'evaluations[1]: expected an object'],
    ['it is a list', [], 'evaluations[1]: expected an object'],
  ])('%s', async (_claim, item, message) => {
    const { status, json } = await post(EVALUATIONS, {
      subject: alice,
      action: CALL,
      evaluations: [YES, item, YES],
    })
    expect(status).toBe(200)
    expect(json.evaluations).toEqual([
      expect.objectContaining({ decision: true }),
      { decision: false, context: { error: { status: 400, reason: 'INVALID_ARGUMENT', message } } },
      expect.objectContaining({ decision: true }),
    ])
  })
})

test('there are at most as many evaluations as a batch of gRPC has checks', async () => {
  const asking = (length: number) =>
    post(EVALUATIONS, { subject: alice, action: CALL, ...YES, evaluations: Array(length).fill({}) })
  expect((await asking(EVALUATIONS_MAX)).json.evaluations).toHaveLength(EVALUATIONS_MAX)
  const { status, text } = await asking(EVALUATIONS_MAX + 1)
  expect([status, text]).toEqual([400, 'evaluations: expected at most 20 evaluations, found 21'])
})

describe('with an authority that does what the test says', () => {
  const CREDENTIAL = credential({ 'X-Auth-Token': 'a' })
  const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

  /** Asks `count` times about a credential. */
  const answersOf = async (
    count: number,
    verify: (index: number) => Verification | Promise<Verification>,
    semantic = 'execute_all',
  ) => {
    let asked = 0
    const verifier = { recognize: () => 'issue', verify: () => verify(asked++) }
    const services = { engine, verifier, authority: verifier, now: Date.now } as unknown as Asked['services']
    const asking: Asked = {
      services,
      cacheForMs: 0,
      evaluationsMax: 1000,
      asker: { connection: {}, listener: undefined },
      explain: httpErrorOf,
    }
    const body = { subject: CREDENTIAL, action: CALL, ...YES, evaluations: Array(count).fill({}) }
    const { evaluations } = (await answerEvaluations(asking, {
      ...body,
      options: { evaluations_semantic: semantic },
    })) as { evaluations: { decision: boolean; context: { error?: object; reason?: string } }[] }
    return { evaluations, asked }
  }
  const failing = (index: number): Verification => {
    if (index === 1) throw callError('DIRECTORY_UNAVAILABLE', {})
    return INVALID
  }

  test.each<[claim: string, fail: (index: number) => Verification | Promise<Verification>]>([
    ['at once', failing],
    ['later', async (index) => failing(index)],
  ])('no answer is a denial with an error, and the others are answered: %s', async (_claim, fail) => {
    const { evaluations } = await answersOf(3, fail)
    expect(evaluations.map(({ decision, context }) => [decision, context.error ?? context.reason])).toEqual([
      [false, 'CREDENTIAL_INVALID'],
      [false, { status: 503, reason: 'DIRECTORY_UNAVAILABLE', message: 'the directory does not answer' }],
      [false, 'CREDENTIAL_INVALID'],
    ])
  })

  test('an unexpected error says nothing of its cause', async () => {
    const { evaluations } = await answersOf(1, () => {
      throw new TypeError('a secret')
    })
    expect(evaluations).toEqual([
      { decision: false, context: { error: { status: 500, reason: 'INTERNAL', message: 'internal error' } } },
    ])
  })

  test('no answer ends deny_on_first_deny, and does not end permit_on_first_permit', async () => {
    const unavailable = () => {
      throw callError('DIRECTORY_UNAVAILABLE', {})
    }
    expect((await answersOf(3, unavailable, 'deny_on_first_deny')).asked).toBe(1)
    expect((await answersOf(3, unavailable, 'permit_on_first_permit')).evaluations).toHaveLength(3)
  })

  test('those that wait for a remote authority wait together', async () => {
    let open = 0
    const all = Promise.withResolvers<Verification>()
    const { evaluations } = await answersOf(5, () => {
      if (++open === 5) all.resolve(INVALID)
      return all.promise
    })
    expect(evaluations).toHaveLength(5)
  })

  test('others have their turn between the slices of a costly request', async () => {
    const answer = answersOf(200, () => {
      // As long as a signature takes.
      working(0.1)
      return INVALID
    })
    let turns = 0
    const count = () => {
      turns++
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    await answer
    clearImmediate(next)
    expect(turns).toBeGreaterThan(2)
  })
})
