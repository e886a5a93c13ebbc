/** Asks the rule about every combination of facts that a matrix can have, and puts the answers where deciding finds them. */
import { Answers, type DecisionFor, type Rules } from './answers.ts'
import { type CellFacts, compileApi, unknownApiFacts } from './apis.ts'
import { type Advised, adviceByKind, conflictsByApi } from './conflicts.ts'
import { type AnswerTable, type KindColumns, SITUATIONS } from './decide.ts'
import type { CompiledApi, Decision, NamedConflict } from './decision.ts'
import type { Matrix, TokenKind } from './matrix.ts'
import { CREDENTIAL_REASONS, type Reason } from './reasons.ts'
import { reasonOf } from './rule.ts'

/** What the answers are made of. */
export interface AnswerSources extends Rules {
  readonly matrix: Matrix
  /** Frozen copies of the rows of the matrix. */
  readonly kinds: readonly TokenKind[]
  readonly conflicts: readonly NamedConflict[]
}

export interface Tabulated {
  readonly table: AnswerTable
  readonly apis: ReadonlyMap<string, CompiledApi>
  /** Every answer in the table, each once. */
  readonly decisions: readonly Decision[]
}

export function tabulate(sources: AnswerSources): Tabulated {
  const { matrix, strict, kinds, conflicts } = sources
  const { columns, kindColumns, unknownKind } = layOut(kinds, adviceByKind(matrix, conflicts))
  const kindsAndUnknown = [...kinds, undefined]
  const conflictsOf = conflictsByApi(conflicts)
  const reasonsFor = answerReasons()
  const made = new Answers(sources, kinds)
  const apis = new Map<string, CompiledApi>()

  const answers: Decision[] = []
  const addAnswers = (facts: readonly CellFacts[], plain: readonly DecisionFor[]) => {
    for (const { kind, advised } of columns) {
      const decisionFor = made.advised(plain[kind] as DecisionFor, advised)
      for (const reason of reasonsFor(facts[kind] as CellFacts)) answers.push(decisionFor(reason))
    }
  }
  // Row 0: an unknown API. One decision says so, whatever the kind.
  const unknownApi = made.about()
  const sameForAll = kindsAndUnknown.map(() => unknownApi)
  addAnswers(unknownApiFacts(kinds, strict), sameForAll)
  for (const row of matrix.apis) {
    const { api, facts } = compileApi(row, kinds, conflictsOf.get(row.id) ?? [], strict)
    apis.set(api.id, api)
    const plain = kindsAndUnknown.map((kind) => made.about(api, kind))
    addAnswers(facts, plain)
  }

  // After all answers to questions: what a decision looks at stays close together in memory.
  const credentialDenials: Decision[] = []
  const addDenials = (reasons: readonly Reason[], plain: DecisionFor) => {
    for (const { advised } of columns) {
      const decisionFor = made.advised(plain, advised)
      for (const reason of reasons) credentialDenials.push(decisionFor(reason))
    }
  }
  addDenials(denialReasons('unknown', strict), unknownApi)
  const denials = denialReasons('known', strict)
  for (const api of apis.values()) addDenials(denials, made.about(api))

  const apiRows = new Map(Array.from(apis.keys(), (id, index) => [id, index + 1]))
  const columnCount = columns.length
  const table = {
    apiRows,
    kindColumns,
    unknownKind,
    columnCount,
    answers,
    credentialDenials,
    handles: new Map(),
  }
  return { table, apis, decisions: made.decisions }
}

interface Column {
  /** Index of the kind. After the last one comes the index of all kinds that are not in the matrix. */
  readonly kind: number
  /** What is said about a type of holder, where the column is for one. */
  readonly advised?: Advised
}

/** A column for each kind, then one for all unknown kinds, then one for each kind and type of holder with advice. */
function layOut(
  kinds: readonly TokenKind[],
  advice: ReadonlyMap<string, ReadonlyMap<string, Advised>>,
): Pick<AnswerTable, 'kindColumns' | 'unknownKind'> & { readonly columns: readonly Column[] } {
  const columns: Column[] = [...kinds, undefined].map((_, kind) => ({ kind }))
  const kindColumns = new Map<string, KindColumns>()
  for (const [kind, { id }] of kinds.entries()) {
    const further = new Map<string, number>()
    for (const [holder, advised] of advice.get(id) ?? [])
      further.set(holder, columns.push({ kind, advised }) - 1 - kind)
    kindColumns.set(id, { column: kind, furtherForHolder: further.size > 0 ? further : undefined })
  }
  return { columns, kindColumns, unknownKind: { column: kinds.length, furtherForHolder: undefined } }
}

/** The rule about a cell in each situation. Most cells of a matrix have the same facts: each combination is asked once. */
function answerReasons(): (facts: CellFacts) => readonly Reason[] {
  const known = new Map<string, readonly Reason[]>()
  return (facts) => {
    const key = `${facts.api} ${facts.kind} ${facts.table} ${facts.conflict} ${facts.strict}`
    let reasons = known.get(key)
    if (reasons === undefined) {
      reasons = SITUATIONS.map((situation) => reasonOf({ ...facts, ...situation, credential: 'verified' }))
      known.set(key, reasons)
    }
    return reasons
  }
}

/** The rule about each fault of a credential. */
function denialReasons(api: 'known' | 'unknown', strict: boolean): readonly Reason[] {
  const facts = { api, kind: 'unknown', table: 'rejects', conflict: 'none', strict } as const
  return CREDENTIAL_REASONS.map((credential) =>
    reasonOf({ ...facts, credential, scope: 'invalid', target: 'not_given' }),
  )
}
