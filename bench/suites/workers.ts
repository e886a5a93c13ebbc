/**
 * One sidecar process compared with two workers on one port: what it costs to divide the work. Processor time
 * shows it. Calls a second are reported as well, but the driver needs one of the cores, so they say little
 * about more cores.
 */
import { availableParallelism } from 'node:os'
import { interleave, median } from '../harness/compare.ts'
import { contend, unary } from '../harness/contender.ts'
import { type Cost, cpuOf, latenciesOf, timeOf } from '../harness/cost.ts'
import { latencyOf } from '../harness/latency.ts'
import { comparedRow, type Side } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { startSidecar } from '../servers/start.ts'
import { prepareWorkloads } from '../workloads/checks.ts'

export const workersSuite: Suite = { name: 'workers', run }

const SIZES = {
  full: { warmUpCalls: 20_000, pairs: 15, calls: 20_000 },
  smoke: { warmUpCalls: 200, pairs: 1, calls: 200 },
} as const

const WORKERS = 2

const CPU_METHOD = `Check of claims, 8 connections × 16 in flight, the two servers in turn under the same driver. Processor time is that of the primary and its ${WORKERS} workers together, all threads; after it stand decisions per CPU second, whose ratio is the inverse.`
const CLOCK_METHOD = `The same calls by the clock. This machine has ${availableParallelism()} cores, and the driver, one thread that is busy throughout, needs one of them. So the figures, with calls a second after them, show what is left for the servers here and how fast the driver is, not what more cores would bring.`

/** The costs of the two sides. */
interface Samples {
  readonly several: readonly Cost[]
  readonly one: readonly Cost[]
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const start = async (workers: number) => {
    const server = await startSidecar({ flags: ['--workers', String(workers)] })
    const contender = await contend(server, server.ready.grpc, stack)
    return { ...contender, ...(await prepareWorkloads(server.ready, contender.load)) }
  }
  const one = await start(1)
  const several = await start(WORKERS)

  const { warmUpCalls, pairs, calls } = SIZES[size]
  for (const { load, claims } of [one, several]) await load.run(claims, warmUpCalls)
  const samples = await interleave(
    { several: unary(several, several.claims, calls), one: unary(one, one.claims, calls) },
    pairs,
  )
  return {
    rows: [cpuRow(samples), clockRow(samples)],
    answersChecked: one.answersChecked + several.answersChecked,
  }
}

function cpuRow({ several, one }: Samples): Row {
  return comparedRow(
    { id: 'claims-cpu', what: `Check of claims with ${WORKERS} workers, processor time`, method: CPU_METHOD },
    'µs CPU',
    sideOf(`${WORKERS} workers`, cpuOf(several)),
    sideOf('one process', cpuOf(one)),
  )
}

function clockRow({ several, one }: Samples): Row {
  return comparedRow(
    {
      id: 'claims-clock',
      what: `Check of claims with ${WORKERS} workers, on the clock`,
      method: CLOCK_METHOD,
    },
    'µs',
    { ...sideOf(`${WORKERS} workers`, timeOf(several)), latency: latencyOf(latenciesOf(several)) },
    { ...sideOf('one process', timeOf(one)), latency: latencyOf(latenciesOf(one)) },
  )
}

/** @param samples in microseconds */
function sideOf(name: string, samples: readonly number[]): Side {
  return { name, samples, perSecond: 1e6 / median(samples) }
}
