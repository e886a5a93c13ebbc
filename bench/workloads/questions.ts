/** The questions that the suites ask: every cell of a matrix, with a scope that fits the kind. */
import { compile, type Decision, type Engine, type Matrix, type Question } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'

export const ACCOUNT = '123456'
export const PROJECT = 'demo-project'

/** A question with the handle of its cell. */
export type HandledQuestion = Question & { readonly handle: ReturnType<Engine['handle']> }

/** An engine of the shipped matrix. */
export function shippedEngine(): Engine {
  return compile(supportMatrix)
}

/**
 * One question for each cell, API by API. The ids are the strings of the matrix, as a program's constants
 * would be.
 */
export function cellQuestions(engine: Engine, account = ACCOUNT, project = PROJECT): Question[] {
  return [...engine.apis.keys()].flatMap((api) =>
    Array.from(engine.tokenKinds.values(), ({ id: kind, scopeLevel }) => ({
      api,
      kind,
      scope: scopeLevel === 'project' ? { account, project } : { account },
    })),
  )
}

/** The same questions, each with a target that its token may access. */
export function withTargets(questions: readonly Question[]): Question[] {
  return questions.map((question) => ({ ...question, target: { ...question.scope } }))
}

/** The same questions, each with the handle of its cell. */
export function withHandles(engine: Engine, questions: readonly Question[]): HandledQuestion[] {
  return questions.map((question) => ({ ...question, handle: engine.handle(question.kind, question.api) }))
}

/** The decisions in plain Maps, by API and then by kind, with the engine's own strings as keys. */
export function decisionMaps(
  engine: Engine,
  questions: readonly Question[],
): Map<string, Map<string, Decision>> {
  const decisions = new Map<string, Map<string, Decision>>()
  for (const api of engine.apis.keys()) decisions.set(api, new Map())
  for (const question of questions)
    decisions.get(question.api)?.set(engine.tokenKinds.get(question.kind)?.id ?? '', engine.decide(question))
  return decisions
}

/** @throws Error if the engine decides otherwise than the rows of the matrix that it was compiled from */
export function refuseWrongDecisions(engine: Engine, matrix: Matrix, questions: readonly Question[]): void {
  const accepted = new Map(matrix.apis.map(({ id, accepts }) => [id, new Set(accepts)]))
  for (const question of questions) {
    const { allowed } = engine.decide(question)
    if (allowed !== accepted.get(question.api)?.has(question.kind))
      throw new Error(`a wrong answer: ${JSON.stringify(question)}, allowed: ${allowed}`)
  }
}

/** Headers as a service receives them, the credential last. */
export function requestHeaders(engine: Engine): [string, string][] {
  const [kind] = engine.tokenKinds.values()
  return [
    ['host', 'api.example.com'],
    ['user-agent', 'curl/8.5.0'],
    ['accept', '*/*'],
    ['accept-encoding', 'gzip, deflate'],
    ['content-type', 'application/json'],
    ['content-length', '2'],
    ['x-request-id', '5f2b9f0e-6f0c-4f5e-9d0b-0a3c1f6f2e11'],
    [kind?.header ?? '', 'x'.repeat(400)],
  ]
}
