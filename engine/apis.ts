/** What there is to say of an API before any question: what the rule says about its cells, and how an engine lists it. */
import { SITUATIONS } from './decide.ts'
import type { AcceptedKind, CompiledApi, NamedConflict } from './decision.ts'
import type { Api, TokenKind } from './matrix.ts'
import type { Reason } from './reasons.ts'
import { type Facts, reasonOf } from './rule.ts'

/** The facts about a cell, which no question changes. */
type CellFacts = Omit<Facts, 'credential' | 'scope' | 'target'>

export interface ApiRow {
  readonly api: CompiledApi
  /** For each kind, in their order, and for all kinds that are not in the matrix: the reason for each of the `SITUATIONS`. */
  readonly reasons: readonly (readonly Reason[])[]
}

/** What the rule says about a cell. */
interface Ruling {
  readonly reasons: readonly Reason[]
  /** Whether a token of the kind opens the API, where its scope fits and no target is given. */
  readonly opens: boolean
}

/** Compiles rows. What many of them have in common is made once. */
export class ApiRows {
  readonly #kinds: readonly TokenKind[]
  readonly #strict: boolean
  readonly #rulings = new Map<string, Ruling>()
  /** One for each kind. */
  readonly #acceptable: readonly AcceptedKind[]
  readonly #accepted = new Map<string, readonly AcceptedKind[]>()
  /** Of an API that no conflict bears on. */
  readonly #noConflicts: CompiledApi['conflicts']

  constructor(kinds: readonly TokenKind[], strict: boolean) {
    this.#kinds = kinds
    this.#strict = strict
    this.#acceptable = kinds.map(({ id, header, obtained }) =>
      Object.freeze({ kind: id, header, issuable: obtained.by === 'issue' }),
    )
    this.#noConflicts = new Map(kinds.map(({ id }) => [id, NONE]))
  }

  /** @param conflicts those that bear on the API, in the order of the matrix */
  compile(row: Api, conflicts: readonly NamedConflict[]): ApiRow {
    const kinds = this.#kinds
    const contesting = kinds.map(({ id }) =>
      conflicts.length === 0 ? NONE : conflicts.filter((conflict) => contests(conflict, row.id, id)),
    )
    const rulings = kinds.map((kind, index) => this.#ruling(row, kind, contesting[index] ?? NONE))
    const contested = kinds.filter((_, index) => contesting[index]?.length !== 0)
    const api = Object.freeze({
      id: row.id,
      title: row.title,
      section: row.section,
      accepted: this.#acceptedBy(rulings),
      contested: contested.length === 0 ? NONE : Object.freeze(contested.map(({ id }) => id)),
      conflicts:
        conflicts.length === 0
          ? this.#noConflicts
          : new Map(
              kinds.map(({ id }, index) => [id, bearingOn(row.id, conflicts, contesting[index] ?? NONE)]),
            ),
    })
    const all = [...rulings, this.#ruling(row, undefined, NONE)]
    return { api, reasons: all.map(({ reasons }) => reasons) }
  }

  #acceptedBy(rulings: readonly Ruling[]): readonly AcceptedKind[] {
    const key = rulings.map(({ opens }) => (opens ? '1' : '0')).join('')
    let accepted = this.#accepted.get(key)
    if (accepted === undefined) {
      accepted = Object.freeze(this.#acceptable.filter((_, index) => rulings[index]?.opens))
      this.#accepted.set(key, accepted)
    }
    return accepted
  }

  /** Most cells of a matrix have the same facts: the rule is asked once about each combination. */
  #ruling(row: Api, kind: TokenKind | undefined, contesting: readonly NamedConflict[]): Ruling {
    const facts = factsOf(row, kind, contesting, this.#strict)
    const key = `${facts.kind} ${facts.table} ${facts.conflict}`
    let ruling = this.#rulings.get(key)
    if (ruling === undefined) {
      ruling = {
        reasons: SITUATIONS.map((situation) => reasonOf({ ...facts, ...situation, credential: 'verified' })),
        opens: opens(facts),
      }
      this.#rulings.set(key, ruling)
    }
    return ruling
  }
}

const NONE: readonly never[] = Object.freeze([])

/** @param contesting the conflicts that put the cell in doubt */
function factsOf(
  row: Api,
  kind: TokenKind | undefined,
  contesting: readonly NamedConflict[],
  strict: boolean,
): CellFacts {
  const reversed = contesting.some(({ resolution }) => resolution === 'prose')
  return {
    api: 'known',
    kind: kind === undefined ? 'unknown' : kind.scopeLevel,
    table: kind !== undefined && row.accepts.includes(kind.id) ? 'accepts' : 'rejects',
    conflict: contesting.length === 0 ? 'none' : reversed ? 'prose' : 'table',
    strict,
  }
}

function opens(facts: CellFacts): boolean {
  if (facts.kind === 'unknown') return false
  return reasonOf({ ...facts, credential: 'verified', scope: facts.kind, target: 'not_given' }) === 'ALLOWED'
}

/** The conflicts that a decision about a cell names. */
function bearingOn(
  api: string,
  conflicts: readonly NamedConflict[],
  contesting: readonly NamedConflict[],
): readonly NamedConflict[] {
  return Object.freeze(
    conflicts.filter((conflict) => conflict.apis.includes(api) || contesting.includes(conflict)),
  )
}

/** Whether a conflict puts the value of this cell in doubt. */
function contests({ cells }: NamedConflict, api: string, kind: string): boolean {
  return cells.some((cell) => cell.api === api && cell.kind === kind)
}
