/** What traces cost: the same checks, asked of a sidecar that records one call of a hundred and of one without traces. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { interleave } from '../harness/compare.ts'
import { contend, unary } from '../harness/contender.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'
import { startSidecar } from '../servers/start.ts'
import { prepareWorkloads } from '../workloads/checks.ts'

export const tracesSuite: Suite = { name: 'traces', run }

const SIZES = {
  full: { warmUpCalls: 60_000, pairs: 25, calls: 80_000 },
  smoke: { warmUpCalls: 50, pairs: 2, calls: 1_000 },
} as const

const METHOD =
  'Processor time of the sidecar for each call, all threads, sending the spans included; 8 connections × 16 in flight, on sockets. One of the sidecars records one call of a hundred and sends its spans to an endpoint on this machine, the other has no traces. They take turns under the same driver, and the ratio is the median over the pairs.'

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
  const traced = await start({
    PORTCULLIS_TRACES_OTLP_URL: await startEndpoint(stack),
    PORTCULLIS_TRACES_SAMPLE_PERCENT: '1',
  })
  const plain = await start({})
  const of = ({ sidecar, workloads }: typeof plain, name: 'claims' | 'iamTokens') =>
    unary(sidecar, workloads[name], calls)
  const samples = await interleave(
    {
      claims: of(traced, 'claims'),
      plainClaims: of(plain, 'claims'),
      iamTokens: of(traced, 'iamTokens'),
      plainIamTokens: of(plain, 'iamTokens'),
    },
    pairs,
  )
  const row = (id: string, what: string, on: typeof samples.claims, off: typeof samples.claims) =>
    cpuRow({ id, what: `${what}, with traces`, method: METHOD }, on, 'the same without traces', off)
  return {
    rows: [
      row('claims', 'Check of claims', samples.claims, samples.plainClaims),
      row('iam-token', 'Check of an IAM token, warm', samples.iamTokens, samples.plainIamTokens),
    ],
    answersChecked: traced.workloads.answersChecked + plain.workloads.answersChecked,
  }
}

/** An endpoint that takes everything. @returns its URL */
async function startEndpoint(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end('{}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
}
