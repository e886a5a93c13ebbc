/**
 * Issuing a token over both protocols, compared with the password check that a login needs. The sidecar is
 * configured to remember no login, so each derives the key from the password again.
 */
import { type Argon2Parameters, argon2, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { interleave, median } from '../harness/compare.ts'
import { type Cost, cpuOf, latenciesOf, measureCost, timeOf } from '../harness/cost.ts'
import { Latencies, latencyOf } from '../harness/latency.ts'
import { comparedRow, type Side } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startSidecar } from '../servers/start.ts'
import { loginOf } from '../workloads/login.ts'

export const issueSuite: Suite = { name: 'issue', run }

const SIZES = {
  full: { rounds: 9, logins: 60 },
  smoke: { rounds: 1, logins: 2 },
} as const

/** As many logins at once as the sidecar runs at once, so that none waits for another. */
const IN_FLIGHT = 2

/** The parameters of the sidecar (sidecar/authority/password.ts). */
const ARGON2 = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

const CLOCK_METHOD = `Time on the clock divided by the logins, ${IN_FLIGHT} at once, a fresh token each, against that of argon2id with the same parameters in this process, as many at once. The rounds take turns. The driver shares the processors with the sidecar. The latency of a login is the time until the client has the token.`
const CPU_METHOD =
  'Processor time of the sidecar for each of the same logins, all threads, against that of this process for each argon2id of the same rounds.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const config = join(temporaryFolder(stack), 'portcullis.json')
  writeFileSync(config, JSON.stringify({ passwords: { remember_ms: 0 } }))
  const server = await startSidecar({ flags: ['--http', '127.0.0.1:0', '--config', config] })
  stack.defer(() => server.stop())
  const login = loginOf(server.ready)
  stack.defer(() => login.close())

  const issued = [
    await login.overGrpc(),
    await login.overGrpc(),
    await login.overHttp(),
    await login.overHttp(),
  ]
  if (new Set(issued).size < issued.length) throw new Error('a token was issued twice')
  const { rounds, logins } = SIZES[size]
  const { grpc, http, alone } = await interleave(
    {
      grpc: () => server.costPerCall(logins, () => repeat(logins, () => login.overGrpc())),
      http: () => server.costPerCall(logins, () => repeat(logins, () => login.overHttp())),
      alone: () => measureCost(logins, ownCpuMicroseconds, () => repeat(logins, derive)),
    },
    rounds,
  )
  return {
    rows: [
      ...rowsOf('issue', 'Issue', grpc, alone),
      ...rowsOf('issue-http', 'POST /identity/v3/auth/tokens', http, alone),
    ],
    answersChecked: issued.length,
  }
}

/** A row of time on the clock, and one of processor time. */
function rowsOf(id: string, what: string, costs: readonly Cost[], alone: readonly Cost[]): Row[] {
  return [
    comparedRow(
      { id, what, method: CLOCK_METHOD },
      'ms',
      clockSide(what, costs),
      clockSide('argon2id alone', alone),
    ),
    comparedRow(
      { id: `${id}-cpu`, what: `${what}, processor time`, method: CPU_METHOD },
      'ms CPU',
      { name: what, samples: inMs(cpuOf(costs)) },
      { name: 'argon2id alone', samples: inMs(cpuOf(alone)) },
    ),
  ]
}

function clockSide(name: string, costs: readonly Cost[]): Side {
  const samples = inMs(timeOf(costs))
  return { name, samples, perSecond: 1000 / median(samples), latency: latencyOf(latenciesOf(costs)) }
}

function inMs(microseconds: readonly number[]): number[] {
  return microseconds.map((value) => value / 1000)
}

const derived = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>

function derive(): Promise<Buffer> {
  return derived('argon2id', { message: 'a password of some length', nonce: randomBytes(16), ...ARGON2 })
}

/** Makes a number of calls, `IN_FLIGHT` at once. */
async function repeat(calls: number, call: () => Promise<unknown>): Promise<Latencies> {
  const latencies = new Latencies(IN_FLIGHT)
  let left = calls
  const drive = async (lane: number) => {
    while (left-- > 0) {
      latencies.start(lane)
      await call()
      latencies.end(lane)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, lane) => drive(lane)))
  return latencies
}

function ownCpuMicroseconds(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
