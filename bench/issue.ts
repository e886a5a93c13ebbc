/**
 * Issuing, over both protocols, in terms of the password check that it cannot do without. Each login derives anew: nothing
 * of an `Issue` is remembered.
 */
import { type Argon2Parameters, argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { interleave, median, ratioOf } from './compare.ts'
import { loginOf } from './login.ts'
import { startSidecarProcess } from './server-process.ts'
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

const METHOD = `Time on the clock divided by the logins, ${IN_FLIGHT} at once, a fresh token each, against that of argon2id with the same parameters in this process, as many at once; the rounds take turns.`

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
      grpc: () => msPerCall(logins, login.overGrpc),
      http: () => msPerCall(logins, login.overHttp),
      alone: () => msPerCall(logins, derive),
    },
    rounds,
  )
  return {
    rows: [
      row('issue', 'Issue', grpc, alone),
      row('issue-http', 'POST /identity/v3/auth/tokens', http, alone),
    ],
    answersChecked: issued.length,
  }
}

function row(id: string, what: string, samples: readonly number[], alone: readonly number[]): Row {
  return {
    id,
    what,
    a: figure(what, samples),
    b: figure('argon2id alone', alone),
    ratio: ratioOf(samples, alone),
    method: METHOD,
  }
}

function figure(name: string, samples: readonly number[]): Figure {
  const value = median(samples)
  return { name, value, unit: 'ms', perSecond: 1000 / value }
}

const derived = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>

function derive(): Promise<Buffer> {
  return derived('argon2id', { message: 'a password of some length', nonce: randomBytes(16), ...ARGON2 })
}

/** Time on the clock, `IN_FLIGHT` at once. */
async function msPerCall(calls: number, call: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  let left = calls
  const lane = async () => {
    while (left-- > 0) await call()
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
  return (performance.now() - start) / calls
}
