/** The calls of the sidecar, whole and in parts, as operations of this process. */
import { type Engine, finish, type TokenKind } from '../../engine/index.ts'
import type { Verification, Verifier } from '../../sidecar/authority/authority.ts'
import { readCheck } from '../../sidecar/contract/check-request.ts'
import { headersFor } from '../../sidecar/contract/ext-authz/header-filter.ts'
import { readAsked } from '../../sidecar/contract/ext-authz/request.ts'
import { EncodedAnswers } from '../../sidecar/contract/responses.ts'
import { HeaderDecoder } from '../../sidecar/transports/http2/hpack/decoder.ts'
import { HeaderEncoder } from '../../sidecar/transports/http2/hpack/encoder.ts'
import { HEADER_TABLE_BYTES } from '../../sidecar/transports/http2/protocol.ts'
import { checkCredentials } from '../../sidecar/usecases/check.ts'
import type { CheckOutcome, CredentialsQuestion } from '../../sidecar/usecases/questions.ts'
import { CHECK_PATH, callFields, type Workload } from '../harness/grpc.ts'
import { type MemoryConnection, startInProcess, stopClocks } from './in-process.ts'
import { forEach, type Operation } from './operations.ts'
import { ACCOUNT, cellQuestions, PROJECT, shippedEngine } from './questions.ts'
import { dataFolderIn, type Recorded, readRecorded } from './recorded.ts'

/**
 * From here on the clocks stand still.
 *
 * @param folder of `recordCalls`
 */
export async function callOperations(folder: string, stack: AsyncDisposableStack): Promise<Operation[]> {
  const recorded = readRecorded(folder)
  const connect = await startInProcess(dataFolderIn(folder), stack)
  stopClocks(stack)
  return [...parts(recorded), ...(await wholeCalls(recorded, connect))]
}

/** The parts of a call, without its transport. */
function parts({ claims, iamTokens, envoy }: Recorded): Operation[] {
  const engine = shippedEngine()
  const questions = iamTokens.questions.map(credentialsIn)
  const authority = knowing(engine, questions)
  const services = { engine, authority, verifier: authority }
  const asker = { connection: {}, listener: undefined }
  const check = (question: CredentialsQuestion) => checkCredentials(services, question, asker) as CheckOutcome
  const outcomes = questions.map(check)
  if (outcomes.filter(({ decision }) => decision.allowed).length !== allowedByTokens(engine))
    throw new Error('the use case decides otherwise than the engine')
  const answers = finish(EncodedAnswers.of(engine, CACHE_FOR_MS))
  const decoder = new HeaderDecoder(HEADER_TABLE_BYTES, HEADER_LIST_BYTES)
  const head = new HeaderEncoder().once(callFields(CHECK_PATH, 'sidecar.internal:8080').fields)
  const filter = headersFor(engine)
  return [
    forEach('read-claims', 'read a CheckRequest of claims', claims.questions, readCheck),
    forEach('read-credentials', 'read a CheckRequest of an IAM token', iamTokens.questions, readCheck),
    forEach('read-ext-authz', 'read a request of Envoy (ext_authz)', envoy.questions, (bytes) =>
      readAsked(bytes, filter),
    ),
    forEach('read-head', 'read the header block of a first call (HPACK)', [head], (bytes) =>
      decoder.decode(bytes, 0, bytes.length),
    ),
    forEach('use-case', 'the use case, for a token that an authority knows', questions, check),
    forEach('write-answer', 'write the answer about a token', outcomes, (outcome) =>
      answers.forCredentials(outcome, { sequence: 9, atMs: ISSUED_MS }, 'basis', ISSUED_MS),
    ),
  ]
}

/** Calls on a connection of HTTP/2, from the bytes of the request to those of the answer. */
function wholeCalls(
  { claims, iamTokens, staticToken, batch, batchLength, envoy }: Recorded,
  connect: () => MemoryConnection,
): Promise<Operation[]> {
  const call = async (
    id: string,
    what: string,
    workload: Workload,
    calls = workload.questions.length,
  ): Promise<Operation> => ({ id, what, calls, pass: await connect().caller(workload) })
  return Promise.all([
    call('check-claims', 'Check of claims', claims),
    call('check-iam-token', 'Check of an IAM token, warm', iamTokens),
    call('check-static-token', 'Check of a static token', staticToken),
    call('check-batch', `a decision in a CheckBatch of ${batchLength}`, batch, batchLength),
    call('ext-authz', 'ext_authz of an IAM token, warm', envoy),
  ])
}

const CACHE_FOR_MS = 30_000
const ISSUED_MS = Date.UTC(2026, 0, 1)
const HEADER_LIST_BYTES = 16_384

function credentialsIn(bytes: Buffer): CredentialsQuestion {
  const check = readCheck(bytes)
  if (check.type !== 'credentials') throw new Error('expected a check of credentials')
  return check.question
}

/** An authority that knows the tokens of the questions. The first one is of the first kind, and so on. */
function knowing(engine: Engine, questions: readonly CredentialsQuestion[]): Verifier {
  const values = new Set(questions.map(({ headers }) => String([...headers][0]?.[1])))
  const kinds = issuedKinds(engine)
  const known = new Map(
    Array.from(values, (value, index) => [value, verified(kinds[index] as TokenKind)] as const),
  )
  return {
    recognize: () => 'issue',
    verify: (value) => known.get(value) ?? { ok: false, reason: 'CREDENTIAL_INVALID' },
  }
}

function verified({ id: kind, scopeLevel }: TokenKind): Verification {
  const scope = scopeLevel === 'project' ? { account: ACCOUNT, project: PROJECT } : { account: ACCOUNT }
  return {
    ok: true,
    token: {
      ...{ kind, scope, tokenId: '01234567-89ab-4cde-8f01-23456789abcd' },
      subject: { id: 'user-1', name: 'importer', type: 'service_user' },
      ...{ issuedAtMs: ISSUED_MS, expiresAtMs: ISSUED_MS + 86_400_000 },
    },
  }
}

function issuedKinds(engine: Engine) {
  return [...engine.tokenKinds.values()].filter(({ obtained }) => obtained.by === 'issue')
}

/** How many cells are open to tokens that are issued. */
function allowedByTokens(engine: Engine): number {
  const kinds = new Set(issuedKinds(engine).map(({ id }) => id))
  return cellQuestions(engine).filter(
    (question) => kinds.has(question.kind) && engine.decide(question).allowed,
  ).length
}
