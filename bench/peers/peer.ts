/** A library that is compared with `decide`: its answers, and a way to ask for all of them. */
import type { Engine } from '../../engine/index.ts'
import { cellQuestions } from '../workloads/questions.ts'

/** The question that every peer gets: may a token of this kind open this API? */
export interface Asked {
  readonly api: string
  readonly kind: string
}

export interface Peer {
  /** Id of its row. */
  readonly id: string
  /** Its name for people. */
  readonly name: string
  /** How it is set up, and the advice of its documentation that this follows. */
  readonly configured: string
  /** The answer to each question, in the order of the questions. */
  answers(): Promise<boolean[]>
  /** Asks all questions and counts how many are allowed. This is timed. */
  readonly countAllowed: Count
  /** Whether its rules are looked up before the clock starts. It is then compared with `decideAt`. */
  readonly atHand?: boolean
}

/**
 * Asks all questions once. Each peer has its own loop: in a shared one the compiler would optimise the
 * call for several peers at once. Counting keeps the compiler from leaving a question out.
 */
export type Count =
  | { readonly awaited: false; readonly once: () => number }
  | { readonly awaited: true; readonly once: () => Promise<number> }

/** A part of a peer's policy: an API with the kinds that open it. */
export interface Rule {
  readonly api: string
  readonly kinds: readonly string[]
}

/** The rules by which the engine decides. Its resolutions of conflicts are applied. */
export function rulesOf(engine: Engine): Rule[] {
  return Array.from(engine.apis.values(), ({ id, accepted }) => ({
    api: id,
    kinds: accepted.map(({ kind }) => kind),
  }))
}

/** The same rules by kind: the APIs that each kind opens. */
export function apisByKind(rules: readonly Rule[]): Map<string, string[]> {
  const apis = new Map<string, string[]>()
  for (const { api, kinds } of rules)
    for (const kind of kinds) apis.set(kind, [...(apis.get(kind) ?? []), api])
  return apis
}

/** @throws Error if a peer's answers about the cells differ from those of `decide` */
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
