/** What is asked of the sidecar. Every answer is decoded and compared with the engine's before it is asked at speed. */
import { isDeepStrictEqual } from 'node:util'
import type { Decision, Engine } from '../engine/index.ts'
import { connect } from '../sidecar/client/index.ts'
import { type Check, checkAnswer, checkRequest } from '../sidecar/client/values.ts'
import * as wire from '../sidecar/gen/portcullis/v1/authorization.ts'
import { CHECK_BATCH_PATH, CHECK_PATH, CHECK_STREAM_PATH, type Load, type Workload } from './load.ts'
import { cellQuestions } from './questions.ts'
import type { SidecarReady } from './server-process.ts'

/** How many checks a `CheckBatch` of the suite holds. */
export const BATCH_LENGTH = 100

export interface Workloads {
  /** Claims of every cell. */
  readonly claims: Workload
  /** An account-scoped and a project-scoped IAM token against every API. */
  readonly iamTokens: Workload
  /** A static token against every API. */
  readonly staticToken: Workload
  /** Claims again, `BATCH_LENGTH` at a time. */
  readonly batch: Workload
  /** Claims again, on streams. */
  readonly stream: Workload
  readonly answersChecked: number
}

/** A check with the decision that has to come back. */
interface ExpectedCheck {
  readonly check: Check
  readonly decision: Decision
  readonly verified: boolean
}

export async function prepareWorkloads(engine: Engine, ready: SidecarReady, load: Load): Promise<Workloads> {
  if (ready.matrix_digest !== engine.digest) throw new Error('the sidecar decides by another matrix')
  const { account, project } = ready.demo
  const cells = cellQuestions(engine, account, project)
  const claims = cells.map(
    ({ api, kind, scope }): ExpectedCheck => ({
      check: { api, token: { kind, scope } },
      decision: engine.decide({ api, kind, scope }),
      verified: false,
    }),
  )
  const tokens = await obtainTokens(engine, ready)
  const credentials = cells.map(({ api, kind, scope }): ExpectedCheck => {
    const { header = '', issuedTo: holder } = engine.tokenKinds.get(kind) ?? {}
    return {
      check: { api, credentials: [[header, tokens.get(kind) ?? '']] },
      decision: engine.decide({ api, kind, scope, holder }),
      verified: true,
    }
  })
  const isIssued = (kind: string) => engine.tokenKinds.get(kind)?.obtained.by === 'issue'
  const unary = async (checks: readonly ExpectedCheck[]): Promise<Workload> => {
    const questions = checks.map(({ check }) => encode(wire.CheckRequest, checkRequest(check)))
    const answers = await Promise.all(questions.map(async (one) => only(await load.ask(CHECK_PATH, [one]))))
    answers.forEach((answer, index) => {
      refuseWrong(wire.CheckResponse.decode(answer), checks[index])
    })
    return { path: CHECK_PATH, questions, answerBytes: answers.map((answer) => answer.length) }
  }
  return {
    claims: await unary(claims),
    iamTokens: await unary(credentials.filter((_, index) => isIssued(cells[index]?.kind ?? ''))),
    staticToken: await unary(credentials.filter((_, index) => !isIssued(cells[index]?.kind ?? ''))),
    batch: await batchWorkload(claims, load),
    stream: await streamWorkload(claims, load),
    answersChecked: claims.length + credentials.length + BATCH_LENGTH + claims.length,
  }
}

async function batchWorkload(claims: readonly ExpectedCheck[], load: Load): Promise<Workload> {
  const checks = Array.from({ length: BATCH_LENGTH }, (_, index) => claims[index % claims.length])
  const question = encode(wire.CheckBatchRequest, {
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

async function streamWorkload(claims: readonly ExpectedCheck[], load: Load): Promise<Workload> {
  const questions = claims.map(({ check }, index) =>
    encode(wire.CheckStreamRequest, { id: `question-${index}`, check: checkRequest(check) }),
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

/** A token of every kind, by kind: issued by the sidecar, or the demo account's own. */
async function obtainTokens(engine: Engine, { grpc, demo }: SidecarReady): Promise<Map<string, string>> {
  const client = connect(grpc)
  const { account, project } = demo
  const { name: userName, password } = demo.service_user
  const tokens = new Map<string, string>()
  for (const { id, scopeLevel, obtained } of engine.tokenKinds.values()) {
    if (obtained.by === 'issue') {
      const scope = scopeLevel === 'project' ? { account, project } : { account }
      tokens.set(id, (await client.issue({ password: { userName, account, password }, scope })).value)
    } else tokens.set(id, demo.static_token)
  }
  client.close()
  return tokens
}

function refuseWrong(response: wire.CheckResponse | undefined, expected: ExpectedCheck | undefined): void {
  if (response === undefined || expected === undefined) throw new Error('an answer is missing')
  const { verified, token: _token, cacheForMs: _cacheForMs, ...decision } = checkAnswer(response)
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

function encode<T>(message: { encode(value: T): { finish(): Uint8Array } }, value: T): Buffer {
  return Buffer.from(message.encode(value).finish())
}
