/**
 * Segments that some servers take for each other. A request must not leave the route of `/admin/` because it
 * says `/ADMIN/` and the server behind does not care.
 */

/** A format at the end, which some frameworks cut off before they look for a handler: `admin.json`. */
const FORMAT = /\.[a-z][a-z0-9]*$/

/** Decoded parts that some servers cut off: parameters, a query, a fragment, a stream of a file. */
const CUT = /(?:[;?#]|::?\$).*$/s

/** Nothing here is folded into something else. */
const FOLDED = /^[a-z0-9_-]*$/

/** Whether a segment is its own folded form, as most are. */
export function isFolded(segment: string): boolean {
  return FOLDED.test(segment)
}

/**
 * The same text for segments that differ in case, in compatible characters (`ａ`), in invisible ones, or in
 * what is cut off.
 */
export function folded(segment: string): string {
  if (isFolded(segment)) return segment
  const plain = segment.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  // Some letters meet another one in capitals alone: `ı` and `i`.
  const text = plain.toUpperCase().toLowerCase().replace(CUT, '')
  // Dots and blanks at the end, which a file system drops. An expression would look at a long row of dots
  // again and again.
  let end = text.length
  while (end > 0 && (text[end - 1] === '.' || text[end - 1] === ' ')) end--
  return text.slice(0, end)
}

/**
 * Whether every server reads a segment here, and no other one. Where a decoded path is cut at `?` or `#`, or
 * a segment vanishes because it becomes empty, the path ends sooner than it seems.
 */
export function isWhole(segment: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(segment) || (!/[;?#]/.test(segment) && folded(segment) !== '')
}

/** The texts that some server could take the segment for, in their folded form. */
export function similarTo(segment: string): readonly string[] {
  const whole = folded(segment)
  const bare = whole.replace(FORMAT, '')
  return bare === whole ? [whole] : [whole, bare]
}
