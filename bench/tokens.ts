/**
 * Tokens: what one costs that was never seen before, what memory very many of them take, and whether issuing costs more
 * than the password check that it cannot do without.
 */
import { type Argon2Parameters, argon2, randomBytes, verify } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type IamClaims, IamTokenSigner } from '../sidecar/authority/iam-token.ts'
import { KeyRing } from '../sidecar/authority/keys.ts'
import { connect } from '../sidecar/client/index.ts'
import { checkRequest } from '../sidecar/client/values.ts'
import { SIGNING_KEYS_FILE } from '../sidecar/data-folder.ts'
import { CheckRequest, CheckResponse } from '../sidecar/gen/portcullis/v1/authorization.ts'
import { interleave, median, ratioOf } from './compare.ts'
import { CHECK_PATH, Load, type Workload } from './load.ts'
import { type SidecarReady, startSidecarProcess } from './server-process.ts'
import type { Row, Size, Suite, SuiteReport } from './suite.ts'

export const tokensSuite: Suite = { name: 'tokens', run }

const SIZES = {
  full: { rounds: 7, calls: 4_000, logins: 40, manyTokens: 100_000 },
  smoke: { rounds: 1, calls: 50, logins: 2, manyTokens: 200 },
} as const

/** As many logins at once as the sidecar lets run, so that none waits for another's turn. */
const LOGINS_IN_FLIGHT = 2

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const server = await startSidecarProcess(['--data', join(folder, 'data')])
  stack.defer(() => server.stop())
  const load = await Load.connect(server.ready.grpc)
  stack.defer(() => load.close())
  const ring = new KeyRing(join(folder, 'data', SIGNING_KEYS_FILE), Date.now(), () => {})
  stack.defer(() => ring.close())

  const tokens = new Tokens(new IamTokenSigner(ring), await aToken(server.ready))
  const question = tokens.question(tokens.one())
  const [answer] = await load.ask(CHECK_PATH, [question])
  if (answer === undefined || !CheckResponse.decode(answer).allowed)
    throw new Error('a token made here is not accepted')
  const answerBytes = answer.length
  const { rounds, calls, logins, manyTokens } = SIZES[size]
  const seen: Workload = { path: CHECK_PATH, questions: [question], answerBytes: [answerBytes] }

  const signature = signatureCheck(ring, tokens.one())
  const samples = await interleave(
    {
      // Made beforehand, so that the making is not part of the measure.
      unseen: () => {
        const workload = tokens.workload(calls, answerBytes)
        return server.cpuPerCall(calls, () => load.run(workload, calls))
      },
      seen: () => server.cpuPerCall(calls, () => load.run(seen, calls)),
      signature: () => signature(Math.ceil(calls / 4)),
    },
    rounds,
  )
  const bound = samples.seen.map((microseconds, index) => microseconds + (samples.signature[index] as number))

  const login = loginWith(server.ready)
  stack.defer(() => login.close())
  const logged = await interleave(
    { issue: () => msPerCall(logins, login.once), argon2: () => msPerCall(logins, derive) },
    rounds,
  )

  // The first fill what is remembered; what the next ones add stays.
  await askMany(load, tokens, manyTokens, answerBytes)
  const beforeBytes = await server.residentBytes()
  await askMany(load, tokens, manyTokens, answerBytes)
  const grownBytes = Math.max(0, ((await server.residentBytes()) - beforeBytes) / manyTokens)

  const rows: Row[] = [
    {
      id: 'unseen-token',
      what: 'Check of an IAM token never seen before',
      a: { name: 'unseen', value: median(samples.unseen), unit: 'µs CPU' },
      b: { name: 'seen, and one signature check', value: median(bound), unit: 'µs CPU' },
      ratio: ratioOf(samples.unseen, bound),
      method:
        'Processor time of the sidecar for a check of tokens that are each new, against that of one token over and over plus one Ed25519 verification timed in this process in the same round.',
    },
    {
      id: 'issue',
      what: 'Issue',
      a: { name: 'issue', value: median(logged.issue), unit: 'ms' },
      b: { name: 'argon2id', value: median(logged.argon2), unit: 'ms' },
      ratio: ratioOf(logged.issue, logged.argon2),
      method: `Time of a login over gRPC, ${LOGINS_IN_FLIGHT} at once, against that of argon2id with the same parameters in this process, as many at once; the rounds take turns.`,
    },
    {
      id: 'memory',
      what: `memory for each of ${manyTokens} more tokens`,
      a: { name: 'grown', value: grownBytes, unit: 'bytes' },
      method: `Resident memory of the sidecar after ${2 * manyTokens} checks of tokens that are each new, less that after ${manyTokens}, for each token in between.`,
    },
  ]
  return { rows, answersChecked: 1 + 2 * manyTokens }
}

/** Tokens of the demo's service user, each with an id of its own, signed with the sidecar's own key. */
class Tokens {
  readonly #signer: IamTokenSigner
  readonly #claims: IamClaims

  constructor(signer: IamTokenSigner, token: string) {
    this.#signer = signer
    this.#claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as IamClaims
  }

  one(): string {
    return this.#signer.sign({ ...this.#claims, jti: randomBytes(16).toString('base64url') })
  }

  question(token: string): Buffer {
    const request = checkRequest({ api: 'iam', credentials: [['X-Auth-Token', token]] })
    return Buffer.from(CheckRequest.encode(request).finish())
  }

  workload(count: number, answerBytes: number): Workload {
    const questions = Array.from({ length: count }, () => this.question(this.one()))
    return { path: CHECK_PATH, questions, answerBytes: questions.map(() => answerBytes) }
  }
}

async function aToken({ grpc, demo }: SidecarReady): Promise<string> {
  const login = loginWith({ grpc, demo })
  try {
    return await login.once()
  } finally {
    login.close()
  }
}

function loginWith({ grpc, demo }: Pick<SidecarReady, 'grpc' | 'demo'>) {
  const client = connect(grpc, { deadlineMs: 60_000 })
  const { account, service_user: user } = demo
  const password = { userName: user.name, account, password: user.password }
  return {
    once: async () => (await client.issue({ password, scope: { account } })).value,
    close: () => client.close(),
  }
}

const derived = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>

function derive(): Promise<Buffer> {
  const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
  return derived('argon2id', { message: 'a password of some length', nonce: randomBytes(16), ...parameters })
}

/** Wall time of a call, `LOGINS_IN_FLIGHT` at once. */
async function msPerCall(calls: number, call: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  let left = calls
  const lane = async () => {
    while (left-- > 0) await call()
  }
  await Promise.all(Array.from({ length: LOGINS_IN_FLIGHT }, lane))
  return (performance.now() - start) / calls
}

/** Times the verification of one signature, in microseconds of processor time. */
function signatureCheck(ring: KeyRing, token: string): (times: number) => Promise<number> {
  const key = ring.keys.find(({ state }) => state === 'active')?.publicKey
  const end = token.lastIndexOf('.')
  const signed = Buffer.from(token.slice(0, end))
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  return async (times) => {
    const before = process.cpuUsage()
    for (let index = 0; index < times; index++)
      if (key === undefined || !verify(null, signed, key, signature))
        throw new Error('a token made here is not genuine')
    const { user, system } = process.cpuUsage(before)
    return (user + system) / times
  }
}

/** A thousand at a time, so that this process need not hold them all. */
async function askMany(load: Load, tokens: Tokens, count: number, answerBytes: number): Promise<void> {
  for (let left = count; left > 0; left -= 1000) {
    const some = Math.min(left, 1000)
    await load.run(tokens.workload(some, answerBytes), some)
  }
}
