/**
 * The cost of being seen: the same checks, asked of sidecars that count, log every decision, record traces
 * or compare another matrix, and of one that does not.
 */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { supportMatrix } from '../../matrix/index.ts'
import { interleave, type Measure } from '../harness/compare.ts'
import { type Contender, contend, unary } from '../harness/contender.ts'
import type { Cost } from '../harness/cost.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startSidecar } from '../servers/start.ts'
import { prepareWorkloads, type Workloads } from '../workloads/checks.ts'

export const signalsSuite: Suite = { name: 'signals', run }

const SIZES = {
  full: { warmUpCalls: 60_000, pairs: 25, calls: 60_000 },
  smoke: { warmUpCalls: 50, pairs: 1, calls: 100 },
} as const

const METHOD =
  'Processor time of the sidecar for each call, all threads, 8 connections × 16 in flight, on sockets. The sidecars take turns under the same driver, and the ratio is the median over the rounds.'

/** The signals, by the beginning of their rows. */
const SIGNALS = {
  metrics: {
    name: 'metrics',
    method: 'One has a health listener with metrics, which is not scraped.',
    environment: () => ({ PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0' }),
  },
  'decision-log': {
    name: 'a decision log',
    method: 'One writes a line for each decision to a file, which is counted.',
    environment: ({ folder }: Places) => ({
      PORTCULLIS_DECISION_LOG_FILE_PATH: join(folder, 'decisions.log'),
      PORTCULLIS_DECISION_LOG_FILE_KEEP: '1',
    }),
  },
  traces: {
    name: 'traces',
    method:
      'One records one call of a hundred, and sends its spans to an endpoint on this machine, which is counted.',
    environment: ({ endpoint }: Places) => ({
      PORTCULLIS_TRACES_OTLP_URL: endpoint,
      PORTCULLIS_TRACES_SAMPLE_PERCENT: '1',
    }),
  },
} as const satisfies Record<string, Signal>

interface Signal {
  readonly name: string
  readonly method: string
  readonly environment: (places: Places) => Readonly<Record<string, string>>
}

/** Where signals go. */
interface Places {
  readonly folder: string
  readonly endpoint: string
}

const EVERYTHING: Signal = {
  name: 'everything',
  method: 'One has metrics, a decision log and traces, as in the other rows.',
  environment: (places) =>
    Object.assign({}, ...Object.values(SIGNALS).map((each) => each.environment(places))),
}

/** It is not part of `everything`: it is there while an owner tries a change. */
const SHADOW: Signal = {
  name: 'a second matrix',
  method: 'One has `matrix_shadow`, of which one cell in ten differs.',
  environment: ({ folder }: Places) => {
    const file = join(folder, 'shadow.json')
    writeFileSync(file, JSON.stringify(shadowMatrix()))
    return { PORTCULLIS_MATRIX_SHADOW: file }
  },
}

/** One cell in ten, over all APIs and kinds. */
const DIFFERS_EVERY = 10

/** The shipped matrix without its prose, in which one cell in ten is another one. */
function shadowMatrix(): object {
  let cell = 0
  const apis = supportMatrix.apis.map((api) => {
    const accepts = supportMatrix.tokenKinds
      .map(({ id }) => id)
      .filter((id) => api.accepts.includes(id) !== (cell++ % DIFFERS_EVERY === 0))
    return { ...api, accepts }
  })
  return { ...supportMatrix, apis, statements: [], conflicts: [] }
}

const WORKLOADS = {
  claims: { id: 'claims', what: 'Check of claims' },
  iamTokens: { id: 'iam-token', what: 'Check of an IAM token, warm' },
} as const

const KINDS = Object.keys(WORKLOADS) as (keyof typeof WORKLOADS)[]

interface Asked {
  readonly contender: Contender
  readonly workloads: Workloads
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const { warmUpCalls, pairs, calls } = SIZES[size]
  const places = { folder: temporaryFolder(stack), endpoint: await startEndpoint(stack) }
  const signals: Readonly<Record<string, Signal>> = { ...SIGNALS, everything: EVERYTHING, shadow: SHADOW }
  const asked: Record<string, Asked> = {}
  for (const name of [...Object.keys(signals), 'plain']) {
    const environment = signals[name]?.environment(places) ?? {}
    const server = await startSidecar({ transport: 'sockets', environment })
    const contender = await contend(server, server.ready.grpc, stack)
    const workloads = await prepareWorkloads(server.ready, contender.load)
    for (const each of KINDS) await contender.load.run(workloads[each], warmUpCalls)
    asked[name] = { contender, workloads }
  }
  const measures: Record<string, Measure<Cost>> = {}
  for (const [name, { contender, workloads }] of Object.entries(asked))
    for (const kind of KINDS) measures[`${name} ${kind}`] = unary(contender, workloads[kind], calls)
  const samples = await interleave(measures, pairs)
  const rows = Object.entries(signals).flatMap(([name, signal]) =>
    KINDS.map((kind): Row => {
      const { id, what } = WORKLOADS[kind]
      const named = {
        id: `${name}-${id}`,
        what: `${what}, with ${signal.name}`,
        method: `${METHOD} ${signal.method}`,
      }
      return cpuRow(
        named,
        samples[`${name} ${kind}`] ?? [],
        'the same without',
        samples[`plain ${kind}`] ?? [],
      )
    }),
  )
  const answersChecked = Object.values(asked).reduce(
    (sum, { workloads }) => sum + workloads.answersChecked,
    0,
  )
  return { rows, answersChecked }
}

/** An endpoint that takes everything. @returns its URL */
async function startEndpoint(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end('{}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
}
