/** Footnotes: the signs behind a mark, and the texts that explain them. */
import type { Block } from './blocks.ts'

export interface Footnote {
  readonly text: string
  /** Line of the document. */
  readonly line: number
}

/** A text that explains a sign: `[^1]: …`, `(1) …`, `[1] …`, `* …`, `1. …`, `¹ …`. */
const EXPLAINED =
  /^(?:\[\^([^\]\s]+)\]:?|\((\d{1,2})\)|\[(\d{1,2})\]|(\d{1,2})[.)]|([*†‡]{1,3})|([¹²³⁴⁵⁶⁷⁸⁹⁰]{1,2}))\s*(\S.*)$/s

/** A sign behind a text: `✓ [^1]`, `Yes (1)`, `Yes [2]`, `✓ *`, `✓²`. */
const SIGN = /\s*(?:\[\^([^\]\s]{1,60})\]|\((\d{1,2})\)|\[(\d{1,2})\]|([†‡]|\*{1,3})|([¹²³⁴⁵⁶⁷⁸⁹⁰]{1,2}))$/

/** How much of the end of a text has a sign, and how many signs a text has at most. */
const SIGN_LENGTH_MAX = 80
const SIGNS_MAX = 20

const NONE: readonly string[] = []

const RAISED = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** The name of a footnote, however it is written: `1` for `(1)`, `[^1]` and `¹`. */
function labelOf(found: readonly (string | undefined)[]): string {
  const written = found.find((part) => part !== undefined) ?? ''
  return Array.from(written, (sign) => (RAISED.includes(sign) ? RAISED.indexOf(sign) : sign)).join('')
}

export function beginsAsFootnote(text: string): boolean {
  return EXPLAINED.test(text)
}

/** The text without the signs of footnotes behind it, and their names. Signs alone are a text. */
export function withoutSigns(text: string): { readonly text: string; readonly signs: readonly string[] } {
  if (!/[\])†‡*¹²³⁴⁵⁶⁷⁸⁹⁰]$/.test(text)) return { text, signs: NONE }
  const signs: string[] = []
  let rest = text
  while (signs.length < SIGNS_MAX) {
    const [whole, ...found] = SIGN.exec(rest.slice(-SIGN_LENGTH_MAX)) ?? []
    if (whole === undefined) break
    if (whole.length === rest.length) return { text, signs: NONE }
    rest = rest.slice(0, -whole.length)
    signs.unshift(labelOf(found))
  }
  return { text: rest, signs }
}

/**
 * The footnotes of a table, by name. `[^1]:` stands anywhere; other signs are explained below the table,
 * before the next heading or table. The first explanation holds.
 */
export function footnotesOf(blocks: readonly Block[], table: Block): ReadonlyMap<string, Footnote> {
  const footnotes = new Map<string, Footnote>()
  let isBelow = false
  for (const block of blocks) {
    if (block.type === 'text') {
      const [, ...parts] = EXPLAINED.exec(block.text) ?? []
      const text = parts.pop()
      const label = labelOf(parts)
      if (text !== undefined && (isBelow || parts[0] !== undefined) && !footnotes.has(label))
        footnotes.set(label, { text, line: block.line })
    } else isBelow = block === table
  }
  return footnotes
}
