/** Where the keys of a grid lead (WAI-ARIA's pattern of grids). */

/** A place in the table. Column 0 is the name of the API. */
export interface Place {
  readonly row: number
  readonly column: number
}

export interface GridSize {
  readonly rows: number
  readonly columns: number
  /** How many rows a page has. */
  readonly page: number
}

/** @returns `undefined` for a key that moves nothing */
export function moved(
  { row, column }: Place,
  key: string,
  ctrl: boolean,
  { rows, columns, page }: GridSize,
): Place | undefined {
  const to = (nextRow: number, nextColumn: number): Place => ({
    row: within(nextRow, rows),
    column: within(nextColumn, columns),
  })
  switch (key) {
    case 'ArrowUp':
      return to(row - 1, column)
    case 'ArrowDown':
      return to(row + 1, column)
    case 'ArrowLeft':
      return to(row, column - 1)
    case 'ArrowRight':
      return to(row, column + 1)
    case 'PageUp':
      return to(row - page, column)
    case 'PageDown':
      return to(row + page, column)
    case 'Home':
      return to(ctrl ? 0 : row, 0)
    case 'End':
      return to(ctrl ? rows - 1 : row, columns - 1)
    default:
      return undefined
  }
}

const within = (index: number, count: number): number => Math.max(0, Math.min(count - 1, index))

/** A row to draw; or how many rows are not drawn before that one. */
export type Drawn = { readonly row: number } | { readonly skipped: number; readonly before: number }

/**
 * The rows to draw: those in sight with some around them, and the row with the focus, which would be lost
 * with it.
 *
 * @param first row in sight
 */
export function drawnRows(count: number, first: number, inSight: number, kept: number | undefined): Drawn[] {
  const from = Math.max(0, Math.min(first, count - inSight) - AROUND)
  const to = Math.min(count, first + inSight + AROUND)
  const rows = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
  if (kept !== undefined && kept < count && kept >= 0 && !(kept >= from && kept < to))
    if (kept < from) rows.unshift(kept)
    else rows.push(kept)
  const drawn: Drawn[] = []
  let next = 0
  for (const row of rows) {
    if (row > next) drawn.push({ skipped: row - next, before: row })
    drawn.push({ row })
    next = row + 1
  }
  if (next < count) drawn.push({ skipped: count - next, before: count })
  return drawn
}

const AROUND = 12
