/** A matrix as a table for people, which reads back as the same matrix. */
import type { Api, Matrix, TokenKind } from '../../engine/index.ts'
import { NEEDS_NO_TOKEN } from './read-table.ts'
import { nameKey } from './reading.ts'

type TableFormat = 'markdown' | 'csv'

const [YES, NO] = ['✓', '–']

/** A cell: its text, and its note. */
interface Cell {
  readonly text: string
  readonly note?: string | undefined
}

/** The table of a matrix with its notes, and with the rows that it prints once more. */
export function tableText(matrix: Matrix, format: TableFormat): string {
  const hasPublic = matrix.apis.some((api) => api.public)
  const repeated = matrix.statements.flatMap(({ claim }) => {
    const api = claim.type === 'row_repeated' && matrix.apis.find(({ id }) => id === claim.api)
    return api ? [{ ...api, accepts: claim.accepts, notes: undefined }] : []
  })
  const heading = [
    ...['API', 'id', 'section'],
    ...headingsOf(matrix.tokenKinds),
    ...(hasPublic ? [NEEDS_NO_TOKEN] : []),
  ]
  const rows = [...matrix.apis, ...repeated].map((api) => cellsOf(api, matrix, hasPublic))
  return format === 'csv' ? csvText(heading, rows) : markdownText(matrix.title, heading, rows)
}

/** The titles; of kinds with one title their ids. */
function headingsOf(kinds: readonly TokenKind[]): string[] {
  const titles = kinds.map(({ title }) => nameKey(title))
  return kinds.map(({ id, title }) =>
    titles.filter((other) => other === nameKey(title)).length > 1 ? id : title,
  )
}

function cellsOf(api: Api, { tokenKinds }: Matrix, hasPublic: boolean): Cell[] {
  const accepted = new Set(api.accepts)
  return [
    ...[api.title, api.id, api.section].map((text) => ({ text })),
    ...tokenKinds.map(({ id }) => ({ text: accepted.has(id) ? YES : NO, note: api.notes?.[id] })),
    ...(hasPublic ? [{ text: api.public ? YES : NO }] : []),
  ]
}

/** The notes of all cells, each once, and their numbers. */
function numbered(rows: readonly (readonly Cell[])[]): ReadonlyMap<string, number> {
  const notes = rows.flat().flatMap(({ note }) => note ?? [])
  return new Map([...new Set(notes)].map((note, index) => [note, index + 1]))
}

function markdownText(title: string, heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const notes = numbered(rows)
  const lines = rows.map((cells) =>
    line(cells.map(({ text, note }) => `${inMarkdown(text)}${note ? ` [^${notes.get(note)}]` : ''}`)),
  )
  return [
    `# ${inMarkdown(title)}`,
    '',
    line(heading.map(inMarkdown)),
    `|${heading.map((_text, column) => (column < 3 ? '---' : ':-:')).join('|')}|`,
    ...lines,
    ...Array.from(notes, ([note, number]) => `\n[^${number}]: ${inMarkdown(note)}`),
    '',
  ].join('\n')
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** Nothing in the text is markup, and it stays in its line. */
function inMarkdown(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>&|~]/g, (sign) => `\\${sign}`)
}

function csvText(heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const notes = numbered(rows)
  const lines = rows.map((cells) =>
    cells.map(({ text, note }) => inCsv(`${text}${note ? ` [^${notes.get(note)}]` : ''}`)),
  )
  const below = Array.from(notes, ([note, number]) => [inCsv(`[^${number}]: ${note}`)])
  return [heading.map(inCsv), ...lines, ...below].map((cells) => `${cells.join(',')}\n`).join('')
}

/** RFC 4180. An apostrophe keeps spreadsheets from taking a text for a formula. */
function inCsv(text: string): string {
  const guarded = /^['=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",;|\t\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}
