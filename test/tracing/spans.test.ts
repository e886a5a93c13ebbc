/**
 * Facts of spans that are not common to every protocol: failures, bounds, spans below a check, and the
 * decision log.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Telemetry } from '../../sidecar/signals/tracing/telemetry.ts'
import { askBatch, credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import {
  ACCOUNT,
  issued,
  populate,
  type RunningSidecar,
  runSidecar,
  type SidecarOptions,
} from '../support/sidecar/sidecar.ts'
import { linesIn } from '../support/signals/decision-log.ts'
import { type ReceivedSpan, spansAt, startEndpoint } from '../support/signals/otlp.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

/** The spans of what is asked of a sidecar. */
async function spansOf(
  ask: (running: RunningSidecar) => Promise<unknown>,
  { flags, ...options }: SidecarOptions = {},
): Promise<ReceivedSpan[]> {
  const endpoint = await startEndpoint()
  const running = await runSidecar({
    ...options,
    flags: { 'traces.otlp.url': endpoint.origin, 'traces.sample_percent': 100, ...flags },
  })
  await ask(running)
  await running.sidecar.close()
  return spansAt(endpoint)
}

const CLAIMS = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const names = (spans: readonly ReceivedSpan[]) => spans.map(({ name }) => name)
const CHECK = 'portcullis.v1.AuthorizationService/Check'

test('an upstream that does not answer fails the spans on the way to it, and carries the trace on', async () => {
  const upstreams = { cloud: { auth_url: 'http://127.0.0.1:1', verify: { profile: 'job' } } }
  const profiles = {
    job: { upstream: 'cloud', account: '1', user_name: 'x', password_file: newFile('a password') },
  }
  const config = newFile(JSON.stringify({ upstreams, profiles }), 'config.json')
  const spans = await spansOf(
    async ({ client }) => {
      const check = client.check({ api: 'balance', credentials: [['X-Auth-Token', 'of-the-upstream']] })
      await expect(check).rejects.toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
    },
    { config },
  )
  expect(spans.filter(({ failed }) => !failed)).toEqual([])
  expect(new Set(names(spans))).toEqual(new Set([CHECK, 'verify', 'POST']))
  const attributes = Object.fromEntries(spans.map(({ name, attributes }) => [name, attributes]))
  expect(attributes).toMatchObject({
    [CHECK]: { 'rpc.response.status_code': 'UNAVAILABLE', 'error.type': 'UNAVAILABLE' },
    verify: { 'error.type': 'UPSTREAM_UNAVAILABLE' },
    POST: {
      ...{ 'http.request.method': 'POST', 'server.address': '127.0.0.1', 'server.port': 1 },
      ...{ 'portcullis.upstream': 'cloud', 'error.type': 'UPSTREAM_UNAVAILABLE' },
    },
  })
})

test("a caller's own mistake fails no span", async () => {
  const spans = await spansOf(async ({ client }) => {
    await expect(client.issue({ scope: { account: ACCOUNT }, password: WRONG })).rejects.toThrow()
  })
  expect(spans.filter(({ failed }) => failed)).toEqual([])
  expect(spans.find(({ kind }) => kind === 'server')).toMatchObject({
    attributes: { 'rpc.response.status_code': 'UNAUTHENTICATED' },
  })
})
const WRONG = { userName: 'nobody', account: ACCOUNT, password: 'wrong' }

test('the directory is asked below the verification, and no value of a statement is in a span', async () => {
  const folder = join(newFolder(), 'data')
  const first = await runSidecar({ folder })
  const secrets = await populate(first)
  const { value, tokenId } = await issued(first, secrets)
  const spans = await spansOf(
    ({ address }) => new BlackBox(address).ask('check', credentialQuestion('balance', 'X-Auth-Token', value)),
    { folder },
  )
  const verify = spans.find(({ name }) => name === 'verify')
  const asked = spans.filter(({ name }) => name === 'sqlite SELECT')
  expect(asked).not.toEqual([])
  for (const { parentSpanId, kind, attributes } of asked) {
    expect({ parentSpanId, kind }).toEqual({ parentSpanId: verify?.spanId, kind: 'client' })
    expect(attributes).toEqual({
      ...{ 'db.system.name': 'sqlite', 'db.operation.name': 'SELECT' },
      'db.query.text': expect.stringMatching(/^SELECT /),
    })
  }
  expect(JSON.stringify(asked, (_key, each) => String(each))).not.toContain(tokenId)
})

test('of a call with very many decisions the first hundred have spans, and the call says how many there are', async () => {
  const spans = await spansOf(({ address }) => askBatch(new BlackBox(address), Array(150).fill(CLAIMS)))
  expect(spans.filter(({ name }) => name === 'check')).toHaveLength(100)
  expect(spans.find(({ kind }) => kind === 'server')?.attributes['portcullis.decisions']).toBe(150)
})

test('long values of a client are cut', async () => {
  const [span] = await spansOf(({ client }) => client.check({ ...CLAIMS, api: 'x'.repeat(1000) }))
  expect(span?.attributes['portcullis.api']).toBe('x'.repeat(256))
})

test('the lines of the decision log name the traces that begin here', async () => {
  const path = join(newFolder(), 'decisions.log')
  const spans = await spansOf(
    async ({ client }) => {
      for (let index = 0; index < 3; index++) await client.check(CLAIMS)
    },
    { flags: { 'decision_log.file.path': path } },
  )
  expect(spans).toHaveLength(3)
  const traces = spans.map(({ traceId }) => traceId)
  expect(new Set(traces).size).toBe(3)
  // A span may end after the next call has begun, so they come in any order.
  expect(linesIn(path).map(({ trace_id }) => trace_id)).toEqual(expect.arrayContaining(traces))
  expect(linesIn(path)).toHaveLength(3)
})

test.each<[percent: number, traceparent: string | undefined, recorded: number]>([
  [0, undefined, 0],
  [0, '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 5],
  [100, '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', 0],
  [100, undefined, 5],
])(
  'of callers that say nothing %i percent are recorded; with traceparent %s, %i of 5 calls',
  async (percent, traceparent, recorded) => {
    const wishes = traceparent === undefined ? {} : { metadata: { traceparent } }
    const spans = await spansOf(
      async ({ address }) => {
        const box = new BlackBox(address)
        for (let index = 0; index < 5; index++) await box.ask('check', CLAIMS, wishes)
      },
      { flags: { 'traces.sample_percent': percent } },
    )
    expect(spans).toHaveLength(recorded)
  },
)

test('probes have no spans', async () => {
  const spans = await spansOf(
    async ({ sidecar }) => {
      for (const path of ['healthz', 'readyz']) await fetch(`http://${sidecar.httpAddress}/${path}`)
    },
    { flags: { 'http.address': '127.0.0.1:0' } },
  )
  expect(spans).toEqual([])
})

test('work that goes on after a call has ended belongs to no span', async () => {
  const telemetry = new Telemetry(
    { onStart() {}, onEnd() {}, async forceFlush() {}, async shutdown() {} },
    100,
  )
  const facts = () => ({ name: 'x', kind: 'server' as const, attributes: {} })
  const call = telemetry.begin({ metadata: () => [] }, facts)
  const gate = Promise.withResolvers<void>()
  const seen = () => [telemetry.current(), telemetry.request(facts, ({ traceparent }) => traceparent)]
  const later = call?.run(async () => {
    expect(seen()).toEqual([call.span, expect.any(String)])
    await gate.promise
    return seen()
  })
  call?.span?.end()
  gate.resolve()
  expect(await later).toEqual([undefined, undefined])
})
