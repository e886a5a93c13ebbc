/** The coverage of a matrix by policy tests: its cells, its conflicts, and the reasons of decisions. */
import { CREDENTIAL_REASONS, type Engine, placeName, REASONS, type Reason } from '../../engine/index.ts'
import type { Mode } from '../compare.ts'

/** How much of something was asked about. */
export interface CoveredPart {
  readonly covered: number
  readonly total: number
  /** The parts without a question, in the order of the matrix; the first {@link MISSING_MAX}. */
  readonly missing: readonly string[]
}

export type CoverageReport = Readonly<Record<'cells' | 'conflicts' | 'reasons', CoveredPart>>

/** Most things that a part lists as missing. */
const MISSING_MAX = 1_000

/** In which modes a cell was asked about. */
const BITS = { lenient: 1, strict: 2 } as const satisfies Record<Mode, number>
const BOTH = BITS.lenient | BITS.strict

/** A decision with one of these has looked at the cell. Any other fault comes before that. */
const OF_CELLS: ReadonlySet<Reason> = new Set([
  ...(['TOKEN_KIND_NOT_ACCEPTED', 'CONTESTED', 'ACCOUNT_MISMATCH', 'PROJECT_MISMATCH', 'ALLOWED'] as const),
])

export class Coverage {
  readonly #engines: Readonly<Record<Mode, Engine>>
  readonly #rows: ReadonlyMap<string, number>
  readonly #columns: ReadonlyMap<string, number>
  /** The bits of each cell, row by row. */
  readonly #cells: Uint8Array
  readonly #reasons = new Set<Reason>()

  constructor(engines: Readonly<Record<Mode, Engine>>) {
    const { apis, tokenKinds } = engines.lenient
    this.#engines = engines
    this.#columns = new Map(Array.from(tokenKinds.keys(), (kind, column) => [kind, column]))
    this.#rows = new Map(Array.from(apis.keys(), (api, row) => [api, row * tokenKinds.size]))
    this.#cells = new Uint8Array(apis.size * tokenKinds.size)
  }

  /** Counts a decision. @param kind `undefined`: that of the token is not known */
  add(mode: Mode, api: string, kind: string | undefined, reason: Reason): void {
    this.#reasons.add(reason)
    if (!OF_CELLS.has(reason)) return
    const cell = this.#cellOf(api, kind as string)
    this.#cells[cell] = (this.#cells[cell] as number) | BITS[mode]
  }

  report(): CoverageReport {
    return { cells: this.#cellsPart(), conflicts: this.#conflictsPart(), reasons: this.#reasonsPart() }
  }

  #cellOf(api: string, kind: string): number {
    return (this.#rows.get(api) as number) + (this.#columns.get(kind) as number)
  }

  #cellsPart(): CoveredPart {
    const missing = new Missing()
    for (const [api, row] of this.#rows)
      for (const [kind, column] of this.#columns)
        if (this.#cells[row + column] === 0) missing.add(() => `${api} × ${kind}`)
    return missing.of(this.#cells.length)
  }

  /**
   * A conflict that contests cells is covered where all of them were asked about in both modes. Others change
   * no answer.
   */
  #conflictsPart(): CoveredPart {
    const contesting = this.#engines.lenient.conflicts.filter(({ cells }) => cells.length > 0)
    const missing = new Missing()
    for (const { id, cells } of contesting)
      if (!cells.every(({ api, kind }) => this.#cells[this.#cellOf(api, kind)] === BOTH))
        missing.add(() => id)
    return missing.of(contesting.length)
  }

  #reasonsPart(): CoveredPart {
    const possible = this.#possibleReasons()
    const missing = new Missing()
    for (const reason of possible) if (!this.#reasons.has(reason)) missing.add(() => reason)
    return missing.of(possible.length)
  }

  /** Without conflicts nothing is contested, for example, and with one header no token is in another one. */
  #possibleReasons(): Reason[] {
    const { lenient, strict } = this.#engines
    const seen = new Set<readonly Reason[]>()
    for (const engine of [lenient, strict])
      for (const api of this.#rows.keys())
        for (const kind of this.#columns.keys()) seen.add(engine.reasons(api, kind))
    const possible = new Set<Reason>(['UNKNOWN_API', 'UNKNOWN_TOKEN_KIND', ...CREDENTIAL_REASONS])
    for (const reasons of seen) for (const reason of reasons) possible.add(reason)
    const kinds = [...lenient.tokenKinds.values()]
    const places = kinds.flatMap((kind) => kind.places)
    const hasPlaces =
      new Set(places.map(placeName)).size > 1 || places.some(({ prefix }) => prefix !== undefined)
    if (!hasPlaces) possible.delete('WRONG_HEADER')
    return REASONS.filter((reason) => possible.has(reason))
  }
}

/** Counts what is missing, and lists the first of it. */
export class Missing {
  readonly #first: string[] = []
  #count = 0

  add(describe: () => string): void {
    this.#count++
    if (this.#first.length < MISSING_MAX) this.#first.push(describe())
  }

  of(total: number): CoveredPart {
    return { covered: total - this.#count, total, missing: this.#first }
  }
}

/** How much is covered, in percent, rounded down to a tenth: 100 only where nothing is missing. */
export function percentOf({ covered, total }: Pick<CoveredPart, 'covered' | 'total'>): number {
  return total === 0 ? 100 : Math.floor((covered / total) * 1000) / 10
}
