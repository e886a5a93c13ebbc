/** Texts that nothing new can be called. */

const INVISIBLE: readonly [name: string, character: string][] = [
  ['the bell', '\u0007'],
  ['a line break', '\n'],
  ['delete', '\u007f'],
  ['the control sequence introducer of C1', '\u009b'],
  ['next line of C1', '\u0085'],
  ['a soft hyphen', '\u00ad'],
  ['an Arabic letter mark', '\u061c'],
  ['a Hangul filler', '\u3164'],
  ['a zero width space', '\u200b'],
  ['a zero width joiner', '\u200d'],
  ['a right-to-left mark', '\u200f'],
  ['a line separator', '\u2028'],
  ['a paragraph separator', '\u2029'],
  ['a right-to-left override', '\u202e'],
  ['a left-to-right embedding', '\u202a'],
  ['a word joiner', '\u2060'],
  ['a right-to-left isolate', '\u2067'],
  ['a pop directional isolate', '\u2069'],
  ['a byte order mark', '\ufeff'],
  ['a tag character', '\u{e0041}'],
  ['a variation selector', '\ufe0f'],
  ['a blank of Braille', '\u2800'],
  ['a null note', '\u{1d159}'],
]

/** They hide something, or look like another name. */
export const NO_NAMES: readonly (readonly [what: string, name: string])[] = [
  ...INVISIBLE.map(([what, character]) => [`with ${what}`, `ev${character}il`] as const),
  ['with a blank before it', ' evil'],
  ['with a blank after it', 'evil '],
  ['of a blank', ' '],
  ['with a no-break space', 'ev\u00a0il'],
  ['with a blank of an em', 'ev\u2003il'],
  ['with an ideographic space', 'ev\u3000il'],
  ['with an accent apart', 'e\u0301vil'],
  ['of another sign for the same letter', 'ev\u212bil'],
]
