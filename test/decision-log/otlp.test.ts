/** OTLP: what the endpoint gets, and what becomes of lines when it does not take them. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { LinesRefused } from '../../sidecar/signals/decision-log/backlog.ts'
import { OtlpLogs } from '../../sidecar/signals/decision-log/otlp-logs.ts'
import { Telemetry } from '../../sidecar/signals/tracing/telemetry.ts'
import { checkClaims } from '../../sidecar/usecases/check.ts'
import { FACTS, linesOf, newDecisionLog } from '../support/signals/decision-log.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

const engine = compile(supportMatrix, {})
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'

interface Received {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function startCollector(status: number | 'silent' = 200) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    received.push({ path: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() })
    if (status !== 'silent') response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs?tenant=a`)
  const logs = new OtlpLogs({
    ...{ url, ca: undefined, timeoutMs: status === 'silent' ? 50 : 10_000 },
    authorization: new Secret('Bearer of-the-collector'),
  })
  whenTheFileEnds(() => logs.close())
  return { received, logs }
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
  const { received, logs } = await startCollector()
  const { log } = newDecisionLog({ destination: logs, now: () => Date.parse('2026-11-22T09:44:34.123Z') })
  const listener = log.listener({ ...FACTS, traceparent: [`00-${TRACE_ID}-00f067aa0ba902b7-01`] }, undefined)
  const question = { kind: 'iam_token_account_scoped', scope: { account: 'ü"1' }, target: undefined }
  for (const api of ['balance', 'nosuch']) checkClaims({ engine }, { api, ...question }, listener)
  await log.close()
  expect(received).toHaveLength(1)
  const [{ path, headers, body } = {} as Received] = received
  expect(path).toBe('/v1/logs?tenant=a')
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    authorization: 'Bearer of-the-collector',
  })
  const { resourceLogs } = JSON.parse(body)
  // What an SDK says of itself is not true of lines.
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

const LINE = Buffer.from('{"time":"2026-11-22T09:44:34.123Z","allowed":true}\n')

test.each([429, 502, 503, 504])('after the status %i the lines are sent again', async (status) => {
  const { logs } = await startCollector(status)
  const outcome = await logs.write([LINE]).catch((error: unknown) => error)
  expect(outcome).toBeInstanceOf(Error)
  expect(outcome).not.toBeInstanceOf(LinesRefused)
})

test.each([400, 401, 404, 413, 500, 302])('after the status %i they never are', async (status) => {
  const { logs } = await startCollector(status)
  await expect(logs.write([LINE])).rejects.toBeInstanceOf(LinesRefused)
})

test('an endpoint that does not answer is asked again', async () => {
  const { logs } = await startCollector('silent')
  const outcome = await logs.write([LINE]).catch((error: unknown) => error)
  expect(outcome).toMatchObject({ name: 'TimeoutError' })
})
