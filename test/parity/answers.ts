/** Asks a protocol the whole table, and compares its answers with those of the library. */
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { denialOf } from '../../engine/denial.ts'
import type { Decision, Engine } from '../../engine/index.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import type { RunningSidecar } from '../support/sidecar/sidecar.ts'
import type { Sidecars } from './people.ts'
import { type Answer, type Protocol, refusedWith } from './protocol.ts'
import { cellQuestions, otherQuestions, type Question } from './questions.ts'

/**
 * The decision of the library: `extract` and `deny` where the credential is at fault, and `decide` otherwise.
 */
export function decisionOf(library: Engine, { api, subject, target, fault, known }: Question): Decision {
  if ('claims' in subject) return library.decide({ ...subject.claims, api, target })
  const found = library.extract(subject.headers)
  if (!found.ok) return library.deny(api, found.reason)
  if (fault !== undefined || known === undefined)
    return library.deny(api, fault as NonNullable<typeof fault>, known?.kind, known?.holder)
  return library.decide({ api, kind: known.kind, scope: known.scope, target, holder: known.holder })
}

/** The questions for a mode. */
export function questionsFor({ people }: Sidecars, strict: boolean): readonly Question[] {
  return [...cellQuestions(people, strict), ...otherQuestions(people)]
}

/** Fewest questions that every protocol is asked: it has words for the cells at least. */
const QUESTIONS_MIN = 90

/**
 * Fewest reasons among them. `explain` is asked about kinds of tokens alone, and no fault of a credential is
 * among its reasons.
 */
const REASONS_MIN = 4
const REASONS_MIN_OF: Readonly<Record<string, number>> = { 'portcullis explain': 2 }

/** Declares the tests of a protocol. */
export function holdsToTheTable(protocol: Protocol, started: () => Sidecars): void {
  test.each([
    { mode: 'by default', strict: false, library: engine },
    { mode: 'in strict mode', strict: true, library: strictEngine },
  ])(`${protocol.name}, $mode: the answers of the library`, async ({ strict, library }) => {
    const sidecars = started()
    const sidecar = strict ? sidecars.strict : sidecars.lenient
    await answersAs(library, protocol, sidecar, questionsFor(sidecars, strict))
  })
}

/** Asks a protocol all questions that it has words for: it must answer as the library does. */
export async function answersAs(
  library: Engine,
  protocol: Protocol,
  sidecar: RunningSidecar,
  all: readonly Question[],
  least = QUESTIONS_MIN,
): Promise<void> {
  const questions = all.filter((question) => protocol.silent(question) === undefined)
  const answers = await protocol.ask(sidecar, questions)
  expect(answers.length).toBe(questions.length)
  const rows = questions.map((question, index) => {
    const said = answers[index] as Answer
    return { what: question.what, said, expected: partOf(decisionOf(library, question), said) }
  })
  // A protocol that has no words for anything would agree with every answer.
  expect(rows.length).toBeGreaterThanOrEqual(least)
  const reasons = new Set(rows.map(({ said }) => said.reason))
  const reasonsMin = REASONS_MIN_OF[protocol.name] ?? REASONS_MIN
  expect(reasons.size).toBeGreaterThanOrEqual(Math.min(reasonsMin, least))
  expect(rows.filter(({ said, expected }) => !isDeepStrictEqual(said, expected))).toEqual([])
}

/** As much of a decision as the answer carries, but never less than whether, why, and by which rules. */
function partOf(decision: Decision, answer: Answer): Answer {
  const whole = { ...decision, conflicts: decision.conflicts.map(({ id }) => id) }
  const { allowed, reason, rulesDigest } = whole
  const denial = denialOf(decision)
  const refused = answer.denial && { denial: refusedWith(denial.status, denial.headers) }
  const more = Object.entries(whole).filter(([name]) => answer[name as keyof Answer] !== undefined)
  return { ...Object.fromEntries(more), ...refused, allowed, reason, rulesDigest }
}
