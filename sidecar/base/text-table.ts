/** Text in columns, for people. */
import { stripVTControlCharacters } from 'node:util'

/** Rows as columns, each as wide as its widest cell. Colours take no width. */
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
