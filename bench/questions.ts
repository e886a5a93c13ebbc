/** The questions that the suites ask: every cell of a matrix, with a scope that fits the kind. */
import type { Engine, Question } from '../engine/index.ts'

export const ACCOUNT = '123456'
export const PROJECT = 'demo-project'

/** One question a cell, API by API. The ids are the matrix's own strings, as a program's constants would be. */
export function cellQuestions(engine: Engine, account = ACCOUNT, project = PROJECT): Question[] {
  return [...engine.apis.keys()].flatMap((api) =>
    Array.from(engine.tokenKinds.values(), ({ id: kind, scopeLevel }) => ({
      api,
      kind,
      scope: scopeLevel === 'project' ? { account, project } : { account },
    })),
  )
}

/** The same questions, each about a resource that its token may touch. */
export function withTargets(questions: readonly Question[]): Question[] {
  return questions.map((question) => ({ ...question, target: { ...question.scope } }))
}

/** The same questions, the cell of each looked up. */
export function withHandles(
  engine: Engine,
  questions: readonly Question[],
): (Question & { readonly handle: number })[] {
  return questions.map((question) => ({ ...question, handle: engine.handle(question.kind, question.api) }))
}
