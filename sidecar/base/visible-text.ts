/**
 * Invisible characters. In a name they can hide a part of it, or change the order in which a line is read.
 */

/**
 * Control characters (C0 and C1), format characters (text direction, zero width, byte order mark, tags), line
 * and paragraph separators, what Unicode says to leave out where it is not supported (variation selectors,
 * the fillers of Hangul), and signs that are drawn as nothing: of Braille, music, hieroglyphs and Khitan, and
 * the place of an object.
 */
const INVISIBLE =
  '[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\ufffc\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}]'

const ONE_INVISIBLE = new RegExp(INVISIBLE, 'u')
const EVERY_INVISIBLE = new RegExp(INVISIBLE, 'gu')

/** The form of a name, for errors. */
export const VISIBLE_EXPECTED =
  'without control characters, text direction marks and other invisible characters'

/** Whether a person sees every character of the text. */
export function isVisible(text: string): boolean {
  return !ONE_INVISIBLE.test(text)
}

/** The text with every invisible character written as `\u{202e}`. */
export function escaped(text: string): string {
  return text.replace(EVERY_INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** The text for HTML or XML, in which nothing is markup, and every invisible character is written out. */
export function escapedMarkup(text: string): string {
  return escaped(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;')
}

/** JSON with every invisible character written as an escape of JSON, so that its value stays the same. */
export function escapedJson(json: string): string {
  return json.replace(EVERY_INVISIBLE, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}
