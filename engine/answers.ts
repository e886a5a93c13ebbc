/** What an engine answers: each decision is built once, frozen, and shared by all the questions that get it. */
import type { Advised } from './conflicts.ts'
import type { CompiledApi, Decision, NamedConflict } from './decision.ts'
import type { TokenKind } from './matrix.ts'
import { messageOf } from './messages.ts'
import { type Reason, UNKNOWN_TOKEN_REASONS } from './reasons.ts'

/** What names the rules of an engine, in each of its decisions. */
export type Rules = Pick<Decision, 'digest' | 'strict' | 'rulesDigest'>

/** The decision for each reason. It is built when it is asked for first. */
export type DecisionFor = (reason: Reason) => Decision

/** Builds decisions, and keeps a list of them. */
export class Answers {
  readonly decisions: Decision[] = []
  readonly #rules: Rules
  readonly #kinds: readonly TokenKind[]

  constructor({ digest, strict, rulesDigest }: Rules, kinds: readonly TokenKind[]) {
    this.#rules = { digest, strict, rulesDigest }
    this.#kinds = kinds
  }

  /** Decisions about a cell, an API or, where neither is known, about nothing that the matrix has. */
  about(api?: CompiledApi, kind?: TokenKind): DecisionFor {
    return this.#once((reason) => {
      const allowed = reason === 'ALLOWED'
      return {
        allowed,
        reason,
        message: messageOf(reason, { kinds: this.#kinds, api, kind }),
        header: kind?.header ?? '',
        accepted: allowed ? NONE : (api?.accepted ?? NONE),
        conflicts: (kind && api?.conflicts.get(kind.id)) ?? NONE,
        advice: NONE,
        ...this.#rules,
      }
    })
  }

  /** The same decisions with what is said about a type of holder, where the decision is about a known token. */
  advised(plain: DecisionFor, said: Advised | undefined): DecisionFor {
    if (said === undefined) return plain
    const advised = this.#once((reason) => {
      const decision = plain(reason)
      return { ...decision, advice: said.advice, conflicts: joined(decision.conflicts, said.conflicts) }
    })
    return (reason) => (isOfUnknownToken(reason) ? plain(reason) : advised(reason))
  }

  #once(build: DecisionFor): DecisionFor {
    const built = new Map<Reason, Decision>()
    return (reason) => {
      let decision = built.get(reason)
      if (decision === undefined) {
        decision = Object.freeze(build(reason))
        built.set(reason, decision)
        this.decisions.push(decision)
      }
      return decision
    }
  }
}

const NONE: readonly never[] = Object.freeze([])

/** No new list where one of the two is enough: a large matrix has many decisions. */
function joined(some: readonly NamedConflict[], others: readonly NamedConflict[]): readonly NamedConflict[] {
  if (others.length === 0) return some
  return some.length === 0 ? others : Object.freeze([...some, ...others])
}

function isOfUnknownToken(reason: Reason): boolean {
  return UNKNOWN_TOKEN_REASONS.some((unknown) => unknown === reason)
}
