/** The table: what each cell shows, and which rows are left by a search and filters. */
import type { CompiledApi, Engine, TokenKind } from '../../engine/index.ts'
import { decideCell } from '../../matrix/explain.ts'
import { folded, hasWords, wordsOf } from './search.ts'
import { placeText } from './shell.ts'

/**
 * State of a cell. `denied-strict`: a contested cell that strict mode denies, and the resolution would not.
 */
export type CellState = 'allowed' | 'denied' | 'allowed-contested' | 'denied-contested' | 'denied-strict'

export interface Row {
  /** Among all rows. */
  readonly place: number
  readonly api: CompiledApi
  /** In the order of the kinds. */
  readonly cells: readonly CellState[]
  readonly contested: boolean
  /** The text that is searched. */
  readonly text: string
}

export interface Table {
  readonly kinds: readonly TokenKind[]
  /** The request headers that carry credentials, with their schemes, each once. */
  readonly headers: readonly string[]
  /** All rows, in the order of the matrix. */
  readonly rows: readonly Row[]
  readonly contestedCount: number
  /** How many rows each kind opens, in the order of the kinds. */
  readonly openCounts: readonly number[]
}

/** Selects the rows that are shown. A row must match all of them. */
export interface Filters {
  readonly search: string
  /** Rows that one of these kinds opens; none: all rows. */
  readonly kinds: readonly string[]
  /** Rows that a token in this header opens. */
  readonly header: string | undefined
  /** Rows with a contested cell alone. */
  readonly contested: boolean
}

export function tableOf(engine: Engine): Table {
  const kinds = [...engine.tokenKinds.values()]
  const rows = Array.from(engine.apis.values(), (api, place): Row => {
    const opened = new Set(api.accepted.map(({ kind }) => kind))
    return {
      ...{ api, place },
      cells: kinds.map((kind) => stateOf(engine, api, kind, opened.has(kind.id))),
      contested: api.contested.length > 0,
      text: folded(`${api.id} ${api.title}`),
    }
  })
  return {
    kinds,
    headers: [...new Set(kinds.map(placeText))],
    rows,
    openCounts: kinds.map((_, place) => rows.filter(({ cells }) => isOpen(cells[place])).length),
    contestedCount: rows.reduce((sum, { api }) => sum + api.contested.length, 0),
  }
}

function stateOf(engine: Engine, api: CompiledApi, kind: TokenKind, opened: boolean): CellState {
  if (!api.contested.includes(kind.id)) return opened ? 'allowed' : 'denied'
  if (opened) return 'allowed-contested'
  return decideCell(engine, api.id, kind).reason === 'CONTESTED' ? 'denied-strict' : 'denied-contested'
}

/** Whether a cell fits an expression, by the places of its API and of its kind. */
export type Fits = (row: number, column: number) => boolean

/**
 * The rows that fit, in the order of the matrix.
 *
 * @param fits the search where it is an expression: rows with a cell that fits are left. Else it is words
 */
export function rowsFitting({ rows, kinds }: Table, filters: Filters, fits?: Fits): readonly Row[] {
  const words = fits === undefined ? wordsOf(filters.search) : []
  const places = (fits: (kind: TokenKind) => boolean) =>
    kinds.flatMap((kind, place) => (fits(kind) ? [place] : []))
  const ofKinds = places(({ id }) => filters.kinds.includes(id))
  const ofHeader = places((kind) => placeText(kind) === filters.header)
  return rows.filter(
    (row) =>
      (!filters.contested || row.contested) &&
      (filters.kinds.length === 0 || ofKinds.some((place) => isOpen(row.cells[place]))) &&
      (filters.header === undefined || ofHeader.some((place) => isOpen(row.cells[place]))) &&
      hasWords(row.text, words) &&
      (fits === undefined || kinds.some((_, column) => fits(row.place, column))),
  )
}

function isOpen(state: CellState | undefined): boolean {
  return state === 'allowed' || state === 'allowed-contested'
}
