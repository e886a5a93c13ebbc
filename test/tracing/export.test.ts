/**
 * Endpoints that are wrong, dead or slow: no call waits for them, waiting spans are bounded, and lost spans
 * are counted and reported.
 */
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { OtlpAnswer } from '../../sidecar/signals/otlp-endpoint.ts'
import { Export } from '../../sidecar/signals/tracing/export.ts'
import { Telemetry } from '../../sidecar/signals/tracing/telemetry.ts'
import { Meters } from '../../sidecar/usecases/decision-meters.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const folder = newFolder()

test.each<[settings: Record<string, string | number>, message: string]>([
  [
    { 'traces.otlp.url': 'http://collector.example/v1/traces' },
    'traces.otlp.url: expected https, or an address of this machine: spans say who asks for what',
  ],
  [
    { 'traces.otlp.url': 'https://me:secret@collector.example/' },
    'traces.otlp.url: expected a URL without a user name and without a fragment',
  ],
  [{ 'traces.otlp.url': 'ftp://collector.example/' }, 'traces.otlp.url: expected '],
  [
    { 'traces.otlp.url': 'https://c.example/', 'traces.otlp.authorization_file': join(folder, 'none') },
    `traces.otlp.authorization_file: ${join(folder, 'none')} cannot be read (ENOENT)`,
  ],
  [
    { 'traces.otlp.url': 'https://c.example/', 'traces.otlp.ca': newFile('nonsense') },
    'traces.otlp.ca: expected certificates in PEM in ',
  ],
  [{ 'traces.sample_percent': 101 }, 'traces.sample_percent: expected '],
  [{ 'traces.otlp.timeout_ms': 1 }, 'traces.otlp.timeout_ms: expected '],
])('%j is refused at the start', async (flags, message) => {
  await expect(runSidecar({ flags })).rejects.toThrow(message)
})

/** How many spans had this result. */
function counted(read: { read(): ReturnType<Meters['read']> }, result: string): number {
  const metric = read.read().find(({ name }) => name === 'portcullis_trace_spans_total')
  return metric?.samples.find(({ labels }) => labels.result === result)?.value ?? 0
}

test('an endpoint without a server fails no check; the spans are counted as dropped, and the log says so', async () => {
  const { sidecar, client, logLines } = await runSidecar({
    flags: {
      ...{ 'traces.otlp.url': 'http://127.0.0.1:1/v1/traces', 'traces.sample_percent': 100 },
      'health.address': '127.0.0.1:0',
    },
  })
  for (let index = 0; index < 50; index++)
    await client.check({ api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } })
  await sidecar.close()
  const meters = { read: () => [...sidecar.metrics()] }
  expect([counted(meters, 'dropped'), counted(meters, 'exported')]).toEqual([50, 0])
  expect(logLines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({
      ...{ spans: 50, problem: 'ECONNREFUSED', msg: 'spans were dropped; calls go on' },
    }),
  )
})

interface Said {
  readonly spans: number
  readonly problem: string
}

/** A way to an endpoint that answers as the test says. */
function newExport(answer: (attempt: number) => Promise<OtlpAnswer>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let attempts = 0
  const said: Said[] = []
  const meters = new Meters()
  const processor = new Export({
    endpoint: { post: () => answer(++attempts), close: async () => {} },
    log: { warn: (about: Said) => void said.push(about) } as never,
    ...{ meters, delayMs: 1 },
  })
  const telemetry = new Telemetry(processor, 100)
  const record = (spans: number, name = 'x') => {
    for (let index = 0; index < spans; index++)
      telemetry.begin({ metadata: () => [] }, () => ({ name, kind: 'server', attributes: {} }))?.span?.end()
  }
  const results = () => ({ exported: counted(meters, 'exported'), dropped: counted(meters, 'dropped') })
  return { telemetry, record, said, results, attempts: () => attempts }
}

afterEach(() => {
  vi.useRealTimers()
})

const away = async () => {
  throw new Error('away')
}
const taken = async () => ({ status: 200, body: '' })
const PARTIAL = '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'

test.each<
  [
    claim: string,
    answer: (attempt: number) => Promise<OtlpAnswer>,
    attempts: number,
    exported: number,
    problem?: string,
  ]
>([
  ['takes them', taken, 1, 3],
  ['is away for a while', async (attempt) => (attempt < 4 ? away() : taken()), 4, 3],
  ['has no room for a while', async (attempt) => (attempt < 4 ? { status: 429 } : taken()), 4, 3],
  [
    'takes none, however few',
    async () => ({ status: 413 }),
    4,
    0,
    'the endpoint answers with the status 413',
  ],
  ['refuses them', async () => ({ status: 400 }), 1, 0, 'the endpoint answers with the status 400'],
  [
    'rejects two',
    async () => ({ status: 200, body: PARTIAL }),
    1,
    1,
    'the endpoint rejects a part of what it gets: too old',
  ],
])(
  'spans for an endpoint that %s are sent as often as makes sense',
  async (_claim, answer, attempts, exported, problem) => {
    const { telemetry, record, results, attempts: made, said } = newExport(answer)
    record(3)
    await vi.advanceTimersByTimeAsync(60_000)
    expect({ made: made(), ...results() }).toEqual({ made: attempts, exported, dropped: 3 - exported })
    await telemetry[Symbol.asyncDispose]()
    const dropped = said.reduce((sum, { spans }) => sum + spans, 0)
    expect({ dropped, problem: said[0]?.problem }).toEqual({ dropped: 3 - exported, problem })
  },
)

test('beyond the bound spans are dropped, and the log says so at once and then once a minute', async () => {
  const gate = Promise.withResolvers<OtlpAnswer>()
  const { telemetry, record, results, said } = newExport(() => gate.promise)
  // Spans with the longest names that fit into few blocks.
  let recorded = 0
  for (; results().dropped === 0 && recorded < 200; recorded++) record(1, 'x'.repeat(80_000))
  expect(recorded).toBeLessThan(200)
  expect(said).toEqual([{ spans: 1, problem: 'spans arrive faster than they can be sent' }])
  record(9, 'x'.repeat(80_000))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(said.map(({ spans }) => spans)).toEqual([1, 9])
  record(5, 'x'.repeat(80_000))
  expect(said).toHaveLength(2)
  gate.resolve(await taken())
  await telemetry[Symbol.asyncDispose]()
  expect(results()).toEqual({ exported: recorded - 1, dropped: 15 })
  expect(said.map(({ spans }) => spans)).toEqual([1, 9, 5])
})

test('a sidecar that stops waits for an endpoint that does not answer for a bounded time', async () => {
  const { telemetry, record, results, said } = newExport(() => new Promise(() => {}))
  record(4)
  const closed = telemetry[Symbol.asyncDispose]()
  await vi.advanceTimersByTimeAsync(5_000)
  await closed
  expect(results()).toEqual({ exported: 0, dropped: 4 })
  expect(said.map(({ spans }) => spans)).toEqual([4])
})
