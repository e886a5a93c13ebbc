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

interface Effort {
  readonly warmUpCalls: number
  /** V8 optimises the way of a batch only after some thousands. */
  readonly warmUpBatches: number
  readonly pairs: number
  /** Calls a sample; as many decisions on streams. */
  readonly calls: number
  /** Batches a sample. */
  readonly batches: number
}

interface Efforts {
  readonly busy: Effort
  readonly lighter: Pick<Effort, 'pairs' | 'calls'>
  readonly baselines: BaselineEffort
}

const SIZES: Record<Size, Efforts> = {
  full: {
    busy: { warmUpCalls: 20_000, warmUpBatches: 3_000, pairs: 15, calls: 15_000, batches: 400 },
    lighter: { pairs: 9, calls: 2_500 },
    baselines: { warmUpCalls: 10_000, pairs: 9, calls: 6_000, nghttpdCalls: 30_000 },
  },
  smoke: {
    busy: { warmUpCalls: 100, warmUpBatches: 2, pairs: 2, calls: 100, batches: 2 },
    lighter: { pairs: 1, calls: 50 },
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
  'As above, for each decision, against unary checks of the same claims by the same sidecar. The stream: one a connection, 16 questions in flight on each.'

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

  const { busy, lighter, baselines } = SIZES[size]
  const rows = await busyRows(sidecar, works, constant, floor, busy)
  for (const shape of LIGHTER) {
    const [ours, theirs] = [await reshaped(sidecar, shape, stack), await reshaped(constant, shape, stack)]
    const samples = await interleave(
      { claims: unary(ours, claims, lighter.calls), floor: unary(theirs, floor, lighter.calls) },
      lighter.pairs,
    )
    const inFlight = `${shape.connections} × ${shape.inFlight}`
    rows.push(
      costRow(
        `check-claims-${shape.connections}x${shape.inFlight}`,
        `Check of claims, ${inFlight} in flight`,
        samples.claims,
        'constant',
        samples.floor,
        CHECK_METHOD,
      ),
    )
  }
  const below = await baselineRows(constant, floor, baselines)
  return { rows: [...rows, ...below.rows], skipped: below.skipped, answersChecked }
}

/** Everything that is asked with many calls in flight. */
async function busyRows(
  sidecar: Contender,
  { claims, iamTokens, staticToken, batch, stream }: Workloads,
  constant: Contender,
  floor: Workload,
  { warmUpCalls, warmUpBatches, pairs, calls, batches }: Effort,
): Promise<Row[]> {
  const { server, load } = sidecar
  await constant.load.run(floor, warmUpCalls)
  for (const workload of [claims, iamTokens, staticToken]) await load.run(workload, warmUpCalls)
  await load.run(batch, warmUpBatches)
  await load.runStreams(stream, warmUpCalls)
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
  const row = (
    id: string,
    what: string,
    a: keyof typeof samples,
    b: 'floor' | 'claims',
    method: string,
  ): Row => costRow(id, what, samples[a], b === 'floor' ? 'constant' : 'Check of claims', samples[b], method)
  return [
    row('check-claims', 'Check of claims', 'claims', 'floor', CHECK_METHOD),
    row('check-iam-token', 'Check of an IAM token, warm', 'iam', 'floor', METHOD),
    row('check-iam-token-claims', 'Check of an IAM token, warm', 'iam', 'claims', METHOD),
    row('check-static-token', 'Check of a static token', 'static', 'floor', METHOD),
    row('check-batch', `a decision in a CheckBatch of ${BATCH_LENGTH}`, 'batch', 'claims', DECISION_METHOD),
    row('check-stream', 'a decision on a CheckStream', 'stream', 'claims', DECISION_METHOD),
  ]
}
