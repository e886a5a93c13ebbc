/**
 * The sidecar over loopback: the processor time that a call costs the server, compared with a call of grpc-js
 * that does nothing. Time on the clock would include the client and other programs.
 */
import { interleave } from '../harness/compare.ts'
import { type Contender, contend, reshaped, unary } from '../harness/contender.ts'
import type { Shape, Workload } from '../harness/grpc.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { startConstant, startSidecar } from '../servers/start.ts'
import { BATCH_LENGTH, prepareWorkloads, type Workloads } from '../workloads/checks.ts'
import { type BaselineEffort, baselineRows } from './baselines.ts'

export const sidecarSuite: Suite = { name: 'sidecar', run }

interface Samples {
  /** Calls a sample; as many decisions on streams. */
  readonly calls: number
  /** Calls a sample of the constant server, each of which takes twenty times as long. */
  readonly floorCalls: number
  /** Batches a sample. V8 optimises the code of a batch only after some thousands. */
  readonly batches: number
}

interface Effort extends Samples {
  readonly pairs: number
}

interface Efforts {
  readonly warmUp: Samples
  readonly busy: Effort
  readonly lighter: Effort
  readonly baselines: BaselineEffort
}

const SIZES: Record<Size, Efforts> = {
  full: {
    warmUp: { calls: 30_000, floorCalls: 20_000, batches: 3_000 },
    busy: { pairs: 15, calls: 40_000, floorCalls: 15_000, batches: 400 },
    lighter: { pairs: 9, calls: 10_000, floorCalls: 2_500, batches: 100 },
    baselines: { warmUpCalls: 10_000, pairs: 9, calls: 6_000, nghttpdCalls: 30_000 },
  },
  smoke: {
    warmUp: { calls: 100, floorCalls: 100, batches: 2 },
    busy: { pairs: 2, calls: 100, floorCalls: 100, batches: 2 },
    lighter: { pairs: 1, calls: 50, floorCalls: 50, batches: 2 },
    baselines: { warmUpCalls: 100, pairs: 1, calls: 100, nghttpdCalls: 15_000 },
  },
}

/** Lighter loads: eight callers that each wait for their answer, and one. */
const LIGHTER: readonly Shape[] = [
  { connections: 8, inFlight: 1 },
  { connections: 1, inFlight: 1 },
]

const METHOD =
  'Processor time of the server process, all threads, over many thousand calls, divided by the calls; 8 connections × 16 in flight unless the row says otherwise. The servers take turns under the same driver, and the ratio is the median over the pairs. After the processor time stand calls a second by the clock, while server and driver share the processors.'
const CHECK_METHOD = `${METHOD} The constant is as long as the sidecar's answers are on average.`
const DECISION_METHOD =
  'Measured in the same way, for each decision, against unary checks of the same claims by the same sidecar.'
const BATCH_METHOD = `${DECISION_METHOD} The latency is that of a whole call with ${BATCH_LENGTH} decisions.`
const STREAM_METHOD = `${DECISION_METHOD} One stream a connection, with as many questions in flight on each as the row says. The latency runs from the writing of a question to its answer.`

/** The contenders, and their questions. */
interface Setup {
  readonly sidecar: Contender
  readonly workloads: Workloads
  readonly constant: Contender
  readonly floor: Workload
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const setup = await setUp(stack)
  const { warmUp: warmUpSamples, busy, lighter, baselines } = SIZES[size]
  await warmUp(setup, warmUpSamples)
  const rows = await checkRows(setup, busy)
  for (const shape of LIGHTER) {
    const sidecar = await reshaped(setup.sidecar, shape, stack)
    const constant = await reshaped(setup.constant, shape, stack)
    rows.push(...(await checkRows({ ...setup, sidecar, constant }, lighter, shape)))
  }
  const below = await baselineRows(setup.constant, setup.floor, baselines)
  return {
    rows: [...rows, ...below.rows],
    skipped: below.skipped,
    answersChecked: setup.workloads.answersChecked,
  }
}

/** Starts the sidecar and a constant server whose answers are as long as the sidecar's are on average. */
async function setUp(stack: AsyncDisposableStack): Promise<Setup> {
  const server = await startSidecar()
  const sidecar = await contend(server, server.ready.grpc, stack)
  const workloads = await prepareWorkloads(server.ready, sidecar.load)
  const { claims } = workloads
  const answerBytes = Math.round(
    claims.answerBytes.reduce((sum, bytes) => sum + bytes) / claims.answerBytes.length,
  )
  const constantServer = await startConstant(answerBytes)
  const constant = await contend(constantServer, constantServer.ready.grpc, stack)
  const floor = { ...claims, answerBytes: claims.answerBytes.map(() => answerBytes) }
  return { sidecar, workloads, constant, floor }
}

async function warmUp(
  { sidecar: { load }, workloads, constant, floor }: Setup,
  { calls, floorCalls, batches }: Samples,
): Promise<void> {
  const { claims, iamTokens, staticToken, batch, stream } = workloads
  await constant.load.run(floor, floorCalls)
  for (const workload of [claims, iamTokens, staticToken]) await load.run(workload, calls)
  await load.run(batch, batches)
  await load.runStreams(stream, calls)
}

/** All kinds of checks under one load. @param shape absent: the busy one */
async function checkRows(
  { sidecar, workloads, constant, floor }: Setup,
  { pairs, calls, floorCalls, batches }: Effort,
  shape?: Shape,
): Promise<Row[]> {
  const { server, load } = sidecar
  const { claims, iamTokens, staticToken, batch, stream } = workloads
  const decisions = batches * BATCH_LENGTH
  const samples = await interleave(
    {
      floor: unary(constant, floor, floorCalls),
      claims: unary(sidecar, claims, calls),
      iam: unary(sidecar, iamTokens, calls),
      static: unary(sidecar, staticToken, calls),
      batch: () => server.costPerCall(decisions, () => load.run(batch, batches)),
      stream: () => server.costPerCall(calls, () => load.runStreams(stream, calls)),
    },
    pairs,
  )
  const ending = shape === undefined ? '' : `-${shape.connections}x${shape.inFlight}`
  const under = shape === undefined ? '' : `, ${shape.connections} × ${shape.inFlight} in flight`
  type Name = keyof typeof samples
  const row = (id: string, what: string, a: Name, b: 'floor' | 'claims', method: string): Row =>
    cpuRow(
      { id: `${id}${ending}`, what: `${what}${under}`, method },
      samples[a],
      b === 'floor' ? 'constant' : 'Check of claims',
      samples[b],
    )
  return [
    row('check-claims', 'Check of claims', 'claims', 'floor', CHECK_METHOD),
    row('check-iam-token', 'Check of an IAM token, warm', 'iam', 'floor', METHOD),
    row('check-static-token', 'Check of a static token', 'static', 'floor', METHOD),
    row('check-batch', `a decision in a CheckBatch of ${BATCH_LENGTH}`, 'batch', 'claims', BATCH_METHOD),
    row('check-stream', 'a decision on a CheckStream', 'stream', 'claims', STREAM_METHOD),
  ]
}
