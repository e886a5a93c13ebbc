/** Text in columns, for people. */

/** Rows as columns, each as wide as its widest cell. */
export function columns(rows: readonly (readonly string[])[], gap = '  '): string {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, index) =>
    Math.max(...rows.map((row) => row[index]?.length ?? 0)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join(gap)
        .trimEnd(),
    )
    .join('\n')
}
