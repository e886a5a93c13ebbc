/**
 * The look-up. The table has a place for every question; deciding adds up where that is, and picks the
 * answer.
 */
import type { CellReasons } from './apis.ts'
import type { Decision, Question, Scope } from './decision.ts'
import type { CredentialReason } from './reasons.ts'
import { situationOf, situationOfFault } from './situations.ts'
import type { Table } from './table.ts'

/** Picks the answer. Total, and allocates nothing. */
export function decide(table: Table, question: Question): Decision {
  try {
    const column = columnOf(table, question.kind)
    const cell = rowOf(table, question.api) + column + further(table, column, question.holder)
    const place = cell + situationOf(question.scope, question.target)
    return table.decisions[place] ?? table.build(place)
  } catch {
    // Only a missing question or a hostile getter comes here. An unreadable question names no API.
    return unknownApi(table)
  }
}

/** Picks the denial of a credential, with the advice about its holder where kind and holder are known. */
export function deny(
  table: Table,
  api: string,
  reason: CredentialReason,
  kind: string | undefined,
  holder: string | undefined,
): Decision {
  const situation = situationOfFault(reason)
  // Another reason is a mistake of the caller. It is denied as an unknown kind.
  // Survives: `situation < 0` → `situation <= 0`. The faults of credentials come after the other situations,
  // so none is at 0.
  if (situation < 0) return table.build(rowOf(table, api))
  const column = columnOf(table, kind)
  const place = rowOf(table, api) + column + further(table, column, holder) + situation
  return table.decisions[place] ?? table.build(place)
}

/**
 * A cell that was looked up. It carries the table that it leads into, so no other engine takes it. It cannot
 * be forged: its fields are private to this class, and another copy of this module has another class.
 */
export class CellHandle {
  readonly #table: Table
  readonly #cell: number
  readonly #column: number

  constructor(table: Table, cell: number, column: number) {
    this.#table = table
    this.#cell = cell
    this.#column = column
    Object.freeze(this)
  }

  /**
   * Picks the answer about the cell of a handle. For anything but a handle of this table, the API is unknown.
   */
  static decide(
    table: Table,
    handle: CellHandle,
    scope: Scope,
    target: Scope | undefined,
    holder: string | undefined,
  ): Decision {
    try {
      if (!(#table in handle) || handle.#table !== table) return unknownApi(table)
      const cell = handle.#cell + further(table, handle.#column, holder)
      const place = cell + situationOf(scope, target)
      return table.decisions[place] ?? table.build(place)
    } catch {
      return unknownApi(table)
    }
  }
}

/**
 * Makes the handles of a table, the same one each time. A cell that the matrix does not have gets one too.
 */
export function handlesOf(table: Table): (kind: string, api: string) => CellHandle {
  const handles = new Map<number, CellHandle>()
  return (kind, api) => {
    const column = columnOf(table, kind)
    const cell = rowOf(table, api) + column
    const handle = handles.get(cell) ?? new CellHandle(table, cell, column)
    handles.set(cell, handle)
    return handle
  }
}

/** The reasons of the rule for a cell, in each situation. Total. */
export function reasonsOf(table: Table, api: string, kind: string): CellReasons {
  return table.reasonsAt(rowOf(table, api) + columnOf(table, kind))
}

function unknownApi(table: Table): Decision {
  return table.build(0)
}

function rowOf(table: Table, api: string): number {
  return table.rows.get(api) ?? 0
}

function columnOf(table: Table, kind: string | undefined): number {
  return table.columns.get(kind as string) ?? 0
}

/** How many places further on the same answers stand with the advice about such a holder. */
function further(table: Table, column: number, holder: string | undefined): number {
  // Survives: `holder === undefined` → `false`. It only spares two looks into maps, where no holder is
  // undefined.
  return holder === undefined ? 0 : (table.advised.get(column)?.get(holder) ?? 0)
}
