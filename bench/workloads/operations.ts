/**
 * Small operations of the hot path, to be repeated in this process: calls of the library, and the parts of a
 * call of the sidecar. Their answers are compared before it is repeated.
 */
import { compile, denialOf, type Engine, type Question } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import {
  cellQuestions,
  refuseWrongDecisions,
  requestHeaders,
  shippedEngine,
  withHandles,
  withTargets,
} from './questions.ts'

/** Something that is asked over and over. */
export interface Operation {
  /** Stable name. The kept counts refer to it. */
  readonly id: string
  readonly what: string
  /** How many times `pass` does it. */
  readonly calls: number
  readonly pass: () => void
}

/**
 * Each answer is compared with an object that is never an answer, so that the compiler cannot leave the work
 * out.
 */
const NEVER = {}
export function consume(answer: unknown): void {
  if (answer === NEVER) throw new Error('got an answer that is impossible')
}

/** An operation that is done once for each of the questions. */
export function forEach<Asked>(
  id: string,
  what: string,
  questions: readonly Asked[],
  answer: (question: Asked) => unknown,
): Operation {
  if (questions.length === 0) throw new Error(`${id}: expected questions`)
  const pass = () => {
    for (const question of questions) consume(answer(question))
  }
  return { id, what, calls: questions.length, pass }
}

/** @throws Error if the engine gives a wrong answer */
export function engineOperations(): Operation[] {
  const lenient = shippedEngine()
  const strict: Engine = compile(supportMatrix, { strict: true })
  const questions = cellQuestions(lenient)
  refuseWrongDecisions(lenient, supportMatrix, [...questions, ...withTargets(questions)])
  if (questions.some((question) => strict.decide(question).allowed && !lenient.decide(question).allowed))
    throw new Error('strict mode allows what the other one denies')
  const headers = requestHeaders(lenient)
  if (!lenient.extract(headers).ok) throw new Error('no credential was found')
  const denials = questions.map((question) => lenient.decide(question)).filter(({ allowed }) => !allowed)
  return [
    ...decisions(lenient, questions, ''),
    ...decisions(strict, questions, ', strict'),
    forEach('decide-target', 'decide with a target', withTargets(questions), (question) =>
      lenient.decide(question),
    ),
    forEach('deny', 'deny a missing credential', [...lenient.apis.keys()], (api) =>
      lenient.deny(api, 'CREDENTIAL_MISSING'),
    ),
    forEach('extract', 'find the credential among 8 headers', [headers], (given) => lenient.extract(given)),
    forEach('denial', 'explain a denial: status, headers and body', denials, denialOf),
  ]
}

/** Deciding about the cells that are allowed and about those that are not, by name and by handle. */
function decisions(engine: Engine, questions: readonly Question[], mode: '' | ', strict'): Operation[] {
  return ([true, false] as const).flatMap((allowed) => {
    const asked = questions.filter((question) => engine.decide(question).allowed === allowed)
    const ending = `${allowed ? 'allowed' : 'denied'}${mode === '' ? '' : '-strict'}`
    const texts = `${allowed ? 'allowed' : 'denied'}${mode}`
    return [
      forEach(`decide-${ending}`, `decide: ${texts}`, asked, (question) => engine.decide(question)),
      forEach(
        `decide-at-${ending}`,
        `decide by handle: ${texts}`,
        withHandles(engine, asked),
        ({ handle, scope }) => engine.decideAt(handle, scope),
      ),
    ]
  })
}
