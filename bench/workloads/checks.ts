/**
 * The checks that the sidecar is asked. Every answer is first decoded and compared with the engine's
 * decision.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Check, checkAnswer, checkRequest } from '../../clients/typescript/values.ts'
import type { Decision, Engine } from '../../engine/index.ts'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import {
  CHECK_BATCH_PATH,
  CHECK_PATH,
  CHECK_STREAM_PATH,
  type GrpcLoad,
  type Workload,
} from '../harness/grpc.ts'
import type { SidecarReady } from '../servers/start.ts'
import { loginOf } from './login.ts'
import { cellQuestions, shippedEngine } from './questions.ts'

/** How many checks a `CheckBatch` holds. */
export const BATCH_LENGTH = 100

export interface Workloads {
  /** Claims of every cell. */
  readonly claims: Workload
  /** An account-scoped and a project-scoped IAM token, each against every API. */
  readonly iamTokens: Workload
  /** A static token against every API. */
  readonly staticToken: Workload
  /** The claims, `BATCH_LENGTH` in each call. */
  readonly batch: Workload
  /** The claims, on streams. */
  readonly stream: Workload
  readonly answersChecked: number
}

/** A check with the decision that must come back. */
interface ExpectedCheck {
  readonly check: Check
  readonly decision: Decision
  readonly verified: boolean
}

/** @throws Error if the sidecar gives a wrong answer, or has another matrix */
export async function prepareWorkloads(ready: SidecarReady, load: GrpcLoad): Promise<Workloads> {
  const engine = shippedEngine()
  if (ready.matrix_digest !== engine.digest) throw new Error('the sidecar decides by another matrix')
  const claims = claimsOfCells(engine, ready)
  const tokens = await tokensOfCells(engine, ready)
  return {
    claims: await unaryWorkload(claims, load),
    iamTokens: await unaryWorkload(tokens.iam, load),
    staticToken: await unaryWorkload(tokens.static, load),
    batch: await batchWorkload(claims, load),
    stream: await streamWorkload(claims, load),
    answersChecked: claims.length + tokens.iam.length + tokens.static.length + BATCH_LENGTH + claims.length,
  }
}

/** The encoded request. */
export function checkQuestion(check: Check): Buffer {
  return encoded(wire.CheckRequest, checkRequest(check))
}

/** Whether an encoded answer allows the call. */
export function isAllowed(answer: Buffer): boolean {
  return wire.CheckResponse.decode(answer).allowed
}

/** The answer to one check, decoded. */
export function answerTo([answer = Buffer.alloc(0)]: readonly Buffer[]): wire.CheckResponse {
  return wire.CheckResponse.decode(answer)
}

function claimsOfCells(engine: Engine, { demo }: SidecarReady): ExpectedCheck[] {
  return cellQuestions(engine, demo.account, demo.project).map(({ api, kind, scope }) => ({
    check: { api, token: { kind, scope } },
    decision: engine.decide({ api, kind, scope }),
    verified: false,
  }))
}

/** A token of each kind against every API: the kinds that `Issue` gives, and the static ones. */
async function tokensOfCells(
  engine: Engine,
  ready: SidecarReady,
): Promise<Record<'iam' | 'static', ExpectedCheck[]>> {
  const tokens = await obtainTokens(engine, ready)
  const checks: Record<'iam' | 'static', ExpectedCheck[]> = { iam: [], static: [] }
  for (const { api, kind, scope } of cellQuestions(engine, ready.demo.account, ready.demo.project)) {
    const { header = '', issuedTo: holder, obtained } = engine.tokenKinds.get(kind) ?? {}
    checks[obtained?.by === 'issue' ? 'iam' : 'static'].push({
      check: { api, credentials: [[header, tokens.get(kind) ?? '']] },
      decision: engine.decide({ api, kind, scope, holder }),
      verified: true,
    })
  }
  return checks
}

async function unaryWorkload(checks: readonly ExpectedCheck[], load: GrpcLoad): Promise<Workload> {
  const questions = checks.map(({ check }) => checkQuestion(check))
  const answers = await Promise.all(questions.map(async (one) => only(await load.ask(CHECK_PATH, [one]))))
  answers.forEach((answer, index) => {
    refuseWrong(wire.CheckResponse.decode(answer), checks[index])
  })
  return { path: CHECK_PATH, questions, answerBytes: answers.map((answer) => answer.length) }
}

async function batchWorkload(claims: readonly ExpectedCheck[], load: GrpcLoad): Promise<Workload> {
  const checks = Array.from({ length: BATCH_LENGTH }, (_, index) => claims[index % claims.length])
  const question = encoded(wire.CheckBatchRequest, {
    checks: checks.map((expected) => checkRequest((expected as ExpectedCheck).check)),
  })
  const answer = only(await load.ask(CHECK_BATCH_PATH, [question]))
  const { results } = wire.CheckBatchResponse.decode(answer)
  if (results.length !== checks.length) throw new Error(`expected ${checks.length} results`)
  results.forEach((result, index) => {
    refuseWrong(result, checks[index])
  })
  return { path: CHECK_BATCH_PATH, questions: [question], answerBytes: [answer.length] }
}

async function streamWorkload(claims: readonly ExpectedCheck[], load: GrpcLoad): Promise<Workload> {
  const questions = claims.map(({ check }, index) =>
    encoded(wire.CheckStreamRequest, { id: `question-${index}`, check: checkRequest(check) }),
  )
  const answers = await load.ask(CHECK_STREAM_PATH, questions)
  if (answers.length !== questions.length) throw new Error(`expected ${questions.length} answers`)
  answers.forEach((answer, index) => {
    const { id, result } = wire.CheckStreamResponse.decode(answer)
    if (id !== `question-${index}`) throw new Error(`expected the answer to question ${index}, got ${id}`)
    refuseWrong(result, claims[index])
  })
  return { path: CHECK_STREAM_PATH, questions, answerBytes: answers.map((answer) => answer.length) }
}

/** A token of every kind, by kind: issued by the sidecar, or the static one of the demo account. */
export async function obtainTokens(engine: Engine, ready: SidecarReady): Promise<Map<string, string>> {
  const { account, project, static_token: staticToken } = ready.demo
  const login = loginOf(ready)
  const tokens = new Map<string, string>()
  for (const { id, scopeLevel, obtained } of engine.tokenKinds.values()) {
    const scope = scopeLevel === 'project' ? { account, project } : { account }
    tokens.set(id, obtained.by === 'issue' ? await login.overGrpc(scope) : staticToken)
  }
  login.close()
  return tokens
}

function refuseWrong(response: wire.CheckResponse | undefined, expected: ExpectedCheck | undefined): void {
  if (response === undefined || expected === undefined) throw new Error('an answer is missing')
  const {
    verified,
    token: _token,
    route: _route,
    cacheForMs: _cacheForMs,
    ...decision
  } = checkAnswer(response)
  if (!isDeepStrictEqual(decision, expected.decision) || verified !== expected.verified)
    throw new Error(
      `a wrong answer to ${JSON.stringify(expected.check)}: ${JSON.stringify({ verified, ...decision })}`,
    )
}

function only(messages: readonly Buffer[]): Buffer {
  const [message] = messages
  if (message === undefined || messages.length > 1)
    throw new Error(`expected one answer, got ${messages.length}`)
  return message
}

function encoded<T>(message: { encode(value: T): { finish(): Uint8Array } }, value: T): Buffer {
  return Buffer.from(message.encode(value).finish())
}
