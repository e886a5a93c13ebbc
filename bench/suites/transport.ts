/**
 * The transports of the calls: the sidecar on our own HTTP/2 (`grpc.transport: sockets`, the default), on
 * grpc-js, and nghttpd in C. All bounds on connections are on, at their defaults.
 */
import { interleave } from '../harness/compare.ts'
import { type Contender, contend, reshaped, unary } from '../harness/contender.ts'
import type { Cost } from '../harness/cost.ts'
import type { Workload } from '../harness/grpc.ts'
import { latencyOf } from '../harness/latency.ts'
import type { ServerProcess } from '../harness/process.ts'
import { comparedRow, cpuRow, type RowTexts } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { contendNghttpd, requireNghttpd } from '../servers/nghttpd.ts'
import { type SidecarReady, startConstant, startSidecar } from '../servers/start.ts'
import { BATCH_LENGTH, prepareWorkloads, type Workloads } from '../workloads/checks.ts'

export const transportSuite: Suite = { name: 'transport', run }

interface Effort {
  readonly warmUpCalls: number
  readonly pairs: number
  /** Calls a sample on sockets, of nghttpd, and on grpc-js, where each takes twenty times as long. */
  readonly calls: number
  readonly callsOfNghttpd: number
  readonly callsOnGrpcJs: number
  readonly batches: number
  /** Calls of one caller, who waits for each answer. */
  readonly alone: number
  /** Checks before memory is looked at again, and checks whose garbage is counted. */
  readonly many: number
  readonly some: number
}

const SIZES: Record<Size, Effort> = {
  full: {
    ...{ warmUpCalls: 30_000, pairs: 15, calls: 40_000 },
    ...{ callsOfNghttpd: 40_000, callsOnGrpcJs: 15_000 },
    ...{ batches: 400, alone: 3_000, many: 1_000_000, some: 100_000 },
  },
  smoke: {
    ...{ warmUpCalls: 100, pairs: 1, calls: 100 },
    ...{ callsOfNghttpd: 15_000, callsOnGrpcJs: 100 },
    ...{ batches: 2, alone: 50, many: 200, some: 100 },
  },
}

const METHOD =
  'Processor time of the server process, all threads, over some ten thousand calls, divided by the calls; 8 connections × 16 in flight. The servers take turns under the same driver, and the ratio is the median over the pairs.'
const ALONE_METHOD =
  'One caller on one connection, who waits for each answer, on both transports in turns. The driver runs on Node, and its own part of the latency is in both figures.'
const GARBAGE_METHOD =
  'How much the old generation of V8 grows without a collection of it, over so many unary checks of a warm process, divided by the checks.'
const MEMORY_METHOD =
  'Resident memory after a collection, after so many unary checks of claims, against that of the same process before the first.'

interface Setup {
  readonly sockets: Contender<ServerProcess<SidecarReady>>
  readonly grpcJs: Contender<ServerProcess<SidecarReady>>
  readonly constant: Contender
  readonly workloads: Workloads
  /** Each sidecar has separate tokens. */
  readonly onGrpcJs: Workloads
  /** The question to the constant server. */
  readonly floor: Workload
  readonly answerBytes: number
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const effort = SIZES[size]
  const setup = await setUp(stack)
  const { workloads } = setup
  const memory = await memoryRows(setup, effort)
  await warmUp(setup, effort)
  const skips = new Skips()
  const nghttpd = await skips.obtain(['claims-nghttpd'], requireNghttpd)
  return {
    rows: [
      ...(await busyRows(setup, effort)),
      ...(nghttpd === undefined ? [] : [await nghttpdRow(setup, nghttpd, effort, stack)]),
      ...(await aloneRows(setup, effort, stack)),
      ...memory,
    ],
    skipped: skips.list,
    answersChecked: workloads.answersChecked + setup.onGrpcJs.answersChecked,
  }
}

/** Of a process that has answered only the calls that check its answers. */
async function memoryRows(
  { sockets: { server, load }, workloads }: Setup,
  { many, some }: Effort,
): Promise<Row[]> {
  const idleBytes = await server.residentBytes()
  await load.run(workloads.claims, many)
  const usedBytes = await server.residentBytes()
  const oldBytes = await server.oldGenerationBytes()
  await load.run(workloads.claims, some)
  const grown = Math.max(0, (await server.oldGenerationBytes()) - oldBytes)
  const what = `memory after ${many.toLocaleString('en')} checks`
  return [
    comparedRow(
      { id: 'used-memory', what, method: MEMORY_METHOD },
      'bytes',
      { name: what, samples: [usedBytes] },
      { name: 'idle', samples: [idleBytes] },
    ),
    {
      id: 'old-garbage',
      what: 'old-generation garbage a check',
      a: { name: 'old-generation garbage a check', value: grown / some, unit: 'bytes' },
      method: GARBAGE_METHOD,
    },
  ]
}

async function setUp(stack: AsyncDisposableStack): Promise<Setup> {
  const start = async (transport: 'sockets' | 'grpc-js') => {
    const server = await startSidecar({ transport })
    return contend(server, server.ready.grpc, stack)
  }
  const sockets = await start('sockets')
  const grpcJs = await start('grpc-js')
  const workloads = await prepareWorkloads(sockets.server.ready, sockets.load)
  const onGrpcJs = await prepareWorkloads(grpcJs.server.ready, grpcJs.load)
  const lengths = workloads.claims.answerBytes
  const answerBytes = Math.round(lengths.reduce((sum, bytes) => sum + bytes) / lengths.length)
  const constantServer = await startConstant(answerBytes)
  const constant = await contend(constantServer, constantServer.ready.grpc, stack)
  const floor = { ...workloads.claims, answerBytes: lengths.map(() => answerBytes) }
  return { sockets, grpcJs, constant, workloads, onGrpcJs, floor, answerBytes }
}

async function warmUp(
  { sockets, grpcJs, constant, workloads, onGrpcJs, floor }: Setup,
  { warmUpCalls, batches }: Effort,
): Promise<void> {
  await constant.load.run(floor, warmUpCalls)
  await grpcJs.load.run(onGrpcJs.iamTokens, warmUpCalls)
  for (const { load } of [sockets, grpcJs]) {
    await load.run(workloads.claims, warmUpCalls)
    await load.run(workloads.batch, batches)
  }
}

async function busyRows(
  { sockets, grpcJs, constant, workloads, onGrpcJs, floor }: Setup,
  { pairs, calls, callsOnGrpcJs, batches }: Effort,
): Promise<Row[]> {
  const { claims, batch } = workloads
  const decisions = batches * BATCH_LENGTH
  const batched = ({ server, load }: Contender) => {
    return () => server.costPerCall(decisions, () => load.run(batch, batches))
  }
  const samples = await interleave(
    {
      floor: unary(constant, floor, callsOnGrpcJs),
      claims: unary(sockets, claims, calls),
      batch: batched(sockets),
      otherClaims: unary(grpcJs, claims, callsOnGrpcJs),
      otherIam: unary(grpcJs, onGrpcJs.iamTokens, callsOnGrpcJs),
      otherBatch: batched(grpcJs),
    },
    pairs,
  )
  const texts = (id: string, what: string): RowTexts => ({ id, what, method: METHOD })
  const constantName = 'constant of grpc-js'
  return [
    cpuRow(texts('claims', 'Check of claims'), samples.claims, 'the sidecar on grpc-js', samples.otherClaims),
    cpuRow(
      texts('batch', `a decision in a CheckBatch of ${BATCH_LENGTH}`),
      samples.batch,
      'the sidecar on grpc-js',
      samples.otherBatch,
    ),
    cpuRow(
      texts('grpc-js-claims', 'Check of claims, on grpc-js'),
      samples.otherClaims,
      constantName,
      samples.floor,
    ),
    cpuRow(
      texts('grpc-js-iam-token', 'Check of an IAM token, warm, on grpc-js'),
      samples.otherIam,
      constantName,
      samples.floor,
    ),
  ]
}

async function nghttpdRow(
  { sockets, workloads, floor, answerBytes }: Setup,
  command: string,
  { warmUpCalls, pairs, callsOfNghttpd: calls }: Effort,
  stack: AsyncDisposableStack,
): Promise<Row> {
  const nghttpd = await contendNghttpd(command, answerBytes, stack)
  await nghttpd.load.run(floor, warmUpCalls)
  const { claims, file } = await interleave(
    { claims: unary(sockets, workloads.claims, calls), file: unary(nghttpd, floor, calls) },
    pairs,
  )
  const texts = { id: 'claims-nghttpd', what: 'Check of claims', method: METHOD }
  return cpuRow(texts, claims, 'nghttpd, a file as long', file)
}

async function aloneRows(
  { sockets, grpcJs, workloads }: Setup,
  { pairs, alone }: Effort,
  stack: AsyncDisposableStack,
): Promise<Row[]> {
  const shape = { connections: 1, inFlight: 1 }
  const [ours, theirs] = [await reshaped(sockets, shape, stack), await reshaped(grpcJs, shape, stack)]
  const samples = await interleave(
    { ours: unary(ours, workloads.claims, alone), theirs: unary(theirs, workloads.claims, alone) },
    pairs,
  )
  const row = (id: string, name: string, of: 'p50Microseconds' | 'p99Microseconds') => {
    const side = (costs: readonly Cost[]) => costs.map(({ latencies }) => latencyOf([latencies])[of])
    return comparedRow(
      { id, what: name, method: ALONE_METHOD },
      'µs',
      { name, samples: side(samples.ours) },
      { name: 'the sidecar on grpc-js', samples: side(samples.theirs) },
    )
  }
  return [
    row('alone-p50', 'latency of one caller, median', 'p50Microseconds'),
    row('alone-p99', 'latency of one caller, 99th percentile', 'p99Microseconds'),
  ]
}
