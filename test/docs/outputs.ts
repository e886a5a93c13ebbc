/** Whether a program printed what a page shows: the same but for what differs on every run. */

/** Texts that differ on every run, and their names in both texts. */
const DIFFERENT: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<IAM token>'],
  [/\bpcst_\w{20,}/g, '<static token>'],
  [/\(…\w{4}\)|(?<=^last_four +)\w{4}$/gm, '<end of a static token>'],
  [/\/tmp\/portcullis-[\w-]+/g, '<data folder>'],
  [/127\.0\.0\.1:\d+/g, '<address>'],
  [/\b([0-9a-f]{32}|[0-9a-f]{16})\b/g, '<id>'],
  // Passwords have 24 characters and token ids 22; words of that length have no capitals and no digits.
  [/(?<![\w-])(?=[\w-]*[A-Z0-9])([\w-]{24}|[\w-]{22})(?![\w-])/g, '<secret or id>'],
  [/[ \t\r]+/g, ' '],
  [/ $/gm, ''],
]

/** A text with the names in place of what differs. */
export function comparable(text: string): string {
  let result = text.trim()
  for (const [pattern, name] of DIFFERENT) result = result.replace(pattern, name)
  return result
}

/**
 * The printed text, as a pattern: `…` in a line is any text, and a line that begins with it any number of
 * lines.
 */
export function shownAs(text: string): RegExp {
  const lines = comparable(text)
    .split('\n')
    .map((line) =>
      line.trim().startsWith('…')
        ? '(?:.*\n)*?'
        : `${line
            .split('…')
            .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
            .join('.*')}\n`,
    )
  return new RegExp(`^${lines.join('')}$`)
}
