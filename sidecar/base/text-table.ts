/** Text in columns, for terminals. */
import { stripVTControlCharacters } from 'node:util'
import { escaped } from './visible-text.ts'

/**
 * Formats rows as columns; a line break in a cell is written as an escape. Each column is as wide as its
 * widest cell; escape codes for colours have no width.
 *
 * @param widths of the rows before, where a table comes in parts; those of these rows are added
 */
export function columns(cells: readonly (readonly string[])[], gap = '  ', widths: number[] = []): string {
  const rows = cells.map((row) => row.map((cell) => cell.replaceAll('\n', escaped('\n'))))
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(cell))
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell)))
        .join(gap)
        .trimEnd(),
    )
    .join('\n')
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length
}
