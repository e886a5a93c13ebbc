/**
 * Requests over HTTP that no route sees. Each is answered and counted by its listener and its fault, and the
 * log has few lines about them.
 */
import { expect, test } from 'vitest'
import { exchange, runEgress } from '../support/sidecar/egress.ts'
import { eventuallyHolds } from '../support/suite/resources.ts'

const running = await runEgress([{ url: 'http://127.0.0.1:9/' }], {
  flags: {
    ...{ 'http.address': '127.0.0.1:0', 'http.max_header_bytes': 20_000, 'egress.max_header_bytes': 20_000 },
    ...{ 'health.address': '127.0.0.1:0', 'health.metrics': true },
  },
  times: { http: { headersMs: 100, requestMs: 100, checkIntervalMs: 10 } },
})
const { sidecar } = running
const LISTENERS = {
  http: sidecar.httpAddress ?? '',
  egress: sidecar.egressAddress ?? '',
  health: sidecar.healthAddress ?? '',
}
type Listener = keyof typeof LISTENERS

const ask = (to: Listener, ...lines: readonly string[]) =>
  exchange(LISTENERS[to], `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
const statusOf = (answer: string) => Number(answer.split(' ')[1])
const GET = 'GET /healthz HTTP/1.1'
const hostOf = (to: Listener) => `Host: ${LISTENERS[to]}`

const expected: Record<string, Record<string, number>> = { http: {}, egress: {}, health: {} }

test.each<[to: Listener, claim: string, lines: readonly string[], status: number, bound: string]>([
  ...(['http', 'egress', 'health'] as const).flatMap(
    (to): [Listener, string, readonly string[], number, string][] => [
      [to, 'long headers', [GET, hostOf(to), `X: ${'x'.repeat(20_000)}`], 431, 'header_list'],
      [to, 'what is not HTTP', ['hello'], 400, 'protocol_error'],
      [to, 'a tunnel', ['CONNECT a:1 HTTP/1.1', hostOf(to)], 405, 'protocol_error'],
      [to, 'an unknown expectation', [GET, hostOf(to), 'Expect: x'], 417, 'protocol_error'],
      [to, 'a request without Host', [GET], 400, to === 'egress' ? 'protocol_error' : 'host'],
    ],
  ),
  ['http', 'another Host', [GET, 'Host: evil.example'], 403, 'host'],
  ['egress', 'another Host', [GET, 'Host: evil.example'], 403, 'host'],
  ['http', 'a path that cannot be decoded', ['GET /%zz HTTP/1.1', hostOf('http')], 400, 'protocol_error'],
])('%s refuses %s', async (to, _claim, lines, status, bound) => {
  expect(statusOf(await ask(to, ...lines))).toBe(status)
  const counts = expected[to] as Record<string, number>
  counts[bound] = (counts[bound] ?? 0) + 1
})

test.each(['http', 'egress'] as const)('%s refuses a slow request', async (to) => {
  expect(statusOf(await exchange(LISTENERS[to], `${GET}\r\n`))).toBe(408)
  ;(expected[to] as Record<string, number>).request_time = 1
})

test('headers within the configured size are read', async () => {
  expect(statusOf(await ask('http', GET, hostOf('http'), `X: ${'x'.repeat(18_000)}`))).toBe(200)
})

test('all of them are counted, and the log has few lines', async () => {
  // At once for the first of a listener; the others are collected.
  await eventuallyHolds(async () => {
    const metrics = await ask('health', 'GET /metrics HTTP/1.1', hostOf('health'))
    for (const listener of Object.keys(LISTENERS))
      expect(metrics).toContain(
        `portcullis_bounds_exceeded_total{listener="${listener}",bound="header_list"} 1\n`,
      )
  })
  await sidecar.close()
  const counted: Record<string, Record<string, number>> = { http: {}, egress: {}, health: {} }
  const lines = running.logLines.map((line) => JSON.parse(line)).filter(({ exceeded }) => exceeded)
  for (const { listener, exceeded } of lines)
    for (const [bound, count] of Object.entries(exceeded as Record<string, number>)) {
      const counts = counted[listener] as Record<string, number>
      counts[bound] = (counts[bound] ?? 0) + count
    }
  expect(counted).toEqual(expected)
  expect(lines.length).toBeLessThan(15)
})
