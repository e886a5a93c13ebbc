/** The marks in the cells of tables: which texts say yes, and which say no. A mark is never guessed. */
import { withoutSigns } from './footnotes.ts'

/** `note`: yes, and the text of the mark is advice to the caller. */
export type MarkMeaning = 'yes' | 'no' | 'note'

/** The texts that documents write, in small letters. */
const KNOWN: Readonly<Record<'yes' | 'no', readonly string[]>> = {
  yes: [
    ...['✓', '✔', '✅', '☑', '🗸', 'yes', 'y', 'x', '•', '●', '+', 'true'],
    ...[':white_check_mark:', ':heavy_check_mark:', ':ballot_box_with_check:'],
  ],
  no: [
    '',
    '✗',
    '✘',
    '❌',
    '✕',
    '🗴',
    'no',
    'n',
    '–',
    '—',
    '-',
    'false',
    ':x:',
    ':negative_squared_cross_mark:',
  ],
}

const MEANINGS: ReadonlyMap<string, MarkMeaning> = new Map(
  (['yes', 'no'] as const).flatMap((meaning) => KNOWN[meaning].map((text) => [text, meaning] as const)),
)

/** A cell as it is understood. Cells with the same text are the same object. */
export interface Mark {
  /** As the document has it, without the signs of footnotes. */
  readonly text: string
  /** `undefined`: not known. */
  readonly meaning: MarkMeaning | undefined
  /** The words in brackets behind the mark: `Yes (read only)`. */
  readonly remark: string | undefined
  /** Names of footnotes. */
  readonly signs: readonly string[]
}

/** Reads marks: those that every document has, and those that were explained. */
export class Marks {
  readonly #explained: ReadonlyMap<string, MarkMeaning>
  readonly #read = new Map<string, Mark>()

  constructor(explained: Readonly<Record<string, MarkMeaning>> = {}) {
    this.#explained = new Map(Object.entries(explained).map(([text, meaning]) => [keyOf(text), meaning]))
  }

  of(cell: string): Mark {
    let mark = this.#read.get(cell)
    if (mark === undefined) {
      mark = this.#readCell(cell)
      this.#read.set(cell, mark)
    }
    return mark
  }

  #readCell(cell: string): Mark {
    const whole = this.#explained.get(keyOf(cell))
    if (whole !== undefined)
      return { text: cell, meaning: whole, remark: whole === 'note' ? cell : undefined, signs: [] }
    const { text, signs } = withoutSigns(cell)
    const meaning = this.#meaningOf(text)
    if (meaning !== undefined) return { text, meaning, remark: meaning === 'note' ? text : undefined, signs }
    const [, before = '', remark] = /^(.*?)\s*\(([^()]*\p{L}[^()]*)\)$/su.exec(text) ?? []
    const known = remark === undefined || before === '' ? undefined : this.#meaningOf(before)
    return { text, meaning: known, remark: known === 'yes' ? remark : undefined, signs }
  }

  /** `✅ Yes` says the same twice. */
  #meaningOf(text: string): MarkMeaning | undefined {
    const key = keyOf(text)
    const known = this.#explained.get(key) ?? MEANINGS.get(key)
    if (known !== undefined) return known
    const words = new Set(key.split(' ').map((word) => MEANINGS.get(word)))
    const [only] = words
    return words.size === 1 ? only : undefined
  }
}

/** Small letters, without the sign that asks for a picture instead of a letter. */
function keyOf(text: string): string {
  return text
    .replace(/\ufe0f/g, '')
    .trim()
    .toLowerCase()
}
