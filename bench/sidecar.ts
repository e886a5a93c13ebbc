/**
 * The sidecar over loopback: how much processor time a call costs the server, in terms of what grpc-js spends on
 * a call that does nothing. Time on the clock would measure the client and the neighbours as well.
 */
import { compile } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { type BaselineEffort, baselineRows } from './baselines.ts'
import { interleave } from './compare.ts'
import { type Contender, contend, costRow, reshaped, unary } from './contender.ts'
import type { Shape, Workload } from './load.ts'
import { startConstantServer, startSidecarProcess } from './server-process.ts'
import type { Row, Size, Suite, SuiteReport } from './suite.ts'
import { BATCH_LENGTH, prepareWorkloads, type Workloads } from './workloads.ts'

export const sidecarSuite: Suite = { name: 'sidecar', run }

interface Samples {
  /** Calls a sample; as many decisions on streams. */
  readonly calls: number
  /** Batches a sample. V8 optimises the way of a batch only after some thousands. */
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
    warmUp: { calls: 20_000, batches: 3_000 },
    busy: { pairs: 15, calls: 15_000, batches: 400 },
    lighter: { pairs: 9, calls: 2_500, batches: 100 },
    baselines: { warmUpCalls: 10_000, pairs: 9, calls: 6_000, nghttpdCalls: 30_000 },
  },
  smoke: {
    warmUp: { calls: 100, batches: 2 },
    busy: { pairs: 2, calls: 100, batches: 2 },
    lighter: { pairs: 1, calls: 50, batches: 2 },
    baselines: { warmUpCalls: 100, pairs: 1, calls: 100, nghttpdCalls: 15_000 },
  },
}

/** Loads below the busy one: eight callers that each wait for their answer, and one. */
const LIGHTER: readonly Shape[] = [
  { connections: 8, inFlight: 1 },
  { connections: 1, inFlight: 1 },
]

const METHOD =
  'Processor time of the server process, all threads, over a few thousand calls, divided by the calls; 8 connections × 16 in flight, unless the row says otherwise. The servers take turns under the same driver, and the ratio is the median over the pairs. Behind the processor time, calls a second by the clock, while server and driver share the processors.'
const CHECK_METHOD = `${METHOD} The constant is as long as the sidecar's answers on average.`
const DECISION_METHOD =
  'As above, for each decision, against unary checks of the same claims by the same sidecar. The stream: one a connection, as many questions in flight on each as the row says.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const server = await startSidecarProcess()
  const sidecar = await contend(server, server.ready.grpc, stack)
  const works = await prepareWorkloads(compile(supportMatrix), server.ready, sidecar.load)
  const { claims, answersChecked } = works
  const answerBytes = Math.round(
    claims.answerBytes.reduce((sum, bytes) => sum + bytes) / claims.answerBytes.length,
  )
  const constantServer = await startConstantServer(answerBytes)
  const constant = await contend(constantServer, constantServer.ready.grpc, stack)
  const floor: Workload = { ...claims, answerBytes: claims.answerBytes.map(() => answerBytes) }

  const { warmUp, busy, lighter, baselines } = SIZES[size]
  await warmedUp(sidecar, works, constant, floor, warmUp)
  const rows = await checkRows({ sidecar, constant, works, floor, ...busy })
  for (const shape of LIGHTER) {
    const [ours, theirs] = [await reshaped(sidecar, shape, stack), await reshaped(constant, shape, stack)]
    rows.push(...(await checkRows({ sidecar: ours, constant: theirs, works, floor, shape, ...lighter })))
  }
  const below = await baselineRows(constant, floor, baselines)
  return { rows: [...rows, ...below.rows], skipped: below.skipped, answersChecked }
}

async function warmedUp(
  { load }: Contender,
  { claims, iamTokens, staticToken, batch, stream }: Workloads,
  constant: Contender,
  floor: Workload,
  { calls, batches }: Samples,
): Promise<void> {
  await constant.load.run(floor, calls)
  for (const workload of [claims, iamTokens, staticToken]) await load.run(workload, calls)
  await load.run(batch, batches)
  await load.runStreams(stream, calls)
}

/** Every sort of check under one load. */
async function checkRows({
  sidecar,
  constant,
  works: { claims, iamTokens, staticToken, batch, stream },
  floor,
  shape,
  pairs,
  calls,
  batches,
}: Effort & {
  readonly sidecar: Contender
  readonly constant: Contender
  readonly works: Workloads
  readonly floor: Workload
  /** Absent: the busy one. */
  readonly shape?: Shape
}): Promise<Row[]> {
  const { server, load } = sidecar
  const decisions = batches * BATCH_LENGTH
  const samples = await interleave(
    {
      floor: unary(constant, floor, calls),
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
  const row = (
    id: string,
    what: string,
    a: keyof typeof samples,
    b: 'floor' | 'claims',
    method: string,
  ): Row =>
    costRow(
      `${id}${ending}`,
      `${what}${under}`,
      samples[a],
      b === 'floor' ? 'constant' : 'Check of claims',
      samples[b],
      method,
    )
  return [
    row('check-claims', 'Check of claims', 'claims', 'floor', CHECK_METHOD),
    row('check-iam-token', 'Check of an IAM token, warm', 'iam', 'floor', METHOD),
    row('check-iam-token-claims', 'Check of an IAM token, warm', 'iam', 'claims', METHOD),
    row('check-static-token', 'Check of a static token', 'static', 'floor', METHOD),
    row('check-batch', `a decision in a CheckBatch of ${BATCH_LENGTH}`, 'batch', 'claims', DECISION_METHOD),
    row('check-stream', 'a decision on a CheckStream', 'stream', 'claims', DECISION_METHOD),
  ]
}
