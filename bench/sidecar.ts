/**
 * The sidecar over loopback: how much processor time a call costs the server, in terms of what grpc-js spends on
 * a call that does nothing. Time on the clock would measure the client and the neighbours as well.
 */
import { compile } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { interleave, type Measure, median, ratioOf } from './compare.ts'
import { Load, type Workload } from './load.ts'
import { type ServerProcess, startConstantServer, startSidecarProcess } from './server-process.ts'
import type { Figure, Row, Size, Suite, SuiteReport } from './suite.ts'
import { BATCH_LENGTH, prepareWorkloads } from './workloads.ts'

export const sidecarSuite: Suite = { name: 'sidecar', run }

const SIZES = {
  full: { warmUpCalls: 20_000, pairs: 21, rounds: 9, calls: 10_000 },
  smoke: { warmUpCalls: 200, pairs: 2, rounds: 1, calls: 200 },
} as const

const METHOD =
  'Processor time of the server process, all threads, over a few thousand calls, 8 connections × 16 in flight, divided by the calls; sidecar and constant server take turns under the same driver, and the ratio is the median over the pairs.'
const CHECK_METHOD = `${METHOD} The constant is as long as the sidecar's answers on average.`
const DECISION_METHOD =
  'As above, for each decision, against unary checks of the same claims by the same sidecar. The stream: one a connection, 16 questions in flight on each.'

/** A server with its load. */
interface Contender {
  readonly server: ServerProcess<{ readonly grpc: string }>
  readonly load: Load
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const contend = async (server: ServerProcess<{ readonly grpc: string }>): Promise<Contender> => {
    stack.defer(() => server.stop())
    const load = await Load.connect(server.ready.grpc)
    stack.defer(() => load.close())
    return { server, load }
  }
  const sidecarServer = await startSidecarProcess()
  const sidecar = await contend(sidecarServer)
  const works = await prepareWorkloads(compile(supportMatrix), sidecarServer.ready, sidecar.load)
  const { claims, iamTokens, staticToken, batch, stream, answersChecked } = works
  const answerBytes = Math.round(
    claims.answerBytes.reduce((sum, bytes) => sum + bytes) / claims.answerBytes.length,
  )
  const constant = await contend(await startConstantServer(answerBytes))
  const floor: Workload = { ...claims, answerBytes: claims.answerBytes.map(() => answerBytes) }

  const { warmUpCalls, pairs, rounds, calls } = SIZES[size]
  const unary = (contender: Contender, workload: Workload) => () =>
    contender.server.cpuPerCall(calls, () => contender.load.run(workload, calls))

  await Promise.all([sidecar.load.run(claims, warmUpCalls), constant.load.run(floor, warmUpCalls)])
  await sidecar.load.run(iamTokens, warmUpCalls)
  const gated = await interleave(
    { claims: unary(sidecar, claims), floor: unary(constant, floor), iam: unary(sidecar, iamTokens) },
    pairs,
  )

  const others: Record<'floor' | 'claims' | 'iam' | 'static' | 'batch' | 'stream', Measure> = {
    floor: unary(constant, floor),
    claims: unary(sidecar, claims),
    iam: unary(sidecar, iamTokens),
    static: unary(sidecar, staticToken),
    batch: () => {
      const batches = Math.ceil((calls * 3) / BATCH_LENGTH)
      return sidecar.server.cpuPerCall(batches * BATCH_LENGTH, () => sidecar.load.run(batch, batches))
    },
    stream: () => sidecar.server.cpuPerCall(calls * 3, () => sidecar.load.runStreams(stream, calls * 3)),
  }
  // Once around to warm up, and then for the figures.
  await interleave(others, 1)
  const samples = await interleave(others, rounds)

  const rows: Row[] = [
    row('check-claims', 'Check of claims', gated.claims, 'constant', gated.floor, CHECK_METHOD),
    row('check-iam-token', 'Check of an IAM token, warm', samples.iam, 'constant', samples.floor, METHOD),
    row(
      'check-iam-token-claims',
      'Check of an IAM token, warm',
      gated.iam,
      'Check of claims',
      gated.claims,
      METHOD,
    ),
    row('check-static-token', 'Check of a static token', samples.static, 'constant', samples.floor, METHOD),
    row(
      'check-batch',
      `a decision in a CheckBatch of ${BATCH_LENGTH}`,
      samples.batch,
      'Check',
      samples.claims,
      DECISION_METHOD,
    ),
    row(
      'check-stream',
      'a decision on a CheckStream',
      samples.stream,
      'Check',
      samples.claims,
      DECISION_METHOD,
    ),
  ]
  return { rows, answersChecked }
}

function row(id: string, what: string, a: number[], nameOfB: string, b: number[], method: string): Row {
  return { id, what, a: figure(what, a), b: figure(nameOfB, b), ratio: ratioOf(a, b), method }
}

function figure(name: string, samples: readonly number[]): Figure {
  return { name, value: median(samples), unit: 'µs CPU' }
}
