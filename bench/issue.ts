/**
 * Issuing, over both protocols, in terms of the password check that it cannot do without. Each login derives anew: nothing
 * of an `Issue` is remembered.
 */
import { type Argon2Parameters, argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { interleave, median, ratioOf } from './compare.ts'
import { loginOf } from './login.ts'
import { type Cost, startSidecarProcess } from './server-process.ts'
import type { Figure, Row, Size, Suite, SuiteReport } from './suite.ts'

export const issueSuite: Suite = { name: 'issue', run }

const SIZES = {
  full: { rounds: 9, logins: 60 },
  smoke: { rounds: 1, logins: 2 },
} as const

/** As many logins at once as the sidecar lets run, so that none waits for another's turn. */
const IN_FLIGHT = 2

/** What the sidecar derives with (sidecar/authority/password.ts). */
const ARGON2 = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

const CLOCK_METHOD = `Time on the clock divided by the logins, ${IN_FLIGHT} at once, a fresh token each, against that of argon2id with the same parameters in this process, as many at once; the rounds take turns. The driver shares the processors with the sidecar.`
const CPU_METHOD =
  'Processor time of the sidecar for each of the same logins, all threads, against that of this process for each argon2id of the same rounds.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const server = await startSidecarProcess(['--http', '127.0.0.1:0'])
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
      grpc: () => server.costPerCall(logins, () => repeat(logins, login.overGrpc)),
      http: () => server.costPerCall(logins, () => repeat(logins, login.overHttp)),
      alone: () => costHere(logins, () => repeat(logins, derive)),
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

/** By the clock, and in processor time. */
function rowsOf(id: string, what: string, costs: readonly Cost[], alone: readonly Cost[]): Row[] {
  const row = (part: Pick<Row, 'id' | 'what' | 'method'>, of: keyof Cost, unit: Figure['unit']): Row => {
    const [ours, theirs] = [inMs(costs, of), inMs(alone, of)]
    const figure = (name: string, value: number): Figure => ({
      name,
      value,
      unit,
      ...(of === 'time' && { perSecond: 1000 / value }),
    })
    return {
      ...part,
      a: figure(what, median(ours)),
      b: figure('argon2id alone', median(theirs)),
      ratio: ratioOf(ours, theirs),
    }
  }
  return [
    row({ id, what, method: CLOCK_METHOD }, 'time', 'ms'),
    row({ id: `${id}-cpu`, what: `${what}, processor time`, method: CPU_METHOD }, 'cpu', 'ms CPU'),
  ]
}

function inMs(costs: readonly Cost[], of: keyof Cost): number[] {
  return costs.map((cost) => cost[of] / 1000)
}

const derived = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>

function derive(): Promise<Buffer> {
  return derived('argon2id', { message: 'a password of some length', nonce: randomBytes(16), ...ARGON2 })
}

/** `IN_FLIGHT` at once. */
async function repeat(calls: number, call: () => Promise<unknown>): Promise<void> {
  let left = calls
  const lane = async () => {
    while (left-- > 0) await call()
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
}

/** What work in this process costs. */
async function costHere(calls: number, work: () => Promise<void>): Promise<Cost> {
  const before = process.cpuUsage()
  const startMs = performance.now()
  await work()
  const time = ((performance.now() - startMs) * 1000) / calls
  const { user, system } = process.cpuUsage(before)
  return { cpu: (user + system) / calls, time }
}
