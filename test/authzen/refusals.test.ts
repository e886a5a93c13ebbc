/** AuthZEN refuses invalid requests with their id, and never repeats what was sent. */
import { describe, expect, test } from 'vitest'
import { BODY_BYTES_MAX } from '../../sidecar/http/http-error.ts'
import { changed, type RequestHeaders } from '../support/identity/identity.ts'
import {
  api,
  CALL,
  credential,
  EVALUATION,
  EVALUATIONS,
  SEARCHES,
  startAuthzen,
  token,
} from '../support/proxies/authzen.ts'

const { post, ask, credentials, running } = await startAuthzen()

const SEARCH = '/access/v1/search'
const QUESTION = { subject: token('static_token'), action: CALL, resource: api('balance') }
const SUBJECT_SEARCH = { ...QUESTION, subject: { type: 'token' } }
const RESOURCE_SEARCH = { ...QUESTION, resource: { type: 'api' } }
const ACTION_SEARCH = { subject: QUESTION.subject, resource: QUESTION.resource }

/** A valid request for each endpoint. */
const VALID: Readonly<Record<string, object>> = {
  [EVALUATION]: QUESTION,
  [EVALUATIONS]: { ...QUESTION, evaluations: [{}] },
  [`${SEARCH}/subject`]: SUBJECT_SEARCH,
  [`${SEARCH}/resource`]: RESOURCE_SEARCH,
  [`${SEARCH}/action`]: ACTION_SEARCH,
}
const PATHS = Object.keys(VALID)

const ENTITY = 'expected an object with `type` and `id`'
const OWNER = 'expected a non-empty string, or none'
const HEADERS = 'expected an object of header names, each with a string or an array of strings'
const credentialOf = (headers: unknown) => ({ type: 'credential', id: '1', properties: { headers } })

test('the requests that the tables change are valid', async () => {
  for (const [path, body] of Object.entries(VALID)) expect((await post(path, body)).status).toBe(200)
})

/** The request without the value at a path, or with another one. */
interface Row {
  readonly at: string
  readonly value?: unknown
  readonly message: string
}

const entityRows = (field: string): Row[] => [
  ...[undefined, null, 'alice', 5, true, []].map((value) => ({
    at: field,
    value,
    message: `${field}: ${ENTITY}`,
  })),
  ...['type', 'id'].flatMap((key) =>
    [undefined, null, 5, {}, ['a']].map((value) => ({
      at: `${field}.${key}`,
      value,
      message: `${field}.${key}: expected a string`,
    })),
  ),
  ...[null, 'x', 5, []].map((value) => ({
    at: `${field}.properties`,
    value,
    message: `${field}.properties: expected an object, or none`,
  })),
  ...['account', 'project'].flatMap((key) =>
    [null, 5, '', {}].map((value) => ({
      at: `${field}.properties`,
      value: { account: '1', [key]: value },
      message: `${field}.properties.${key}: ${OWNER}`,
    })),
  ),
  {
    at: `${field}.properties`,
    value: { project: 'a' },
    message: `${field}.properties.account: expected the account of the project`,
  },
]

const ROWS: readonly Row[] = [
  ...entityRows('subject'),
  ...entityRows('resource'),
  ...[undefined, null, 'call', 5, []].map((value) => ({
    at: 'action',
    value,
    message: 'action: expected an object with `name`',
  })),
  ...[undefined, null, 123, {}].map((value) => ({
    at: 'action.name',
    value,
    message: 'action.name: expected a string',
  })),
  { at: 'action.properties', value: 5, message: 'action.properties: expected an object, or none' },
  ...[null, 'x', []].map((value) => ({
    at: 'context',
    value,
    message: 'context: expected an object, or none',
  })),
  ...[null, 5, '', 'localhost', '1.2.3', '1.2.3.4:', ['1.2.3.4']].map((client_address) => ({
    at: 'context',
    value: { client_address },
    message: 'context.client_address: expected an IPv4 or IPv6 address, or none',
  })),
  ...[
    undefined,
    null,
    'X-Token: a',
    [],
    [['X-Token', 'a']],
    { 'X-Token': 5 },
    { 'X-Token': null },
    { 'X-Token': ['a', 5] },
    { 'X-Token': [['a']] },
  ].map((headers) => ({
    at: 'subject',
    value: credentialOf(headers),
    message: `subject.properties.headers: ${HEADERS}`,
  })),
  {
    at: 'subject',
    value: credentialOf({ accept: Array(1001).fill('') }),
    message: 'subject.properties.headers: expected at most 1000 values',
  },
]

test.each(ROWS)('$at as $value: $message', async ({ at, value, message }) => {
  const body = changed(QUESTION, at, value)
  for (const path of [EVALUATION, EVALUATIONS]) {
    const { status, text, headers } = await post(path, body)
    expect([status, text]).toEqual([400, message])
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
  }
  // As a default of a batch it is wrong for the whole request, unless it is missing alone.
  const batch = await post(EVALUATIONS, { ...body, evaluations: [QUESTION] })
  if (value === undefined && !at.includes('.')) expect(batch.json.evaluations[0].decision).toBe(true)
  else expect([batch.status, batch.text]).toEqual([400, message])
})

test('every fault of a request is named', async () => {
  const { text } = await post(EVALUATION, { subject: { type: 5 }, resource: {} })
  expect(text).toBe(
    'subject.type: expected a string; subject.id: expected a string; action: expected an object with `name`; resource.type: expected a string; resource.id: expected a string',
  )
})

test('a header named `__proto__` is one without a credential, and its value is read as that of any other', async () => {
  const asked = (more: string) => ({
    ...QUESTION,
    subject: credentialOf(JSON.parse(`{${more},"X-Token":${JSON.stringify(credentials.static['X-Token'])}}`)),
  })
  expect((await post(EVALUATION, asked('"__proto__":"x"'))).json.decision).toBe(true)
  expect((await post(EVALUATION, asked('"__proto__":{"X-Token":"x"}'))).text).toBe(
    `subject.properties.headers: ${HEADERS}`,
  )
})

describe('a path or a method that does not exist', () => {
  test.each<[method: string, path: string, status: number]>([
    ['POST', '/access/v1/nothing', 404],
    ['POST', '/access/v2/evaluation', 404],
    ['GET', '/.well-known/authzen-configuration/tenant', 404],
    ...PATHS.flatMap((path): [string, string, number][] => [
      ['GET', path, 405],
      ['POST', `${path}/more`, 404],
    ]),
  ])('%s %s: the text alone, with the id of the request', async (method, path, status) => {
    const answer = await ask({ method, path, headers: { 'x-request-id': 'bfe9eb29' } })
    expect(answer).toMatchObject({
      status,
      headers: { 'x-request-id': 'bfe9eb29', 'content-type': 'text/plain; charset=utf-8' },
      text: status === 404 ? 'there is no such path' : 'expected one of OPTIONS, POST',
    })
    expect((await ask({ method, path })).headers).not.toHaveProperty('x-request-id')
  })

  test('of other protocols: as they word it', async () => {
    for (const path of ['/nothing', '/.well-known/nothing', '/accessible', '/identity/v3/nothing']) {
      const { status, json } = await ask({ path, headers: { 'x-request-id': 'bfe9eb29' } })
      expect([status, json]).toEqual([404, { error: expect.objectContaining({ code: 404 }) }])
    }
  })
})

describe('a search', () => {
  test.each<[path: string, body: object, message: string]>([
    ['subject', changed(SUBJECT_SEARCH, 'action', undefined), 'action: expected an object with `name`'],
    ['subject', changed(SUBJECT_SEARCH, 'subject', undefined), 'subject: expected an object with `type`'],
    ['subject', changed(SUBJECT_SEARCH, 'subject.type', 5), 'subject.type: expected a string'],
    ['subject', changed(SUBJECT_SEARCH, 'resource.id', undefined), 'resource.id: expected a string'],
    [
      'subject',
      { ...SUBJECT_SEARCH, subject: credential({}) },
      'subject.type: expected `token`, because credentials are secret and cannot be listed',
    ],
    ['resource', changed(RESOURCE_SEARCH, 'subject', undefined), `subject: ${ENTITY}`],
    ['resource', changed(RESOURCE_SEARCH, 'subject.id', undefined), 'subject.id: expected a string'],
    ['resource', changed(RESOURCE_SEARCH, 'resource', undefined), 'resource: expected an object with `type`'],
    ['resource', changed(RESOURCE_SEARCH, 'resource.type', undefined), 'resource.type: expected a string'],
    ['resource', changed(RESOURCE_SEARCH, 'action', undefined), 'action: expected an object with `name`'],
    ['action', changed(ACTION_SEARCH, 'subject.id', undefined), 'subject.id: expected a string'],
    ['action', changed(ACTION_SEARCH, 'resource', undefined), `resource: ${ENTITY}`],
    ['action', changed(ACTION_SEARCH, 'resource.id', undefined), 'resource.id: expected a string'],
  ])('of a %s: %j', async (searched, body, message) => {
    const { status, text } = await post(`${SEARCH}/${searched}`, body)
    expect([status, text]).toEqual([400, message])
  })

  test.each<[page: unknown, message: string]>([
    [null, 'page: expected an object'],
    [5, 'page: expected an object'],
    [{ limit: -1 }, 'page.limit: expected a whole number of 0 or more, or none'],
    [{ limit: 1.5 }, 'page.limit: expected a whole number of 0 or more, or none'],
    [{ limit: '5' }, 'page.limit: expected a whole number of 0 or more, or none'],
    [{ limit: 1e300 }, 'page.limit: expected a whole number of 0 or more, or none'],
    [{ limit: null }, 'page.limit: expected a whole number of 0 or more, or none'],
    [{ token: 5 }, 'page.token: expected a string, or none'],
    [{ token: null }, 'page.token: expected a string, or none'],
    [
      { limit: 0, token: 'x' },
      'page.limit: expected a whole number of 1 or more beside a token, or none, because pages of 0 results never end',
    ],
  ])('of the page %j', async (page, message) => {
    for (const searched of SEARCHES) {
      const path = `${SEARCH}/${searched}`
      const { status, text } = await post(path, { ...VALID[path], page })
      expect([status, text]).toEqual([400, message])
    }
  })
})

test.each<[body: object, message: string]>([
  [{ evaluations: {} }, 'evaluations: expected an array, or none'],
  [{ evaluations: null }, 'evaluations: expected an array, or none'],
  [{ evaluations: 'x' }, 'evaluations: expected an array, or none'],
  [{ evaluations: [{}], options: 5 }, 'options: expected an object'],
  [{ evaluations: [{}], options: null }, 'options: expected an object'],
  ...['EXECUTE_ALL', '', 'toString', 5, null, ['execute_all']].map((semantic): [object, string] => [
    { evaluations: [{}], options: { evaluations_semantic: semantic } },
    'options.evaluations_semantic: expected one of execute_all, deny_on_first_deny, permit_on_first_permit',
  ]),
])('a batch with %j', async (body, message) => {
  const { status, text } = await post(EVALUATIONS, { ...QUESTION, ...body })
  expect([status, text]).toEqual([400, message])
})

describe.each(PATHS)('%s', (path) => {
  const valid = JSON.stringify(VALID[path])

  test.each<[type: string | undefined, status: number]>([
    ['application/json', 200],
    ['application/JSON ; charset=utf-8', 200],
    ['text/plain', 400],
    ['application/x-www-form-urlencoded', 400],
    ['application/vnd.api+json', 400],
    ['application/jsonx', 400],
    ['', 400],
  ])('the content type %j: %i', async (type, status) => {
    const answer = await post(path, valid, { 'content-type': type ?? '' })
    expect(answer.status).toBe(status)
    if (status === 400) expect(answer.text).toBe('Content-Type: expected application/json')
  })

  test.each<[body: string, message: RegExp]>([
    ['', /^the body: expected JSON/],
    ['{', /^the body: expected JSON/],
    ['nothing', /^the body: expected JSON/],
    [`${valid},`, /^the body: expected JSON/],
    ['[]', /^the body: expected an object$/],
    ['null', /^the body: expected an object$/],
    ['"x"', /^the body: expected an object$/],
    [`{"subject":1,${valid.slice(1)}`, /^the body: expected each key once/],
    [`\ufeff\ufeff${valid}`, /^the body: expected JSON/],
    [`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`, /^the body: expected at most 64 levels/],
    ['{"a":"\\ud800"}', /^the body: expected text without half/],
  ])('the body %j', async (body, message) => {
    const { status, text } = await post(path, body, { 'content-type': 'application/json' })
    expect([status, text]).toEqual([400, expect.stringMatching(message)])
  })

  test('members that the standard does not know are ignored, whatever they are called', async () => {
    const { status, json } = await post(path, `{"__proto__":{"subject":5},"constructor":1,${valid.slice(1)}`)
    expect([status, json]).toEqual([200, (await post(path, valid)).json])
  })

  test('a body that is too large, is not UTF-8, or has another method', async () => {
    const large = await post(path, { ...VALID[path], padding: 'x'.repeat(BODY_BYTES_MAX) })
    expect([large.status, large.text]).toEqual([413, `expected a body of at most ${BODY_BYTES_MAX} bytes`])
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xff), Buffer.from('"}')])
    const headers = { 'content-type': 'application/json' }
    expect((await ask({ method: 'POST', path, body: bytes, headers })).text).toBe('the body: expected UTF-8')
    for (const method of ['GET', 'PUT', 'DELETE']) expect((await ask({ method, path })).status).toBe(405)
  })

  test.each<[claim: string, body: string, more: RequestHeaders, status: number]>([
    ['an answer', valid, {}, 200],
    ['a bad request', '{', {}, 400],
    ['a caller who is not known', valid, { authorization: 'Bearer x' }, 401],
    ['another host', valid, { host: 'a.example' }, 403],
    ['a body that is too large', 'x'.repeat(BODY_BYTES_MAX + 1), {}, 413],
  ])('%s has the id of its request', async (_claim, body, more, status) => {
    const headers = { 'content-type': 'application/json', ...more }
    // Any bytes, and not only those of ASCII. Node's client would encode them anew beside a text.
    const id = Buffer.from('bfe9eb29 äé "x"; é').toString('latin1')
    const sent = { method: 'POST', path, body: Buffer.from(body) }
    const answer = await ask({ ...sent, headers: { ...headers, 'x-request-id': id } })
    expect([answer.status, answer.headers['x-request-id']]).toEqual([status, id])
    expect((await post(path, body, headers)).headers).not.toHaveProperty('x-request-id')
  })
})

test('nothing that was sent comes back, or is in the log', async () => {
  const canary = 'canary-4f7f5c9b'
  const places: [at: string, value: unknown][] = [
    ...['subject.id', 'subject.type', 'resource.id', 'resource.type', 'action.name'].map(
      (at): [string, unknown] => [at, canary],
    ),
    ...['subject', 'resource', 'action', 'context', 'page', 'options', 'evaluations'].flatMap(
      (at): [string, unknown][] => [
        [at, canary],
        [at, [canary]],
        [at, { [canary]: canary }],
      ],
    ),
    ['subject.properties', { account: canary, project: [canary] }],
    ['resource.properties', { account: canary }],
    ['context', { client_address: canary }],
    ['page', { token: canary, limit: canary }],
    ['page', { token: canary }],
    ['options', { evaluations_semantic: canary }],
    [
      'evaluations',
      [{ subject: canary }, { resource: { type: canary, id: canary } }, canary, { [canary]: 1 }],
    ],
    [canary, canary],
    ...[canary, `${canary} ${canary}`, [canary, canary], { [canary]: canary }].map(
      (value): [string, unknown] => ['subject', credentialOf({ 'X-Auth-Token': value, [canary]: canary })],
    ),
    ['subject', credentialOf(canary)],
  ]
  const answers = []
  for (const path of PATHS) {
    for (const [at, value] of places)
      answers.push(await post(path, changed({ action: CALL, ...VALID[path] }, at, value)))
    for (const text of [canary, `{"${canary}`, `{"${canary}":1,"${canary}":2}`, `"${canary}"`])
      answers.push(await post(path, text))
    answers.push(await post(path, QUESTION, { authorization: `Bearer ${canary}` }))
    answers.push(await post(path, QUESTION, { 'content-type': canary }))
    answers.push(await post(`${path}/${canary}`, QUESTION))
  }
  const leaking = answers.filter(({ text, headers }) => `${text}${JSON.stringify(headers)}`.includes(canary))
  expect(leaking).toEqual([])
  expect(running.logLines.filter((line) => line.includes(canary))).toEqual([])
})
