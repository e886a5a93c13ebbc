/** What a token costs that was never seen before, in terms of one that was and the signature that has to be verified. */
import { interleave, median, ratioOf } from './compare.ts'
import { type Contender, contend } from './contender.ts'
import type { Workload } from './load.ts'
import { startConstantServer, startSidecarProcess } from './server-process.ts'
import type { Size, Suite, SuiteReport } from './suite.ts'
import { MadeTokens, newDataFolder } from './tokens-made.ts'

export const tokensSuite: Suite = { name: 'tokens', run }

const SIZES = {
  full: { warmUpCalls: 20_000, rounds: 11, calls: 4_000 },
  smoke: { warmUpCalls: 50, rounds: 1, calls: 50 },
} as const

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = newDataFolder(stack)
  const server = await startSidecarProcess(['--data', folder])
  const sidecar = await contend(server, server.ready.grpc, stack)
  const tokens = await MadeTokens.of(folder, server.ready, sidecar.load)
  stack.defer(() => tokens.close())

  const floor = async (...work: readonly 'signature'[]) => {
    const constant = await startConstantServer(tokens.answerBytes, ...work)
    return contend(constant, constant.ready.grpc, stack)
  }
  const constant = await floor()
  const verifying = await floor('signature')

  const { warmUpCalls, rounds, calls } = SIZES[size]
  const one = tokens.workload(1)
  const cost = ({ server, load }: Contender, workload: Workload) =>
    server.cpuPerCall(calls, () => load.run(workload, calls))
  for (const { load } of [sidecar, constant, verifying]) await load.run(one, warmUpCalls)
  const samples = await interleave(
    {
      // Made before the clock starts, so that the making is not part of the measure.
      unseen: () => cost(sidecar, tokens.workload(calls)),
      seen: () => cost(sidecar, one),
      constant: () => cost(constant, one),
      verifying: () => cost(verifying, one),
    },
    rounds,
  )
  const bound = samples.seen.map(
    (microseconds, round) =>
      microseconds + (samples.verifying[round] as number) - (samples.constant[round] as number),
  )
  return {
    rows: [
      {
        id: 'unseen-token',
        what: 'Check of an IAM token never seen before',
        a: { name: 'unseen', value: median(samples.unseen), unit: 'µs CPU' },
        b: { name: 'seen, and one signature check', value: median(bound), unit: 'µs CPU' },
        ratio: ratioOf(samples.unseen, bound),
        method:
          'Processor time of the sidecar for a check of tokens that are each new, against that of one token over and over plus what one Ed25519 verification a call adds to the constant grpc-js server, under the same load in the same round.',
      },
    ],
    answersChecked: 1,
  }
}
