/**
 * What an engine answers. Which reason each question gets is settled here before the first question. The decision that says so is built
 * once, frozen, and shared by all the questions that get it.
 */
import type { Advised } from './conflicts.ts'
import { type AnswerBuilder, SITUATIONS } from './decide.ts'
import type { CompiledApi, Decision, NamedConflict } from './decision.ts'
import type { TokenKind } from './matrix.ts'
import { messageOf } from './messages.ts'
import { CREDENTIAL_REASONS, type Reason, UNKNOWN_TOKEN_REASONS } from './reasons.ts'
import { reasonOf } from './rule.ts'

/** What names the rules of an engine, in each of its decisions. */
export type Rules = Pick<Decision, 'digest' | 'strict' | 'rulesDigest'>

/** A column of the table: a kind of token, and a type of holder where there is something to say about it. */
export interface Column {
  /** Index of the kind. After the last one comes the index of all kinds that are not in the matrix. */
  readonly kind: number
  /** What is said about a type of holder, where the column is for one. */
  readonly advised?: Advised
}

const SITUATION_COUNT = SITUATIONS.length
const FAULT_COUNT = CREDENTIAL_REASONS.length

export class Answers implements AnswerBuilder {
  /** Row by row, column by column: an answer for each of the `SITUATIONS`, where it is built. */
  readonly answers: (Decision | undefined)[] = []
  /** Row by row, column by column: a denial for each of the `CREDENTIAL_REASONS`, where it is built. */
  readonly denials: (Decision | undefined)[] = []
  readonly #rules: Rules
  readonly #kinds: readonly TokenKind[]
  readonly #columns: readonly Column[]
  /** By row. Row 0 is for all APIs that are not in the matrix. */
  readonly #apis: (CompiledApi | undefined)[] = []
  /** Row by row, kind by kind, and last the kinds that are not in the matrix: the reason for each of the `SITUATIONS`. */
  readonly #reasons: (readonly Reason[])[] = []
  readonly #faults: readonly Reason[]

  /** @param columns first one for each kind and one for all others, then those with advice */
  constructor(
    { digest, strict, rulesDigest }: Rules,
    kinds: readonly TokenKind[],
    columns: readonly Column[],
  ) {
    this.#rules = { digest, strict, rulesDigest }
    this.#kinds = kinds
    this.#columns = columns
    this.#faults = faultsOf('known', strict)
    // Of an unknown API one decision says so, whatever else is at fault.
    const [unknownApi] = faultsOf('unknown', strict)
    const decision = this.#build(unknownApi as Reason)
    this.#add(
      undefined,
      Array.from({ length: kinds.length + 1 }, () => NONE),
      decision,
    )
  }

  /** Adds the row of an API. @param reasons for each kind, and for all kinds that are not in the matrix */
  add(api: CompiledApi, reasons: readonly (readonly Reason[])[]): void {
    this.#add(api, reasons, undefined)
  }

  answer(place: number): Decision {
    const known = this.answers[place]
    if (known !== undefined) return known
    const situation = place % SITUATION_COUNT
    const start = place - situation
    const { row, column } = this.#cell(start / SITUATION_COUNT)
    const { kind, advised } = this.#columns[column] as Column
    const reasons = this.#reasons[row * (this.#kinds.length + 1) + kind] as readonly Reason[]
    const reason = reasons[situation] as Reason
    const decision =
      advised === undefined
        ? this.#build(reason, this.#apis[row], this.#kinds[kind])
        : withAdvice(this.answer(this.#place(row, kind) * SITUATION_COUNT + situation), advised)
    for (const [other, same] of reasons.entries()) if (same === reason) this.answers[start + other] = decision
    return decision
  }

  denial(place: number): Decision {
    const known = this.denials[place]
    if (known !== undefined) return known
    const fault = place % FAULT_COUNT
    const { row, column } = this.#cell((place - fault) / FAULT_COUNT)
    const { advised } = this.#columns[column] as Column
    // Without advice it says nothing about the kind, so those of all kinds are one.
    const unknownKind = this.#kinds.length
    const decision =
      column === unknownKind
        ? this.#build(this.#faults[fault] as Reason, this.#apis[row])
        : withAdvice(this.denial(this.#place(row, unknownKind) * FAULT_COUNT + fault), advised)
    this.denials[place] = decision
    return decision
  }

  /** Builds every decision. */
  buildAll(): void {
    for (let place = 0; place < this.answers.length; place++) this.answer(place)
    // After all answers to questions: what a decision looks at stays close together in memory.
    for (let place = 0; place < this.denials.length; place++) this.denial(place)
  }

  /** Every decision, each once. */
  *decisions(): Generator<Decision> {
    for (const row of this.#apis.keys()) {
      const found = new Set<Decision>()
      const [first, next] = [this.#place(row, 0), this.#place(row + 1, 0)]
      for (let place = first * SITUATION_COUNT; place < next * SITUATION_COUNT; place++)
        found.add(this.answer(place))
      for (let place = first * FAULT_COUNT; place < next * FAULT_COUNT; place++) found.add(this.denial(place))
      yield* found
    }
  }

  #add(
    api: CompiledApi | undefined,
    reasons: readonly (readonly Reason[])[],
    decision: Decision | undefined,
  ): void {
    this.#apis.push(api)
    for (const each of reasons) this.#reasons.push(each)
    for (let count = this.#columns.length * SITUATION_COUNT; count > 0; count--) this.answers.push(decision)
    for (let count = this.#columns.length * FAULT_COUNT; count > 0; count--) this.denials.push(decision)
  }

  /** The number of a cell. */
  #place(row: number, column: number): number {
    return row * this.#columns.length + column
  }

  #cell(place: number): { readonly row: number; readonly column: number } {
    const column = place % this.#columns.length
    return { row: (place - column) / this.#columns.length, column }
  }

  /** The decision about a cell, an API or, where neither is known, about nothing that the matrix has. */
  #build(reason: Reason, api?: CompiledApi, kind?: TokenKind): Decision {
    const allowed = reason === 'ALLOWED'
    return Object.freeze({
      allowed,
      reason,
      message: messageOf(reason, { kinds: this.#kinds, api, kind }),
      header: kind?.header ?? '',
      accepted: allowed ? NONE : (api?.accepted ?? NONE),
      conflicts: (kind && api?.conflicts.get(kind.id)) ?? NONE,
      advice: NONE,
      ...this.#rules,
    })
  }
}

const NONE: readonly never[] = Object.freeze([])

/** The rule about each fault of a credential. */
function faultsOf(api: 'known' | 'unknown', strict: boolean): readonly Reason[] {
  const facts = { api, kind: 'unknown', table: 'rejects', conflict: 'none', strict } as const
  return CREDENTIAL_REASONS.map((credential) =>
    reasonOf({ ...facts, credential, scope: 'invalid', target: 'not_given' }),
  )
}

/** The decision with what is said about a type of holder, where it is about a known token. */
function withAdvice(decision: Decision, said: Advised | undefined): Decision {
  if (said === undefined || UNKNOWN_TOKEN_REASONS.some((unknown) => unknown === decision.reason))
    return decision
  const { advice, conflicts } = said
  return Object.freeze({ ...decision, advice, conflicts: joined(decision.conflicts, conflicts) })
}

/** No new list where one of the two is enough: a large matrix has many decisions. */
function joined(some: readonly NamedConflict[], others: readonly NamedConflict[]): readonly NamedConflict[] {
  if (others.length === 0) return some
  return some.length === 0 ? others : Object.freeze([...some, ...others])
}
