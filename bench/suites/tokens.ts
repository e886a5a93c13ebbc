/**
 * The cost of a token that the sidecar sees for the first time, beside a known token and one signature
 * verification.
 */
import { interleave } from '../harness/compare.ts'
import { callCost, contend, unary } from '../harness/contender.ts'
import { cpuOf, latenciesOf } from '../harness/cost.ts'
import { latencyOf } from '../harness/latency.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'
import { startConstant, startSidecar } from '../servers/start.ts'
import { newDataFolder, SignedTokens } from '../workloads/tokens.ts'

export const tokensSuite: Suite = { name: 'tokens', run }

const SIZES = {
  full: { warmUpCalls: 20_000, rounds: 25, calls: 4_000 },
  smoke: { warmUpCalls: 50, rounds: 1, calls: 50 },
} as const

const METHOD =
  'Processor time of the sidecar for a check where every token is new. It is compared with checks of one token over and over, plus what one Ed25519 verification a call adds to the constant grpc-js server, under the same load in the same round.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = newDataFolder(stack)
  const server = await startSidecar({ flags: ['--data', folder] })
  const sidecar = await contend(server, server.ready.grpc, stack)
  const tokens = await SignedTokens.of(folder, server.ready, sidecar.load)
  stack.defer(() => tokens.close())

  const floor = async (...work: readonly 'signature'[]) => {
    const constant = await startConstant(tokens.answerBytes, ...work)
    return contend(constant, constant.ready.grpc, stack)
  }
  const constant = await floor()
  const verifying = await floor('signature')

  const { warmUpCalls, rounds, calls } = SIZES[size]
  const one = tokens.workload(1)
  for (const { load } of [sidecar, constant, verifying]) await load.run(one, warmUpCalls)
  const samples = await interleave(
    {
      // The tokens are signed before the clock starts.
      unseen: () => callCost(sidecar, tokens.workload(calls), calls),
      seen: unary(sidecar, one, calls),
      constant: unary(constant, one, calls),
      verifying: unary(verifying, one, calls),
    },
    rounds,
  )
  const [withSignature, without] = [cpuOf(samples.verifying), cpuOf(samples.constant)]
  const expected = cpuOf(samples.seen).map(
    (microseconds, round) => microseconds + (withSignature[round] as number) - (without[round] as number),
  )
  const row = comparedRow(
    { id: 'unseen-token', what: 'Check of an IAM token never seen before', method: METHOD },
    'µs CPU',
    {
      name: 'unseen',
      samples: cpuOf(samples.unseen),
      latency: latencyOf(latenciesOf(samples.unseen)),
    },
    { name: 'seen, and one signature check', samples: expected },
  )
  return { rows: [row], answersChecked: 1 }
}
