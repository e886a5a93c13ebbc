/**
 * Every answer of an engine. Row by row (APIs) and column by column (kinds of token), the table has a place
 * for each situation of a question. The rule has said the reason; here it becomes a decision, which explains
 * itself.
 */
import type { CellReasons } from './apis.ts'
import type { Advised } from './conflicts.ts'
import type { CompiledApi, CompiledKind, Decision } from './decision.ts'
import { messageOf } from './messages.ts'
import { REASONS, type Reason, UNKNOWN_TOKEN_REASONS } from './reasons.ts'
import { MISSING, SITUATIONS } from './situations.ts'

/** The fields that name the rules of an engine, in each of its decisions. */
type Rules = Pick<Decision, 'digest' | 'strict' | 'rulesDigest'>

/** A kind of token, and the advice about one type of holder where the column is for that. */
interface Column {
  /** 0 is for all kinds that are not in the matrix. */
  readonly kind: number
  readonly advised?: Advised
}

/** How many places a cell has. */
const CELL = SITUATIONS.length

/**
 * The place of an answer: where its row begins, plus where its column begins in a row, plus its situation.
 */
export class Table {
  /** API → where its row begins. At 0 is the row of all APIs that are not in the matrix. */
  readonly rows = new Map<string, number>()
  /** Kind → where its column begins. At 0 is the column of all kinds that are not in the matrix. */
  readonly columns: ReadonlyMap<string, number>
  /** Column of a kind → type of holder → how many places further on its answers have the advice about it. */
  readonly advised = new Map<number, Map<string, number>>()
  /**
   * By place; `undefined` where it is not built yet. One list, so that little memory is touched on the way.
   */
  readonly decisions: (Decision | undefined)[] = []
  readonly #layout: readonly Column[]
  readonly #apis: (CompiledApi | undefined)[] = []
  /** The answers of the rule, row by row, column by column. */
  readonly #cells: CellReasons[] = []
  readonly #kinds: readonly CompiledKind[]
  readonly #rules: Rules

  /** @param advice kind → type of holder → what is said about them */
  constructor(
    kinds: readonly CompiledKind[],
    advice: ReadonlyMap<string, ReadonlyMap<string, Advised>>,
    rules: Rules,
  ) {
    this.#kinds = kinds
    this.#rules = rules
    this.columns = new Map(kinds.map(({ id }, index) => [id, (index + 1) * CELL]))
    const layout: Column[] = [undefined, ...kinds].map((_, kind) => ({ kind }))
    for (const [id, column] of this.columns) {
      const further = new Map<string, number>()
      this.advised.set(column, further)
      for (const [holder, advised] of advice.get(id) ?? []) {
        further.set(holder, layout.length * CELL - column)
        layout.push({ kind: column / CELL, advised })
      }
    }
    this.#layout = layout
  }

  /**
   * Adds a row, first that of unknown APIs.
   *
   * @param cells first that of unknown kinds, then one for each kind
   */
  add(api: CompiledApi | undefined, cells: readonly CellReasons[]): void {
    if (api !== undefined) this.rows.set(api.id, this.decisions.length)
    this.#apis.push(api)
    for (const { kind } of this.#layout) {
      this.#cells.push(cells[kind] as CellReasons)
      for (let count = CELL; count > 0; count--) this.decisions.push(undefined)
    }
  }

  /** The answers of the rule about the cell that begins at a place. */
  reasonsAt(place: number): CellReasons {
    return this.#cells[place / CELL] as CellReasons
  }

  /** The decision at a place. Builds it, if it is not built yet. */
  build(place: number): Decision {
    const known = this.decisions[place]
    if (known !== undefined) return known
    const situation = place % CELL
    const cell = (place - situation) / CELL
    const column = cell % this.#layout.length
    const reasons = this.#cells[cell] as CellReasons
    const reason = reasons[situation] as Reason
    const { kind: index, advised } = this.#layout[column] as Column
    const needsNone = reason === 'ALLOWED' && situation === MISSING
    const kind = !needsNone && isAboutKind(reason) ? this.#kinds[index - 1] : undefined
    const said = !needsNone && isAboutToken(reason) ? advised : undefined
    // A cell has one decision for each reason. One that says nothing about the column is that of the whole
    // row.
    const firstCell = kind === undefined && said === undefined ? cell - column : cell
    const first = firstCell * CELL + (needsNone ? MISSING : reasons.indexOf(reason))
    const api = this.#apis[(cell - column) / this.#layout.length]
    const allowed = reason === 'ALLOWED'
    const decision: Decision =
      first !== place
        ? this.build(first)
        : Object.freeze({
            allowed,
            reason,
            message: messageOf(reason, { kinds: this.#kinds, api, kind }),
            header: kind?.header ?? '',
            scheme: kind?.scheme ?? '',
            accepted: allowed ? NONE : (api?.accepted ?? NONE),
            // Survives: `api?.conflicts` → `api.conflicts`. A kind is known only where the API is, and the
            // column of unknown kinds has none.
            conflicts: joined((kind && api?.conflicts.get(kind.id)) ?? NONE, said?.conflicts ?? NONE),
            advice: joined(noted(kind && api?.notes[kind.id]), said?.advice ?? NONE),
            ...this.#rules,
          })
    this.decisions[place] = decision
    return decision
  }

  /** Every decision, each once. */
  *all(): Generator<Decision> {
    const given = new Set<Decision>()
    for (const place of this.decisions.keys()) {
      const decision = this.build(place)
      if (!given.has(decision)) yield decision
      given.add(decision)
    }
  }
}

const NONE: readonly never[] = Object.freeze([])

function noted(note: string | undefined): readonly string[] {
  return note === undefined ? NONE : Object.freeze([note])
}

/** Whether the kind is known where that is the reason: in their order of precedence, these come later. */
function isAboutKind(reason: Reason): boolean {
  // Survives: `REASONS.indexOf(reason) > REASONS.indexOf('UNKNOWN_TOKEN_KIND')` → `REASONS.indexOf(reason) >=
  // REASONS.indexOf('UNKNOWN_TOKEN_KIND')`. A kind is known only where the API is, and the column of unknown
  // kinds has none.
  return REASONS.indexOf(reason) > REASONS.indexOf('UNKNOWN_TOKEN_KIND')
}

/** Whether it is known which token the credential is where that is the reason. */
function isAboutToken(reason: Reason): boolean {
  return !UNKNOWN_TOKEN_REASONS.some((unknown) => unknown === reason)
}

/** No new list where one of the two is enough: a large matrix has many decisions. */
function joined<T>(some: readonly T[], others: readonly T[]): readonly T[] {
  if (others.length === 0) return some
  // Survives: `some.length === 0` → `false`. It only spares a list with the same items.
  return some.length === 0 ? others : Object.freeze([...some, ...others])
}
