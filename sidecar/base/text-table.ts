/** Text in columns, for terminals. */
import { stripVTControlCharacters } from 'node:util'

/** Formats rows as columns. Each column is as wide as its widest cell; escape codes for colours have no width. */
export function columns(rows: readonly (readonly string[])[], gap = '  '): string {
  const widths: number[] = []
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
