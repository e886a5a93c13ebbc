/** The known name that an unknown one probably means, for messages. */

/** Most edits between a name and the one that was meant. Of three characters, two edits leave little. */
const EDITS_MAX = 2
const SHORT = 3

/** The known names that differ from a name by a slip or two, the nearest first. Case does not matter. */
export function namesMeant(name: string, known: Iterable<string>): string[] {
  const lower = name.toLowerCase()
  const near: { readonly each: string; readonly edits: number }[] = []
  for (const each of known) {
    const most = Math.min(name.length, each.length) <= SHORT ? 1 : EDITS_MAX
    // Survives: `Math.abs(each.length - name.length) > most` → `false`. It only spares the comparison:
    // at least that number of edits is needed.
    if (Math.abs(each.length - name.length) > most) continue
    const edits = editDistance(lower, each.toLowerCase())
    if (edits <= most) near.push({ each, edits })
  }
  return near.sort((one, other) => one.edits - other.edits).map(({ each }) => each)
}

/** Levenshtein distance: the fewest characters to insert, delete or replace. */
function editDistance(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++)
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1),
      )
    previous = current
  }
  return previous[other.length] ?? 0
}
