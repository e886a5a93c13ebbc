/** What metrics cost: a sidecar that counts, compared with one that does not, on the transport that is the default. */
import { interleave } from '../harness/compare.ts'
import { contend, unary } from '../harness/contender.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'
import { startSidecar } from '../servers/start.ts'
import { prepareWorkloads } from '../workloads/checks.ts'

export const metricsSuite: Suite = { name: 'metrics', run }

const SIZES = {
  full: { warmUpCalls: 60_000, pairs: 25, calls: 80_000 },
  smoke: { warmUpCalls: 50, pairs: 2, calls: 1_000 },
} as const

const METHOD =
  'Processor time of the sidecar for each call, all threads, 8 connections × 16 in flight, on sockets. One of the sidecars has a health listener with metrics, which nobody asks, and the other has none. They take turns under the same driver, and the ratio is the median over the pairs.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const { warmUpCalls, pairs, calls } = SIZES[size]
  const start = async (environment: Readonly<Record<string, string>>) => {
    const server = await startSidecar({ transport: 'sockets', environment })
    const sidecar = await contend(server, server.ready.grpc, stack)
    const workloads = await prepareWorkloads(server.ready, sidecar.load)
    for (const workload of [workloads.claims, workloads.iamTokens])
      await sidecar.load.run(workload, warmUpCalls)
    return { sidecar, workloads }
  }
  const counting = await start({ PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0' })
  const plain = await start({})
  const of = ({ sidecar, workloads }: typeof plain, name: 'claims' | 'iamTokens') =>
    unary(sidecar, workloads[name], calls)
  const samples = await interleave(
    {
      claims: of(counting, 'claims'),
      plainClaims: of(plain, 'claims'),
      iamTokens: of(counting, 'iamTokens'),
      plainIamTokens: of(plain, 'iamTokens'),
    },
    pairs,
  )
  const row = (id: string, what: string, counted: typeof samples.claims, uncounted: typeof samples.claims) =>
    cpuRow({ id, what, method: METHOD }, counted, 'the same without metrics', uncounted)
  return {
    rows: [
      row('claims', 'Check of claims, with metrics', samples.claims, samples.plainClaims),
      row(
        'iam-token',
        'Check of an IAM token, warm, with metrics',
        samples.iamTokens,
        samples.plainIamTokens,
      ),
    ],
    answersChecked: counting.workloads.answersChecked + plain.workloads.answersChecked,
  }
}
