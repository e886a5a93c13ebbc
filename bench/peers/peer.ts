/** What a library has to offer to be measured beside `decide`: its answers, and a way to ask for all of them. */
import type { Engine } from '../../engine/index.ts'
import { cellQuestions } from '../questions.ts'

/** What is asked of everybody: may a token of this kind open this API? */
export interface Asked {
  readonly api: string
  readonly kind: string
}

export interface Peer {
  /** Id of its row. */
  readonly id: string
  /** As people call it. */
  readonly name: string
  /** How it is set up, and which advice of its own documentation that follows. */
  readonly configured: string
  /** The answer to each question, in their order. */
  answers(): Promise<boolean[]>
  /**
   * Asks every question and counts those that are allowed. This is what is timed; each peer has a loop of its own, so
   * that the compiler treats none by the habits of another, and the count keeps it from leaving a question out.
   */
  readonly countAllowed: Count
  /** Whether it is asked with its rules at hand, found before the clock starts; it then stands beside `decideAt`. */
  readonly atHand?: boolean
}

export type Count =
  | { readonly awaited: false; readonly once: () => number }
  | { readonly awaited: true; readonly once: () => Promise<number> }

/** What a peer's policy is made of: an API with the kinds that open it. */
export interface Rule {
  readonly api: string
  readonly kinds: readonly string[]
}

/** The rules by which the engine decides, with its resolutions of conflicts applied. */
export function rulesOf(engine: Engine): Rule[] {
  return Array.from(engine.apis.values(), ({ id, accepted }) => ({
    api: id,
    kinds: accepted.map(({ kind }) => kind),
  }))
}

/** The same rules by kind: the APIs that each opens. */
export function apisByKind(rules: readonly Rule[]): Map<string, string[]> {
  const apis = new Map<string, string[]>()
  for (const { api, kinds } of rules)
    for (const kind of kinds) apis.set(kind, [...(apis.get(kind) ?? []), api])
  return apis
}

/** @throws Error where a peer's answers to the questions about every cell are not those of `decide` */
export function refuseWrong(name: string, engine: Engine, answers: readonly boolean[]): void {
  const questions = cellQuestions(engine)
  if (answers.length !== questions.length) throw new Error(`${name} leaves questions unanswered`)
  questions.forEach((question, index) => {
    const { allowed } = engine.decide(question)
    const { api, kind } = question
    if (answers[index] !== allowed)
      throw new Error(`${name} answers ${answers[index]} for ${kind} at ${api}, decide ${allowed}`)
  })
}
