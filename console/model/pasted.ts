/** A table that a person pastes: it is read and merged as `portcullis matrix import` does. */
import type { Matrix } from '../../engine/index.ts'
import {
  type CountedMark,
  DocumentError,
  formatOfText,
  type MarkMeaning,
  type Merged,
  mergeReading,
  type Reading,
  readOptionsWith,
  readTableText,
  type TableFormat,
} from '../../matrix/import/index.ts'
import { EDITED_APIS_MAX } from './playground.ts'

/** The text, and how a person says that it is read. An empty choice is found in the text. */
export interface PasteDraft {
  readonly text: string
  readonly format: TableFormat | ''
  /** The name of the document. */
  readonly name: string
  /** Number of the table, or the heading above it. */
  readonly table: string
  readonly kinds: 'columns' | 'rows' | ''
  /** Heading of the column that says which APIs need no token. */
  readonly public: string
  /** Headings, one a line. */
  readonly leaveOut: string
  readonly marks: Readonly<Record<string, MarkMeaning>>
}

export const EMPTY_PASTE: PasteDraft = {
  ...{ text: '', format: '', name: '', table: '', kinds: '', public: '', leaveOut: '', marks: {} },
}

export type Pasted =
  | { readonly type: 'refused'; readonly line: number | undefined; readonly expected: string }
  /** Some marks have no known meaning, so nothing can be taken over. */
  | { readonly type: 'asks'; readonly reading: Reading; readonly unknown: readonly CountedMark[] }
  | { readonly type: 'read'; readonly reading: Reading; readonly merged: Merged }

/** Longest text that is read, in characters: the HTML of a spreadsheet is ten times as long as its table. */
export const PASTED_LENGTH_MAX: number = 2 * 1024 * 1024

/**
 * Reads what was pasted.
 *
 * @param into the matrix that takes what the table says; `undefined`: a new one
 * @param title of a new matrix
 */
export async function readPasted(
  draft: PasteDraft,
  into: Matrix | undefined,
  title: string,
): Promise<Pasted> {
  const { text } = draft
  if (text.length > PASTED_LENGTH_MAX)
    return {
      ...{ type: 'refused', line: undefined },
      expected: `expected at most ${PASTED_LENGTH_MAX} characters, found ${text.length}`,
    }
  const format = draft.format === '' ? formatOfText(text) : draft.format
  const source = { document: draft.name.trim() || `pasted.${ENDINGS[format]}`, digest: await digestOf(text) }
  try {
    const read = optionsOf(draft, into)
    const reading = readTableText(text, format, read, into)
    const unknown = reading.marks.filter(({ meaning }) => meaning === undefined)
    if (unknown.length > 0) return { type: 'asks', reading, unknown }
    const merged = mergeReading(reading, into, { source, read, title, carriageOf: () => undefined })
    if (merged.matrix.apis.length > EDITED_APIS_MAX)
      return { type: 'refused', line: reading.line, expected: TOO_MANY }
    return { type: 'read', reading, merged }
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return { type: 'refused', line: error.line, expected: error.message }
  }
}

const TOO_MANY = `expected at most ${EDITED_APIS_MAX} APIs with those of the matrix; the command line reads more`

/** The endings by which the command line knows the formats again. */
const ENDINGS: Readonly<Record<TableFormat, string>> = {
  ...{ markdown: 'md', html: 'html', csv: 'csv', tsv: 'tsv' },
}

/** The table is found anew: a part of a document is pasted more often than the whole. */
function optionsOf(draft: PasteDraft, into: Matrix | undefined) {
  const { kinds, marks } = draft
  const [table, isPublic] = [draft.table.trim(), draft.public.trim()]
  const leaveOut = draft.leaveOut
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return readOptionsWith(into, {
    table: table === '' ? undefined : /^\d{1,6}$/.test(table) ? Number(table) : table,
    ...(kinds !== '' && { kinds }),
    ...(isPublic !== '' && { public: isPublic }),
    ...{ marks, leaveOut },
  })
}

async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  const hex = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0'))
  return `sha256-${hex.join('')}`
}
