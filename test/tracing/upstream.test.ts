/**
 * Requests to identity endpoints of others carry the trace of the call on, and their secrets are in no span.
 */
import { expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { FakeUpstream } from '../support/identity/upstream.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { spansAt, startEndpoint } from '../support/signals/otlp.ts'
import { newFile } from '../support/suite/resources.ts'

const ACCOUNT = '777777'
const PASSWORD = 'canary-password-of-the-upstream'
const cloud = await FakeUpstream.start([
  { account: ACCOUNT, name: 'robot', password: PASSWORD, roles: { '': ['member'] } },
  { account: ACCOUNT, name: 'validator', password: PASSWORD, roles: { '': ['service'] }, validator: true },
])
const endpoint = await startEndpoint()
const job = {
  ...{ upstream: 'cloud', account: ACCOUNT, user_name: 'validator' },
  password_file: newFile(PASSWORD),
}
const config = {
  upstreams: { cloud: { auth_url: cloud.url, timeout_ms: 60_000, verify: { profile: 'job' } } },
  profiles: { job },
}
const { sidecar, address } = await runSidecar({
  config: newFile(JSON.stringify(config), 'portcullis.json'),
  flags: { 'traces.otlp.url': endpoint.origin, 'traces.sample_percent': 0 },
})
const box = new BlackBox(address)

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const values: string[] = []

/** The trace fields of the requests that the check of a new token leads to. */
async function fieldsOfRequests(metadata: Readonly<Record<string, string>>) {
  const before = cloud.seen.length
  const value = cloud.issue('robot')
  values.push(value)
  const answer = await box.ask('check', credentialQuestion('balance', 'X-Auth-Token', value), { metadata })
  expect(answer).toMatchObject({ allowed: true })
  return cloud.seen.slice(before).map(({ method, headers: { traceparent, tracestate } }) => ({
    ...{ method, traceparent, tracestate },
  }))
}

test('of a call that is recorded, each request has a span, which is the parent of what the upstream does', async () => {
  const metadata = { traceparent: `00-${TRACE_ID}-${CALLER}-01`, tracestate: 'a=1' }
  const requests = await fieldsOfRequests(metadata)
  // The sidecar logs in itself, and then asks about the token.
  expect(requests.map(({ method, tracestate }) => [method, tracestate])).toEqual([
    ['POST', 'a=1'],
    ['GET', 'a=1'],
  ])
  const unrecorded = { traceparent: `00-${TRACE_ID}-${CALLER}-00`, tracestate: 'a=1' }
  expect(await fieldsOfRequests(unrecorded)).toEqual([{ method: 'GET', ...unrecorded }])
  expect(await fieldsOfRequests({})).toEqual([
    { method: 'GET', traceparent: undefined, tracestate: undefined },
  ])
  await sidecar.close()

  const spans = spansAt(endpoint)
  const sent = spans.filter(({ kind, name }) => kind === 'client' && !name.startsWith('sqlite'))
  expect(requests.map(({ traceparent }) => traceparent)).toEqual(
    sent.map(({ spanId }) => `00-${TRACE_ID}-${spanId}-01`),
  )
  const verify = spans.find(({ name }) => name === 'verify')
  for (const { parentSpanId, attributes, failed } of sent) {
    expect({ parentSpanId, failed }).toEqual({ parentSpanId: verify?.spanId, failed: false })
    expect(attributes).toMatchObject({ 'portcullis.upstream': 'cloud', 'server.address': '127.0.0.1' })
  }
  expect(sent.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([201, 200])

  const exported = endpoint.received.map(({ body }) => body).join('')
  const tokens = cloud.seen.flatMap(({ headers }) => headers['x-auth-token'] ?? [])
  expect(tokens).not.toEqual([])
  for (const secret of [PASSWORD, ...values, ...tokens]) expect(exported).not.toContain(secret)
})
