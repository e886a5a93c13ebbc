/** OTLP: the lines that the endpoint gets, and those that it does not take. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { WriteLater } from '../../sidecar/signals/backlog.ts'
import { logsRequest } from '../../sidecar/signals/decision-log/otlp-logs.ts'
import { OtlpEndpoint } from '../../sidecar/signals/otlp-endpoint.ts'
import { OtlpSender } from '../../sidecar/signals/otlp-sender.ts'
import { Telemetry } from '../../sidecar/signals/tracing/telemetry.ts'
import { checkClaims } from '../../sidecar/usecases/check.ts'
import { FACTS, linesOf, newDecisionLog } from '../support/signals/decision-log.ts'
import { type Endpoint, type ReceivedByEndpoint, startEndpoint } from '../support/signals/otlp.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

const engine = compile(supportMatrix, {})
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'

async function startSender({
  status = 200,
  answer,
}: {
  status?: Endpoint['status']
  answer?: Endpoint['answer']
} = {}) {
  const endpoint = await startEndpoint(status)
  if (answer !== undefined) endpoint.answer = answer
  const options = {
    url: new URL(`${endpoint.origin}/v1/logs?tenant=a`),
    ...{ ca: undefined, timeoutMs: status === 'silent' ? 50 : 10_000 },
    authorization: new Secret('Bearer of-the-collector'),
  }
  const logs = new OtlpSender({ endpoint: new OtlpEndpoint(options), requestOf: logsRequest })
  whenTheFileEnds(() => logs.close())
  return { received: endpoint.received, logs }
}

function resourceOfSpans(): object {
  const ended: ReadableSpan[] = []
  const none = async () => {}
  const processor = { onStart: () => {}, onEnd: (span: ReadableSpan) => void ended.push(span) }
  const telemetry = new Telemetry({ ...processor, forceFlush: none, shutdown: none }, 100)
  const facts = { name: 'check', kind: 'server', attributes: {} } as const
  telemetry.begin({ metadata: () => [] }, () => facts)?.span?.end()
  return ended[0]?.resource.attributes ?? {}
}

test('a line is a log record: its body, its members, its time and its trace', async () => {
  const { received, logs } = await startSender()
  const { log } = newDecisionLog({ destination: logs, now: () => Date.parse('2026-11-22T09:44:34.123Z') })
  const listener = log.listener({ ...FACTS, traceparent: [`00-${TRACE_ID}-00f067aa0ba902b7-01`] }, undefined)
  const question = { kind: 'iam_token_account_scoped', scope: { account: 'ü"1' }, target: undefined }
  for (const api of ['balance', 'nosuch']) checkClaims({ engine }, { api, ...question }, listener)
  await log.close()
  expect(received).toHaveLength(1)
  const [{ path, headers, body } = {} as ReceivedByEndpoint] = received
  expect(path).toBe('/v1/logs?tenant=a')
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    authorization: 'Bearer of-the-collector',
  })
  const { resourceLogs } = JSON.parse(body)
  // The attributes by which an SDK describes itself are not true of lines.
  const ofSpans = Object.entries(resourceOfSpans()).filter(([key]) => !key.startsWith('telemetry.sdk.'))
  expect(ofSpans.map(([key]) => key).sort()).toEqual([
    ...['host.name', 'service.instance.id', 'service.name', 'service.version'],
  ])
  expect(resourceLogs[0].resource.attributes).toEqual(
    expect.arrayContaining(ofSpans.map(([key, value]) => ({ key, value: { stringValue: value } }))),
  )
  const { scope, logRecords } = resourceLogs[0].scopeLogs[0]
  expect(scope.name).toBe('portcullis.decision_log')
  expect(logRecords).toMatchObject(
    [
      { severityNumber: 9, severityText: 'INFO' },
      { severityNumber: 13, severityText: 'WARN' },
    ].map((severity) => ({ ...severity, timeUnixNano: '1795340674123000000', traceId: TRACE_ID })),
  )
  expect(logRecords[1].attributes).toEqual(
    expect.arrayContaining([
      { key: 'portcullis.allowed', value: { boolValue: false } },
      { key: 'portcullis.reason', value: { stringValue: 'UNKNOWN_API' } },
      { key: 'portcullis.latency_us', value: { intValue: '0' } },
    ]),
  )
  const bodies = logRecords.map(({ body: { stringValue } }: { body: { stringValue: string } }) => stringValue)
  expect(linesOf(`${bodies.join('\n')}\n`).map(({ scope }) => scope)).toEqual([
    { account: 'ü"1' },
    { account: 'ü"1' },
  ])
})

const LINE = '{"time":"2026-11-22T09:44:34.123Z","allowed":true}\n'

/** The outcome of lines: how many bytes are done, which lines are never sent, and the error. */
async function written(logs: OtlpSender, lines: string) {
  const refused: [lines: number, problem: string][] = []
  const outcome = await logs
    .write([Buffer.from(lines)], (...each) => void refused.push(each))
    .catch((error: Error) => error)
  return { outcome, refused }
}

test.each([429, 502, 503, 504])('after the status %i the lines are sent again', async (status) => {
  const { logs } = await startSender({ status })
  expect(await written(logs, LINE)).toEqual({ outcome: expect.any(WriteLater), refused: [] })
})

test.each([400, 401, 404, 413, 500, 302])('after the status %i they never are', async (status) => {
  const { logs } = await startSender({ status })
  const problem = `the endpoint answers with the status ${status}`
  expect(await written(logs, LINE)).toEqual({ outcome: LINE.length, refused: [[1, problem]] })
})

const NOT_OTLP = 'the endpoint answers with the status 200 and a body that is not an answer of OTLP in JSON'
const PARTLY = 'the endpoint rejects a part of what it gets'

test.each<
  [claim: string, body: string, refused: [lines: number, problem: string][], headers?: Record<string, string>]
>([
  ['an empty body', '', []],
  ['an empty object', '{}', []],
  ['no rejections', '{"partialSuccess":{}}', []],
  ['null for rejections', '{"partialSuccess":null,"more":1}', []],
  ['a warning', '{"partialSuccess":{"errorMessage":"use gzip"}}', []],
  [
    'rejections of all',
    '{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}',
    [[3, `${PARTLY}: too old`]],
  ],
  ['a rejection without a reason', '{"partialSuccess":{"rejectedLogRecords":1}}', [[1, PARTLY]]],
  [
    'the other form of names, and more rejections than lines',
    '{"partial_success":{"rejected_log_records":99,"error_message":"no"}}',
    [[3, `${PARTLY}: no`]],
  ],
  [
    'the credential in its reason',
    '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"not of-the-collector"}}',
    [[2, `${PARTLY}: not …`]],
  ],
  ['rejections that are not a number', '{"partialSuccess":{"rejectedLogRecords":"many"}}', [[3, NOT_OTLP]]],
  ['a login page', '<html>Log in</html>', [[3, NOT_OTLP]]],
  ['a list', '[]', [[3, NOT_OTLP]]],
  ['a long text', `"${'x'.repeat(100_000)}"`, [[3, NOT_OTLP]]],
  ['a coded body', '{}', [[3, NOT_OTLP]], { 'content-encoding': 'gzip' }],
])('status 200 with %s loses as many lines as it says', async (_claim, body, refused, headers = {}) => {
  const { logs } = await startSender({ answer: () => ({ body, headers }) })
  expect(await written(logs, LINE.repeat(3))).toEqual({ outcome: 3 * LINE.length, refused })
})

test.each([
  ['7', 7_000],
  ['86400', 300_000],
  ['Wed, 21 Oct 2026 07:28:30 GMT', 30_000],
  ['soon', undefined],
])('an endpoint with Retry-After %s gets no lines for that time', async (value, pauseMs) => {
  const headers = { 'retry-after': value, date: 'Wed, 21 Oct 2026 07:28:00 GMT' }
  const { logs } = await startSender({ status: 503, answer: () => ({ headers }) })
  expect((await written(logs, LINE)).outcome).toMatchObject({ pauseMs })
})

test('a batch that is too large for the endpoint is sent in halves, and only a line that is too large alone is lost', async () => {
  const long = LINE.replace('allowed', `${'x'.repeat(2_000)}":1,"allowed`)
  const { logs, received } = await startSender({
    answer: (body) => (body.length > 3_000 ? { status: 413 } : {}),
  })
  const lines = LINE.repeat(9) + long + LINE.repeat(6)
  const lost: unknown[] = []
  for (let at = 0; at < lines.length; ) {
    const { outcome, refused } = await written(logs, lines.slice(at))
    lost.push(...refused)
    at += outcome as number
  }
  expect(lost).toEqual([[1, 'the endpoint answers with the status 413']])
  const taken = received.filter(({ body }) => body.length <= 3_000).map(({ body }) => JSON.parse(body))
  expect(taken.flatMap(({ resourceLogs }) => resourceLogs[0].scopeLogs[0].logRecords)).toHaveLength(15)
})

test('an endpoint that does not answer is asked again', async () => {
  const { logs } = await startSender({ status: 'silent' })
  expect((await written(logs, LINE)).outcome).toMatchObject({ name: 'TimeoutError' })
})
