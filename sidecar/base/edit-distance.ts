/** How different two texts are, so that a message can suggest the name that was probably meant. */

/** Levenshtein distance: the fewest characters to insert, delete or replace. */
export function editDistance(one: string, other: string): number {
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
