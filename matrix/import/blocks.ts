/** A document as its readers see it: headings, texts and tables, each with its line. */

/** A row of a table. Its cells are texts without markup. */
export interface TableRow {
  /** Line of the document, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** Whether the document says that these are headings of columns. */
  readonly isHeading: boolean
  /** Whether it is a heading for the rows below it: one cell over the whole width, or one in bold alone. */
  readonly isGroup: boolean
  /** Whether a cell of it reaches over several columns or rows, and is not a heading. */
  readonly isMerged: boolean
}

export interface TableBlock {
  readonly type: 'table'
  readonly line: number
  readonly rows: readonly TableRow[]
}

interface TextBlock {
  readonly type: 'heading' | 'text'
  readonly line: number
  readonly text: string
}

export type Block = TableBlock | TextBlock

/** Why a document is not read: one sentence, with the line where there is one. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  /** `undefined`: the document as a whole is meant. */
  readonly line: number | undefined

  /** @param expected lower case, no final period */
  constructor(expected: string, line?: number) {
    super(expected)
    this.line = line
  }
}

/** Most columns of a table that is read. A matrix has far fewer kinds. */
export const COLUMNS_MAX = 1_000

/** The text with single spaces, and none around it. Most cells have no others. */
export function spaced(text: string): string {
  return /\s\s|[^\S ]|^ | $/.test(text) ? text.replace(/\s+/g, ' ').trim() : text
}

/** Counts the lines of a text as a reader goes through it from the front. */
export class LineCounter {
  readonly #text: string
  #at = 0
  #line: number

  /** @param line that the text begins in */
  constructor(text: string, line = 1) {
    this.#text = text
    this.#line = line
  }

  /** @param offset not before the one that was asked for last */
  lineAt(offset: number): number {
    for (;;) {
      const next = this.#text.indexOf('\n', this.#at)
      if (next === -1 || next >= offset) return this.#line
      this.#at = next + 1
      this.#line++
    }
  }
}
