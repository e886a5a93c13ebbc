/**
 * One sidecar process against two workers on one port: what dividing the work costs. Processor time tells; calls a second
 * are reported as well, but on a machine whose cores the driver shares they say little about more cores.
 */
import { availableParallelism } from 'node:os'
import { compile } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { interleave, median, ratioOf } from './compare.ts'
import { Load, type Workload } from './load.ts'
import { type ServerProcess, type SidecarReady, startSidecarProcess } from './server-process.ts'
import type { Figure, Row, Size, Suite, SuiteReport, Unit } from './suite.ts'
import { prepareWorkloads } from './workloads.ts'

export const workersSuite: Suite = { name: 'workers', run }

const SIZES = {
  full: { warmUpCalls: 20_000, pairs: 15, calls: 20_000 },
  smoke: { warmUpCalls: 200, pairs: 1, calls: 200 },
} as const

const WORKERS = 2

const METHOD = `Check of claims, 8 connections × 16 in flight, the two servers in turn under the same driver. Processor time is that of the primary and its ${WORKERS} workers together, all threads; behind it decisions per CPU second, whose ratio is the inverse.`
const CLOCK_METHOD = `The same calls on the clock. This machine has ${availableParallelism()} cores, and the driver, one thread that is busy throughout, needs one of them: the figures, in calls per second behind, show what is left for the servers here and how fast the driver is, not what further cores would bring.`

/** A server with its load. */
interface Contender {
  readonly server: ServerProcess<SidecarReady>
  readonly load: Load
  readonly claims: Workload
  readonly answersChecked: number
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const contend = async (workers: number): Promise<Contender> => {
    const server = await startSidecarProcess(['--workers', String(workers)])
    stack.defer(() => server.stop())
    const load = await Load.connect(server.ready.grpc)
    stack.defer(() => load.close())
    return { server, load, ...(await prepareWorkloads(compile(supportMatrix), server.ready, load)) }
  }
  const one = await contend(1)
  const several = await contend(WORKERS)

  const { warmUpCalls, pairs, calls } = SIZES[size]
  const cpu = (contender: Contender) => () =>
    contender.server.cpuPerCall(calls, () => contender.load.run(contender.claims, calls))
  const clock = (contender: Contender) => async () => {
    const startMs = performance.now()
    await contender.load.run(contender.claims, calls)
    return ((performance.now() - startMs) * 1000) / calls
  }
  for (const { load, claims } of [one, several]) await load.run(claims, warmUpCalls)
  const samples = await interleave(
    {
      cpuOfSeveral: cpu(several),
      cpuOfOne: cpu(one),
      clockOfSeveral: clock(several),
      clockOfOne: clock(one),
    },
    pairs,
  )
  const { cpuOfSeveral, cpuOfOne, clockOfSeveral, clockOfOne } = samples
  return {
    rows: [
      row('claims-cpu', 'processor time', 'µs CPU', cpuOfSeveral, cpuOfOne, METHOD),
      row('claims-clock', 'on the clock', 'µs', clockOfSeveral, clockOfOne, CLOCK_METHOD),
    ],
    answersChecked: one.answersChecked + several.answersChecked,
  }
}

function row(id: string, of: string, unit: Unit, several: number[], one: number[], method: string): Row {
  const figure = (name: string, samples: readonly number[]): Figure => {
    const microseconds = median(samples)
    return { name, value: microseconds, unit, perSecond: 1e6 / microseconds }
  }
  return {
    id,
    what: `Check of claims with ${WORKERS} workers, ${of}`,
    a: figure(`${WORKERS} workers`, several),
    b: figure('one process', one),
    ratio: ratioOf(several, one),
    method,
  }
}
