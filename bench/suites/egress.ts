/** Forwarding a request with the credential of its route, compared with forwarding it and nothing else. */
import { interleave } from '../harness/compare.ts'
import { type Cost, cpuOf, latenciesOf } from '../harness/cost.ts'
import { Http1Load, type Http1Workload } from '../harness/http1.ts'
import { latencyOf } from '../harness/latency.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { startForwarder, startTarget } from '../servers/start.ts'
import { requestsFor, startEgress } from '../workloads/egress.ts'

export const egressSuite: Suite = { name: 'egress', run }

const SIZES = {
  full: { warmUpCalls: 4_000, rounds: 11, calls: 2_000 },
  smoke: { warmUpCalls: 20, rounds: 1, calls: 20 },
} as const

/** Of an API that lists things. */
const ANSWER_BYTES = 2_000
const BODY_BYTES = 1_000

const METHOD =
  'Processor time of the server that forwards, all threads, for a request that a known caller makes over one of eight connections, to a target in a separate process. It is compared with a server that forwards by the same calls of undici, and neither reads the path nor adds a credential. The rounds take turns.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const target = await startTarget(ANSWER_BYTES)
  stack.defer(() => target.stop())
  const sidecar = await startEgress(target.ready.http, stack)
  stack.defer(() => sidecar.stop())
  const bare = await startForwarder(target.ready.http)
  stack.defer(() => bare.stop())
  const addresses = { egress: sidecar.ready.egress ?? '', bare: bare.ready.http }
  const loads = {
    egress: new Http1Load(addresses.egress, true),
    bare: new Http1Load(addresses.bare, true),
  }
  stack.defer(() => {
    for (const load of Object.values(loads)) load.close()
  })
  for (const [name, credential] of [
    ['egress', 'token'],
    ['bare', 'none'],
  ] as const)
    await expectCredential(addresses[name], credential)

  const { warmUpCalls, rounds, calls } = SIZES[size]
  const rows: Row[] = []
  for (const [id, what, bodyBytes] of [
    ['forward', 'a GET that is forwarded with a credential', 0],
    ['forward-body', 'a POST that is forwarded with a credential', BODY_BYTES],
  ] as const) {
    const workloads = {
      egress: requestsFor(addresses.egress, { bodyBytes, answerBytes: ANSWER_BYTES }),
      bare: requestsFor(addresses.bare, { bodyBytes, answerBytes: ANSWER_BYTES }),
    }
    await loads.egress.run(workloads.egress, warmUpCalls)
    await loads.bare.run(workloads.bare, warmUpCalls)
    const samples = await interleave(
      {
        egress: () => sidecar.costPerCall(calls, () => loads.egress.run(workloads.egress, calls)),
        bare: () => bare.costPerCall(calls, () => loads.bare.run(workloads.bare, calls)),
      },
      rounds,
    )
    rows.push(rowOf(id, what, samples.egress, samples.bare))
  }
  return { rows, answersChecked: 2 }
}

function rowOf(id: string, what: string, egress: readonly Cost[], bare: readonly Cost[]): Row {
  return comparedRow(
    { id, what, method: METHOD },
    'µs CPU',
    { name: 'egress', samples: cpuOf(egress), latency: latencyOf(latenciesOf(egress)) },
    { name: 'forwarding alone', samples: cpuOf(bare), latency: latencyOf(latenciesOf(bare)) },
  )
}

/** @throws Error if the target got another credential, or none */
async function expectCredential(address: string, credential: string): Promise<void> {
  const workload: Http1Workload = requestsFor(address, { bodyBytes: 0, answerBytes: ANSWER_BYTES })
  const load = new Http1Load(address, false)
  try {
    const { status, headers } = await load.ask(workload.requests[0] as Buffer)
    const found = /\r\nx-credential: (\w+)/i.exec(headers)?.[1]
    if (status !== 200 || found !== credential)
      throw new Error(`expected status 200 and ${credential} at the target, got ${status} and ${found}`)
  } finally {
    load.close()
  }
}
