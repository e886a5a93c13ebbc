/** The counts of meters, their labels and how many of them, and that the documentation names all of it. */
import { expect, test, vi } from 'vitest'
import { type Api, compile, type Decision, type Reason } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { DecisionMeter, Meters } from '../../sidecar/usecases/decision-meters.ts'
import { ACCOUNT_KIND, engine, STATIC_KIND } from '../support/matrices/engines.ts'
import { countedIn, documentedMetrics } from '../support/signals/metrics.ts'

const SCOPE = { account: '1' }
const claims = (api: string, kind = STATIC_KIND) => ({ api, kind, scope: SCOPE, target: undefined })
const ALLOWED = engine.decide(claims('balance'))

/** Asks an engine, and notifies the meter. */
function ask(meter: DecisionMeter, question = claims('balance'), asked = engine): Decision {
  const decision = asked.decide(question)
  meter.ofClaims(question, decision)
  return decision
}

test('every metric is in the documentation, with its labels, and says of itself what it is', () => {
  const meters = new Meters()
  ask(meters.of('grpc'))
  meters.attempted('a login failed', 'LOGIN_FAILED')
  meters.wouldDeny('authorize', 'CREDENTIAL_MISSING')
  meters.shadowCounter('balance', STATIC_KIND, 'opened')()
  meters.failed('INTERNAL')
  meters.exceeded('grpc', { connections: 1 })
  meters.upstreamCalled('cloud', 'failed')
  meters.spansEnded('dropped', 1)
  const metrics = meters.read()
  const documented = new Map(documentedMetrics().map(({ names, labels }) => [names.join(' '), labels]))
  for (const { name, help, type, samples } of metrics) {
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)))
    if (type === 'histogram') labels.delete('le')
    expect([name, [...labels]]).toEqual([name, documented.get(name)])
    expect(help, name).toMatch(/^[A-Z].+\.$/)
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    expect(name).toMatch(/^portcullis_/)
  }
  expect(new Set(metrics.map(({ help }) => help))).toHaveLength(metrics.length)
  expect(metrics.map(({ name, type, merge }) => [name, type, merge])).toEqual([
    ['portcullis_decisions_total', 'counter', 'sum'],
    ['portcullis_check_duration_seconds', 'histogram', 'sum'],
    ['portcullis_attempts_total', 'counter', 'sum'],
    ['portcullis_would_deny_total', 'counter', 'sum'],
    ['portcullis_shadow_differences_total', 'counter', 'sum'],
    ['portcullis_call_errors_total', 'counter', 'sum'],
    ['portcullis_bounds_exceeded_total', 'counter', 'sum'],
    ['portcullis_upstream_calls_total', 'counter', 'sum'],
    ['portcullis_trace_spans_total', 'counter', 'sum'],
    ['portcullis_followers', 'gauge', 'sum'],
  ])
})

test('events are counted by their labels', () => {
  const meters = new Meters()
  for (const reason of ['LOGIN_FAILED', 'LOGIN_FAILED', undefined]) meters.attempted('a login failed', reason)
  for (const protocol of ['authorize', 'ext_authz', 'authorize'] as const)
    meters.wouldDeny(protocol, 'CREDENTIAL_MISSING')
  const opened = meters.shadowCounter('balance', STATIC_KIND, 'opened')
  const sameOpened = meters.shadowCounter('balance', STATIC_KIND, 'opened')
  for (const count of [opened, opened, sameOpened]) count()
  for (const reason of ['INTERNAL', 'STOPPING', 'INTERNAL']) meters.failed(reason)
  meters.exceeded('grpc', { connections: 2, streams: 1 })
  meters.exceeded('grpc', { connections: 3 })
  meters.exceeded('http', { connections: 1 })
  meters.upstreamCalled('cloud', 'answered')
  meters.upstreamCalled('cloud', 'failed')
  meters.spansEnded('exported', 5)
  meters.spansEnded('exported', 2)
  const counted = (name: string) => countedIn(meters, `portcullis_${name}`)
  expect(counted('attempts_total')).toEqual({ 'a login failed LOGIN_FAILED': 2, 'a login failed ': 1 })
  expect(counted('would_deny_total')).toEqual({
    ...{ 'authorize CREDENTIAL_MISSING': 2, 'ext_authz CREDENTIAL_MISSING': 1 },
  })
  expect(counted('shadow_differences_total')).toEqual({ [`balance ${STATIC_KIND} opened`]: 3 })
  expect(counted('call_errors_total')).toEqual({ INTERNAL: 2, STOPPING: 1 })
  expect(counted('bounds_exceeded_total')).toEqual({
    ...{ 'grpc connections': 5, 'grpc streams': 1, 'http connections': 1 },
  })
  expect(counted('upstream_calls_total')).toEqual({ 'cloud answered': 1, 'cloud failed': 1 })
  expect(counted('trace_spans_total')).toEqual({ exported: 7 })
})

test('followers are those of the moment', () => {
  const meters = new Meters()
  const followers = () => countedIn(meters, 'portcullis_followers')['']
  expect(followers()).toBe(0)
  let open = 3
  meters.countFollowers(() => open)
  expect(followers()).toBe(3)
  open = 2
  expect(followers()).toBe(2)
})

test('decisions are counted by protocol, API and reason, however they are asked for', () => {
  const meters = new Meters()
  const [grpc, authzen] = [meters.of('grpc'), meters.of('authzen')]
  for (let count = 0; count < 3; count++) ask(grpc)
  const denied = ask(grpc, claims('reports', ACCOUNT_KIND))
  ask(authzen)
  authzen.ofKind('balance', STATIC_KIND, ALLOWED)
  const asked = { api: 'balance', headers: [], target: undefined, clientAddress: undefined }
  authzen.ofCredentials(asked, undefined, { decision: ALLOWED, token: undefined, verified: false })
  authzen.ofOwnToken('balance', undefined, ALLOWED)
  expect(countedIn(meters, 'portcullis_decisions_total')).toEqual({
    ...{ 'grpc balance ALLOWED': 3, [`grpc reports ${denied.reason}`]: 1 },
    'authzen balance ALLOWED': 4,
  })
  // No decision is timed alone.
  expect(grpc.startMs()).toBe(0)
})

test('the cell of a decision is looked up once, also that of the first', () => {
  const counts = { add: vi.fn() }
  const cellOf = vi.fn((_decision: Decision, api: string) => (api === 'balance' ? 0 : 1))
  const meter = new DecisionMeter(counts as never, undefined as never, cellOf)
  const [first, second] = [claims('balance'), claims('nope')]
  for (const question of [first, second, first, second]) ask(meter, question)
  expect(counts.add.mock.calls).toEqual([[0], [1], [0], [1]])
  expect(cellOf.mock.calls.map(([, api]) => api)).toEqual(['balance', 'nope'])
})

test('APIs that do not exist are one, and so are those beyond a thousand', () => {
  const [first] = supportMatrix.apis as [Api]
  const apis = Array.from({ length: 1_003 }, (_, index) => ({
    ...{ ...first, id: `api-${index}`, accepts: [STATIC_KIND] },
  }))
  const large = compile<string, string>({ ...supportMatrix, apis, statements: [], conflicts: [] })
  const meters = new Meters()
  const meter = meters.of('grpc')
  for (let index = 0; index < 1_003; index++) ask(meter, claims(`api-${index}`), large)
  for (let index = 0; index < 5; index++) ask(meter, claims(`nope-${index}`), large)
  // One that has its name keeps it.
  ask(meter, claims('api-0', ACCOUNT_KIND), large)
  const counted = countedIn(meters, 'portcullis_decisions_total')
  const refused: Reason = 'TOKEN_KIND_NOT_ACCEPTED'
  expect(Object.keys(counted)).toHaveLength(1_000 + 3)
  expect(counted).toMatchObject({
    ...{ 'grpc api-999 ALLOWED': 1, 'grpc other ALLOWED': 3, 'grpc unknown UNKNOWN_API': 5 },
    [`grpc api-0 ${refused}`]: 1,
  })
})

test('calls are timed by protocol until their answer', () => {
  const meters = new Meters()
  const [grpc, authorize] = [meters.of('grpc'), meters.of('authorize')]
  const now = vi.spyOn(performance, 'now').mockReturnValue(5_000)
  grpc.answered(3_500)
  grpc.answered(4_500)
  authorize.answered(4_000)
  now.mockRestore()
  const samples = meters.read().find(({ name }) => name === 'portcullis_check_duration_seconds')?.samples
  const totals = samples?.filter(({ part }) => part !== 'bucket')
  expect(totals).toEqual([
    { labels: { protocol: 'grpc' }, value: 2, part: 'sum' },
    { labels: { protocol: 'grpc' }, value: 2, part: 'count' },
    { labels: { protocol: 'authorize' }, value: 1, part: 'sum' },
    { labels: { protocol: 'authorize' }, value: 1, part: 'count' },
  ])
})
