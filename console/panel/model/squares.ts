/** The squares of a QR code as one path of SVG. */

/** White squares around a code, which readers need. */
export const QUIET = 4

/** @param rows `true` is black @returns the path of the black squares, a unit each, behind the quiet zone */
export function squaresPath(rows: readonly (readonly boolean[])[]): string {
  return rows
    .flatMap((row, y) =>
      runsOf(row).map(({ x, length }) => `M${x + QUIET} ${y + QUIET}h${length}v1h-${length}z`),
    )
    .join('')
}

/** Neighbours are one rectangle: between single squares some screens show lines. */
function runsOf(row: readonly boolean[]): readonly { readonly x: number; readonly length: number }[] {
  const runs: { x: number; length: number }[] = []
  row.forEach((black, x) => {
    const last = runs.at(-1)
    if (black && last !== undefined && last.x + last.length === x) last.length += 1
    else if (black) runs.push({ x, length: 1 })
  })
  return runs
}
