/** What the decision log costs: the same checks, asked of a sidecar with a log of every decision in a file and of one without. */
import { join } from 'node:path'
import { interleave } from '../harness/compare.ts'
import { contend, unary } from '../harness/contender.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startSidecar } from '../servers/start.ts'
import { prepareWorkloads } from '../workloads/checks.ts'

export const decisionLogSuite: Suite = { name: 'decision-log', run }

const SIZES = {
  full: { warmUpCalls: 60_000, pairs: 15, calls: 60_000 },
  smoke: { warmUpCalls: 100, pairs: 1, calls: 5_000 },
} as const

const METHOD =
  'Processor time of the sidecar for each call, all threads, writing the file included; 8 connections × 16 in flight. Both sidecars get the same calls in turn, and the ratio is the median over the pairs. Each decision has a line.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const { warmUpCalls, pairs, calls } = SIZES[size]
  const start = async (environment: Readonly<Record<string, string>>) => {
    const server = await startSidecar({ environment })
    const contender = await contend(server, server.ready.grpc, stack)
    return { contender, workloads: await prepareWorkloads(server.ready, contender.load) }
  }
  const folder = temporaryFolder(stack)
  const on = await start({
    PORTCULLIS_DECISION_LOG_FILE_PATH: join(folder, 'decisions.log'),
    PORTCULLIS_DECISION_LOG_FILE_KEEP: '1',
  })
  const off = await start({})
  for (const { contender, workloads } of [on, off])
    for (const workload of [workloads.claims, workloads.iamTokens])
      await contender.load.run(workload, warmUpCalls)
  const samples = await interleave(
    {
      claims: unary(on.contender, on.workloads.claims, calls),
      claimsOff: unary(off.contender, off.workloads.claims, calls),
      iam: unary(on.contender, on.workloads.iamTokens, calls),
      iamOff: unary(off.contender, off.workloads.iamTokens, calls),
    },
    pairs,
  )
  const row = (id: string, what: string) => ({ id, what: `${what}, logged`, method: METHOD })
  return {
    rows: [
      cpuRow(row('claims', 'Check of claims'), samples.claims, 'without a log', samples.claimsOff),
      cpuRow(row('iam-token', 'Check of an IAM token, warm'), samples.iam, 'without a log', samples.iamOff),
    ],
    answersChecked: on.workloads.answersChecked + off.workloads.answersChecked,
  }
}
