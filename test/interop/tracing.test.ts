/** Spans as the OpenTelemetry Collector reads them: by its own decoder. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BlackBox } from '../support/contract/black-box.ts'
import { installed, interopFolder, run } from '../support/interop/command.ts'
import { ENVIRONMENT } from '../support/interop/go.ts'
import { obtained } from '../support/interop/obtain.ts'
import { startProcess } from '../support/processes/processes.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'

const program = join(interopFolder, 'tracing', 'go')

/** Prints its address, and each span that it gets as a line of JSON. */
const endpoint = await obtained("the Collector's decoder", async () => {
  const sources = ['go.mod', 'go.sum', 'main.go'].map((name) => readFileSync(join(program, name), 'utf8'))
  const version = await run('go', ['version'], { cwd: program })
  const folder = await installed('tracing', [version, ...sources], async (folder) => {
    await run('go', ['install', '.'], { cwd: program, env: { ...ENVIRONMENT, GOBIN: folder } })
  })
  return join(folder, 'traces')
})

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const CHECK = 'portcullis.v1.AuthorizationService/Check'
/** Characters that JSON, UTF-8 and OTLP could get wrong. */
const API = 'ü "\\\u0001 𝄞'

test.skipIf(!endpoint.ok)('the Collector reads every field of a span as it was meant', async () => {
  const collector = startProcess([endpoint.ok ? endpoint.value : ''])
  const [address] = await collector.until(() => /^127\.0\.0\.1:\d+(?=\n)/.exec(collector.stdout()))
  const { sidecar, address: grpc } = await runSidecar({
    flags: { 'traces.otlp.url': `http://${address}/v1/traces`, 'health.address': '127.0.0.1:0' },
  })
  const metadata = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`, tracestate: 'a=1,b=2' }
  const asked = { api: API, token: { kind: 'static_token', scope: { account: ACCOUNT } } }
  const box = new BlackBox(grpc)
  const { digest } = await box.ask('check', asked, { metadata })
  await box.ask('checkBatch', { checks: [asked] }, { metadata })
  await sidecar.close()
  const { stdout } = await collector.stop()
  const spans = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line))
  expect(spans).toHaveLength(3)
  const decision = {
    'portcullis.api': API,
    'portcullis.kind': 'static_token',
    'portcullis.allowed': false,
    'portcullis.reason': 'UNKNOWN_API',
    'portcullis.matrix.digest': digest,
  }
  const ofCaller = { traceId: TRACE_ID, parentSpanId: SPAN_ID, traceState: 'a=1,b=2' }
  const batch = spans.find(({ name }) => name.endsWith('/CheckBatch'))
  expect(spans.find(({ name }) => name === CHECK)).toEqual({
    ...{ ...ofCaller, name: CHECK, kind: 'Server', status: 'Unset' },
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    attributes: {
      ...{ 'rpc.system.name': 'grpc', 'rpc.method': CHECK, 'rpc.response.status_code': 'OK' },
      ...{ 'client.address': '127.0.0.1', ...decision },
    },
    resource: expect.objectContaining({ 'service.name': 'portcullis' }),
    nanoseconds: expect.any(Number),
  })
  expect(batch).toMatchObject({ ...ofCaller, attributes: { 'portcullis.decisions': 1 } })
  expect(spans.find(({ name }) => name === 'check')).toMatchObject({
    ...{ traceId: TRACE_ID, parentSpanId: batch.spanId, kind: 'Internal', attributes: decision },
  })
  for (const { nanoseconds } of spans) {
    expect(nanoseconds).toBeGreaterThanOrEqual(0)
    expect(nanoseconds).toBeLessThan(60_000_000_000)
  }
  const { samples } = sidecar.metrics().find(({ name }) => name === 'portcullis_trace_spans_total') ?? fail()
  expect(samples).toEqual([{ labels: { result: 'exported' }, value: 3 }])
})

function fail(): never {
  throw new Error('expected the metric of spans')
}
