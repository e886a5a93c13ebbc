/**
 * Secrets as files, variables and programs have them: one rule wherever they come from. Editors and scripts
 * put a byte order mark before a text and a line break behind it, and neither is part of a secret.
 */

/** The expected form of such a text, where `secretText` finds none. No error may quote it. */
export const SECRET_EXPECTED = 'UTF-8 without NUL characters'

/** A text of another encoding has bytes that are not UTF-8, or NUL characters between its letters. */
const NO_TEXT = /[\0\ufffd]/

/**
 * The text without a byte order mark.
 *
 * @param source a variable is a text: Node has put U+FFFD for what is not UTF-8
 * @returns `undefined`: it is not UTF-8, or has NUL characters
 */
export function secretText(source: Uint8Array | string): string | undefined {
  const bytes = typeof source === 'string' ? Buffer.from(source) : source
  // The decoder drops the mark.
  const text = new TextDecoder().decode(bytes)
  return NO_TEXT.test(text) ? undefined : text
}

/** The first line of it. A secret has one line. @returns as `secretText` */
export function secretLine(source: Uint8Array | string): string | undefined {
  return secretText(source)?.split(/\r?\n/, 1)[0]
}
