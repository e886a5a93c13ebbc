/**
 * A sidecar before a foreign identity endpoint: a remembered token costs as much as with the
 * directory. The endpoint is asked before the measurement and not during it.
 */
import { interleave } from '../harness/compare.ts'
import { contend, unary } from '../harness/contender.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startIdentityEndpoint } from '../servers/identity.ts'
import { startSidecar } from '../servers/start.ts'
import { prepareWorkloads } from '../workloads/checks.ts'
import { cachedIssues, upstreamChecks, upstreamConfiguration } from '../workloads/upstream.ts'

export const upstreamSuite: Suite = { name: 'upstream', run }

const SIZES = {
  full: { warmUpCalls: 20_000, pairs: 15, calls: 15_000 },
  smoke: { warmUpCalls: 50, pairs: 2, calls: 50 },
} as const

/** The row that both are compared with: it recognises a secret by its digest, too. */
const EMBEDDED = 'Check of an IAM token of the directory, warm'

const METHOD =
  'Processor time of the sidecar for each call, all threads, 8 connections × 16 in flight. Both calls go to the same sidecar in turn, and the ratio is the median over the pairs. The identity endpoint is asked before and not during the measurement.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const endpoint = await startIdentityEndpoint()
  stack.defer(() => endpoint.close())
  const config = upstreamConfiguration(temporaryFolder(stack), endpoint.url)
  const server = await startSidecar({ flags: ['--config', config] })
  const sidecar = await contend(server, server.ready.grpc, stack)
  const { iamTokens, answersChecked } = await prepareWorkloads(server.ready, sidecar.load)
  const issues = await cachedIssues(sidecar.load)
  const checks = await upstreamChecks(sidecar.load)

  const { warmUpCalls, pairs, calls } = SIZES[size]
  for (const workload of [iamTokens, issues, checks]) await sidecar.load.run(workload, warmUpCalls)
  const before = endpoint.requests()
  const samples = await interleave(
    {
      embedded: unary(sidecar, iamTokens, calls),
      issue: unary(sidecar, issues, calls),
      upstream: unary(sidecar, checks, calls),
    },
    pairs,
  )
  if (endpoint.requests() !== before) throw new Error('the endpoint was asked during the measurement')
  return {
    rows: [
      cpuRow(
        { id: 'issue-cached', what: 'Issue by profile, from the cache', method: METHOD },
        samples.issue,
        EMBEDDED,
        samples.embedded,
      ),
      cpuRow(
        { id: 'check-upstream', what: 'Check of a token of an upstream, warm', method: METHOD },
        samples.upstream,
        EMBEDDED,
        samples.embedded,
      ),
    ],
    answersChecked: answersChecked + issues.questions.length + checks.questions.length,
  }
}
