/**
 * A question of Envoy's external authorization, compared with a `Check` of the same credential by the same
 * sidecar.
 */
import { interleave } from '../harness/compare.ts'
import { contend, unary } from '../harness/contender.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { startSidecar } from '../servers/start.ts'
import { extAuthzWorkloads } from '../workloads/ext-authz.ts'

export const extAuthzSuite: Suite = { name: 'ext-authz', run }

const SIZES = {
  full: { warmUpCalls: 20_000, pairs: 15, calls: 15_000 },
  smoke: { warmUpCalls: 50, pairs: 2, calls: 100 },
} as const

const METHOD =
  'Processor time of the sidecar for each call, all threads, 8 connections × 16 in flight. The same tokens against the same APIs: once with a request of 14 headers as Envoy sends it, and once as a check of the credential alone. Both go to the same sidecar in turn, and the ratio is the median over the pairs.'

async function run(size: Size): Promise<SuiteReport> {
  const reports = [await measure(size, 'sockets'), await measure(size, 'grpc-js')]
  return {
    rows: reports.map(({ row }) => row),
    // Both transports are asked the same.
    answersChecked: reports[0]?.answersChecked ?? 0,
  }
}

async function measure(
  size: Size,
  transport: 'sockets' | 'grpc-js',
): Promise<{ row: Row; answersChecked: number }> {
  await using stack = new AsyncDisposableStack()
  const { warmUpCalls, pairs, calls } = SIZES[size]
  const server = await startSidecar({ transport })
  const sidecar = await contend(server, server.ready.grpc, stack)
  const { envoy, native, answersChecked } = await extAuthzWorkloads(server.ready, sidecar.load)
  for (const workload of [envoy, native]) await sidecar.load.run(workload, warmUpCalls)
  const samples = await interleave(
    { envoy: unary(sidecar, envoy, calls), native: unary(sidecar, native, calls) },
    pairs,
  )
  const texts = {
    id: `check-${transport}`,
    what: `ext_authz of an IAM token, warm, on ${transport}`,
    method: METHOD,
  }
  return { row: cpuRow(texts, samples.envoy, 'Check of the same token', samples.native), answersChecked }
}
