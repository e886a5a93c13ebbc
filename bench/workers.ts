/**
 * One sidecar process against two workers on one port: what dividing the work costs. Processor time tells; calls a second
 * are reported as well, but on a machine whose cores the driver shares they say little about more cores.
 */
import { availableParallelism } from 'node:os'
import { compile } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { interleave, median, ratioOf } from './compare.ts'
import { contend, unary } from './contender.ts'
import { type Cost, startSidecarProcess } from './server-process.ts'
import type { Figure, Row, Size, Suite, SuiteReport, Unit } from './suite.ts'
import { prepareWorkloads } from './workloads.ts'

export const workersSuite: Suite = { name: 'workers', run }

const SIZES = {
  full: { warmUpCalls: 20_000, pairs: 15, calls: 20_000 },
  smoke: { warmUpCalls: 200, pairs: 1, calls: 200 },
} as const

const WORKERS = 2

const METHOD = `Check of claims, 8 connections × 16 in flight, the two servers in turn under the same driver. Processor time is that of the primary and its ${WORKERS} workers together, all threads; behind it decisions per CPU second, whose ratio is the inverse.`
const CLOCK_METHOD = `The same calls by the clock. This machine has ${availableParallelism()} cores, and the driver, one thread that is busy throughout, needs one of them: the figures, in calls per second behind, show what is left for the servers here and how fast the driver is, not what further cores would bring.`

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const start = async (workers: number) => {
    const server = await startSidecarProcess(['--workers', String(workers)])
    const contender = await contend(server, server.ready.grpc, stack)
    const works = await prepareWorkloads(compile(supportMatrix), server.ready, contender.load)
    return { ...contender, ...works }
  }
  const one = await start(1)
  const several = await start(WORKERS)

  const { warmUpCalls, pairs, calls } = SIZES[size]
  for (const { load, claims } of [one, several]) await load.run(claims, warmUpCalls)
  const samples = await interleave(
    { several: unary(several, several.claims, calls), one: unary(one, one.claims, calls) },
    pairs,
  )
  const row = (id: string, part: string, of: keyof Cost, unit: Unit, method: string) => {
    const [a, b] = [samples.several.map((cost) => cost[of]), samples.one.map((cost) => cost[of])]
    return rowOf(id, part, unit, a, b, method)
  }
  return {
    rows: [
      row('claims-cpu', 'processor time', 'cpu', 'µs CPU', METHOD),
      row('claims-clock', 'on the clock', 'time', 'µs', CLOCK_METHOD),
    ],
    answersChecked: one.answersChecked + several.answersChecked,
  }
}

function rowOf(id: string, of: string, unit: Unit, several: number[], one: number[], method: string): Row {
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
