/** What a token costs that was never seen before, in terms of one that was and the signature that has to be verified. */
import { interleave, median, ratioOf } from './compare.ts'
import { Load } from './load.ts'
import { startSidecarProcess } from './server-process.ts'
import type { Size, Suite, SuiteReport } from './suite.ts'
import { MadeTokens, newDataFolder } from './tokens-made.ts'

export const tokensSuite: Suite = { name: 'tokens', run }

const SIZES = {
  full: { rounds: 7, calls: 4_000 },
  smoke: { rounds: 1, calls: 50 },
} as const

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = newDataFolder(stack)
  const server = await startSidecarProcess(['--data', folder])
  stack.defer(() => server.stop())
  const load = await Load.connect(server.ready.grpc)
  stack.defer(() => load.close())
  const tokens = await MadeTokens.of(folder, server.ready, load)
  stack.defer(() => tokens.close())

  const { rounds, calls } = SIZES[size]
  const one = tokens.workload(1)
  const signature = tokens.signatureCheck()
  const samples = await interleave(
    {
      // Made beforehand, so that the making is not part of the measure.
      unseen: () => {
        const workload = tokens.workload(calls)
        return server.cpuPerCall(calls, () => load.run(workload, calls))
      },
      seen: () => server.cpuPerCall(calls, () => load.run(one, calls)),
      signature: () => signature(Math.ceil(calls / 4)),
    },
    rounds,
  )
  const bound = samples.seen.map((microseconds, index) => microseconds + (samples.signature[index] as number))
  return {
    rows: [
      {
        id: 'unseen-token',
        what: 'Check of an IAM token never seen before',
        a: { name: 'unseen', value: median(samples.unseen), unit: 'µs CPU' },
        b: { name: 'seen, and one signature check', value: median(bound), unit: 'µs CPU' },
        ratio: ratioOf(samples.unseen, bound),
        method:
          'Processor time of the sidecar for a check of tokens that are each new, against that of one token over and over plus one Ed25519 verification timed in this process in the same round.',
      },
    ],
    answersChecked: 1,
  }
}
