/** Reads CSV and TSV, with any separator. */
import { CsvError, parse } from 'csv-parse/browser/esm/sync'
import { type Block, COLUMNS_MAX, DocumentError, spaced, type TableRow } from './blocks.ts'
import { beginsAsFootnote } from './footnotes.ts'

/** @param separator `undefined`: found in the first line */
export function readCsv(written: string, separator?: string): Block[] {
  // Spreadsheets write the separator into a line before the table.
  const [line = '', said] = /^sep=(.)\r?\n/.exec(written) ?? []
  const text = written.slice(line.length)
  const first = line === '' ? 1 : 2
  const delimiter = separator ?? said ?? separatorOf(text)
  const options = { delimiter, relaxColumnCount: true, relaxQuotes: true }
  try {
    return blocksOf(parse(text, options), first)
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const whole = Number(error.records)
    const before = whole > 0 ? parse(text, { ...options, to: whole }) : []
    throw new DocumentError(
      'expected a quotation mark at the end of each cell that begins with one',
      before.reduce((line, cells) => line + 1 + breaksIn(cells), first),
    )
  }
}

const SEPARATORS = [',', ';', '\t', '|']

/** The one that stands most often in the first line, outside of quotation marks. */
function separatorOf(text: string): string {
  const [heading = ''] = /^.*/.exec(text.trimStart()) ?? []
  const plain = heading.replace(/"[^"]*"/g, '')
  const counts = SEPARATORS.map((each) => plain.split(each).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] as string
}

function blocksOf(data: readonly (readonly string[])[], first: number): Block[] {
  const rows: TableRow[] = []
  const texts: Block[] = []
  let line = first
  for (const read of data) {
    if (read.length > COLUMNS_MAX) throw new DocumentError(`expected at most ${COLUMNS_MAX} columns`, line)
    // Most cells are one sign.
    const cells = read.map((cell) => (cell.length === 1 ? cell.trim() : spaced(withoutGuard(cell))))
    const text = cells[0] ?? ''
    if (cells.some((cell) => cell !== '')) {
      if (beginsAsFootnote(text) && cells.every((cell, column) => column === 0 || cell === ''))
        texts.push({ type: 'text', line, text })
      else rows.push({ line, cells, isHeading: rows.length === 0, isGroup: false, isMerged: false })
    }
    line += 1 + breaksIn(read)
  }
  const [head] = rows
  return head === undefined ? texts : [{ type: 'table', line: head.line, rows }, ...texts]
}

/** An apostrophe keeps a spreadsheet from taking the text for a formula. */
function withoutGuard(cell: string): string {
  return /^'['=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell
}

function breaksIn(cells: readonly string[]): number {
  let breaks = 0
  for (const cell of cells) if (cell.includes('\n')) breaks += cell.split('\n').length - 1
  return breaks
}
