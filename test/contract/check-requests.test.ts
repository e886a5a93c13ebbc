/**
 * Checks with a `request`, whose API and target the routes of the configuration name. The rows of every
 * protocol run over each method of the contract and over HTTP.
 */
import { describe, expect, test } from 'vitest'
import { BlackBox, encoded, invalid, type Message, refused } from '../support/contract/black-box.ts'
import { FORMS, outcomeOf, transportOf } from '../support/contract/contract.ts'
import { joined } from '../support/contract/protobuf-bytes.ts'
import { holdsToRoutes, ROUTES, type RoutedOutcome, type RoutedRow } from '../support/inputs/paths.ts'
import { ACCOUNT, OTHER_ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const flags = { 'http.address': '127.0.0.1:0', 'http.connect': true }
const config = newFile(JSON.stringify({ routes: ROUTES }), 'config.json')
const running = await runSidecar({ config, flags })
const { staticToken } = await populate(running)
const box = new BlackBox(running.address)
const unrouted = new BlackBox((await runSidecar()).address)

const pairs = ({ headers }: Pick<RoutedRow, 'headers'>) =>
  Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => ({ name, value })))

const checkOf = ({ method, host, target: path, headers }: RoutedRow): Message => ({
  request: { method, host, path },
  credentials: { headers: pairs({ headers }) },
})

function foundIn({ route, reason, allowed }: Message): RoutedOutcome {
  const { api, target, refused: why } = route as Message
  expect(allowed).toBe(false)
  if (why !== '') {
    expect([reason, api, target]).toEqual(['REASON_UNKNOWN_API', '', null])
    return { refused: why } as RoutedOutcome
  }
  expect(reason).toBe('REASON_CREDENTIAL_MISSING')
  const { account, project } = (target ?? {}) as { account?: string; project?: string }
  const owner = account === undefined ? undefined : { account, ...(project !== '' && { project }) }
  return { api: api as string, target: owner } as RoutedOutcome
}

holdsToRoutes('Check', async (row) => foundIn(await box.ask('check', checkOf(row))))

holdsToRoutes('CheckBatch', async (row) => {
  const claims = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
  const { results } = await box.ask('checkBatch', { checks: [claims, checkOf(row)] })
  return foundIn((results as Message[])[1] ?? {})
})

test('CheckStream finds them too, and goes on after those that are refused', async () => {
  const stream = box.converse('checkStream')
  for (const [id, path] of [
    ['a', '/iam/'],
    ['b', '//'],
    ['c', '/dns/'],
  ] as const)
    stream.write({ id, check: checkOf({ ...ROW, target: path }) })
  stream.end()
  const found: unknown[] = []
  for await (const { id, result } of stream as AsyncIterable<Message>)
    found.push([id, foundIn(result as Message)])
  expect(found).toEqual([
    ['a', { api: 'iam' }],
    ['b', { refused: 'NOT_CANONICAL' }],
    ['c', { refused: 'TARGET_NOT_FOUND' }],
  ])
})

const ROW: RoutedRow = {
  ...{ claim: '', method: 'GET', host: 'api.example.com', target: '/', headers: {} },
  expected: {},
}

const withToken = (target: string, more: RoutedRow['headers'] = {}) =>
  checkOf({ ...ROW, target, headers: { 'X-Token': staticToken, ...more } })

test.each<[claim: string, check: Message, answer: object]>([
  [
    'the token opens the API of the route',
    withToken('/anything'),
    { allowed: true, verified: true, route: { api: 'balance', target: null, refused: '' } },
  ],
  [
    'it does not open another one',
    withToken('/iam/'),
    { reason: 'REASON_TOKEN_KIND_NOT_ACCEPTED', route: { api: 'iam' } },
  ],
  [
    'the target of the route counts',
    checkOf({ ...ROW, target: `/v2/${OTHER_ACCOUNT}/servers/1`, headers: { 'x-auth-token': 'none' } }),
    { route: { api: 'dedicated-servers', target: { account: OTHER_ACCOUNT } } },
  ],
  [
    'a refused request has the words of the routes, and of no rules',
    withToken('/%2e'),
    {
      allowed: false,
      rules_digest: '',
      digest: '',
      token: null,
      cache_for: null,
      route: { refused: 'NOT_CANONICAL' },
    },
  ],
])('%s', async (_claim, check, answer) => {
  expect(await box.ask('check', check)).toMatchObject(answer)
})

const good = withToken('/iam/')
const request = { method: 'GET', host: '', path: '/' }
const claims = { token: { kind: 'static_token', scope: { account: ACCOUNT } } }

test.each<[claim: string, check: Message | Buffer, violations: readonly [string, string][]]>([
  [
    'an API beside it',
    { ...good, api: 'iam' },
    [['api', 'expected no API, because the routes say it for `request`']],
  ],
  [
    'a target beside it',
    { ...good, target: { account: '1' } },
    [['target', 'expected no target, because the routes say it for `request`']],
  ],
  [
    'claims',
    { request, ...claims },
    [['request', 'expected a request with credentials, and not with a token']],
  ],
  [
    'no credentials',
    { request },
    [['subject', 'expected exactly one of credentials and token, found neither']],
  ],
  [
    'an invalid address',
    { ...good, client_address: 'x' },
    [['client_address', 'expected an IPv4 or IPv6 address']],
  ],
])('a request with %s is invalid', async (_claim, check, violations) => {
  expect(await refused(box.ask('check', check))).toEqual(invalid(...violations))
  const at = violations.map(([field, expected]) => [`checks[1].${field}`, expected] as const)
  expect(await refused(box.ask('checkBatch', { checks: [good, check] }))).toEqual(invalid(...at))
})

test('two requests in one check are not a message', async () => {
  const twice = joined(encoded('CheckRequest', good), encoded('CheckRequest', { request }))
  expect((await refused(box.ask('check', twice))).code).toBe('INVALID_ARGUMENT')
})

test('a sidecar without routes says so', async () => {
  expect(await refused(unrouted.ask('check', good))).toEqual(
    invalid(['request', 'expected `api` in its place, because the configuration has no `routes`']),
  )
})

describe('over HTTP it is the same', () => {
  const addresses = { grpc: running.address, http: running.sidecar.httpAddress ?? '' }
  const grpc = transportOf('gRPC', addresses)
  test.each(FORMS)('%s', async (form) => {
    const credentials = { headers: [{ name: 'X-Token', value: staticToken }] }
    for (const path of ['/', '/iam/', '//', '/v2/1/servers/9', '/nothing?x']) {
      const check = { request: { method: 'GET', host: 'api.example.com', path }, credentials }
      const outcome = await outcomeOf(transportOf(form, addresses), 'Check', check)
      expect(outcome).toEqual(await outcomeOf(grpc, 'Check', check))
      expect(JSON.stringify(outcome)).toContain('route')
    }
  })
})

test('a request with ten thousand headers is read', async () => {
  const headers = Array.from({ length: 9_999 }, (_, index) => ({ name: `x-${index}`, value: 'y' }))
  const check = { ...good, credentials: { headers: [...headers, { name: 'X-Token', value: staticToken }] } }
  expect(await box.ask('check', check)).toMatchObject({ verified: true, route: { api: 'iam' } })
})
