/** Reads the tables, headings and texts of HTML. Scripts are not run, and nothing is fetched. */
import { Parser } from 'htmlparser2'
import { type Block, COLUMNS_MAX, DocumentError, LineCounter, spaced, type TableRow } from './blocks.ts'

const HEADINGS = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'caption'])
/** Elements that are not shown as text. */
const SILENT = new Set(['script', 'style', 'template', 'noscript', 'title'])
/** Elements that a text begins or ends with. */
const BLOCKS = new Set([
  ...['p', 'li', 'div', 'dd', 'dt', 'ul', 'ol', 'dl', 'section', 'article', 'main', 'body', 'table', 'tr'],
  ...['td', 'th', 'blockquote', 'pre', 'figcaption', 'aside', 'header', 'footer', 'nav', 'summary'],
  ...HEADINGS,
])

/** Deepest nesting of elements that is read: the parser looks at each one above. */
const DEPTH_MAX = 512

/** A cell that is being read. */
interface Cell {
  readonly isHeading: boolean
  readonly columns: number
  readonly rows: number
  text: string
  /** How much of the text stands in bold type. */
  bold: number
}

/** A table that is being read. */
interface OpenTable {
  readonly line: number
  readonly rows: TableRow[]
  cells: Cell[] | undefined
  rowLine: number
  inHead: boolean
  /** Cells of rows above that reach into the next ones: column → text and how many rows are left. */
  readonly reaching: Map<number, { text: string; rows: number }>
}

/** @param line that the text begins in */
export function readHtml(text: string, line = 1): Block[] {
  const reader = new HtmlReader(new LineCounter(text, line))
  const parser = new Parser({
    onopentag: (name, attributes) => reader.open(name, attributes, parser.startIndex),
    ontext: (part) => reader.text(part, parser.startIndex),
    onclosetag: (name) => reader.close(name),
  })
  parser.end(text)
  return reader.end()
}

class HtmlReader {
  readonly #lines: LineCounter
  readonly #blocks: Block[] = []
  readonly #tables: OpenTable[] = []
  #cell: Cell | undefined
  #silent = 0
  #depth = 0
  #bold = 0
  /** The text outside of tables that is being read. */
  #text = ''
  #textLine = 1
  /** The number of the list item that comes next; empty: no numbers. */
  readonly #numbers: (number | undefined)[] = []

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  open(name: string, attributes: Readonly<Record<string, string>>, offset: number): void {
    if (++this.#depth > DEPTH_MAX)
      throw new DocumentError(`expected at most ${DEPTH_MAX} levels of nesting`, this.#lines.lineAt(offset))
    if (SILENT.has(name)) this.#silent++
    if (BLOCKS.has(name)) this.#flush('text')
    const table = this.#tables.at(-1)
    switch (name) {
      case 'table':
        this.#openTable(this.#lines.lineAt(offset))
        break
      case 'thead':
      case 'tbody':
        if (table) table.inHead = name === 'thead'
        break
      case 'tr':
        if (table) [table.cells, table.rowLine] = [[], this.#lines.lineAt(offset)]
        break
      case 'td':
      case 'th':
        this.#openCell(name === 'th', attributes)
        break
      case 'ol':
      case 'ul':
        this.#numbers.push(name === 'ol' ? 1 : undefined)
        break
      case 'li': {
        const number = this.#numbers.pop()
        if (number !== undefined) this.text(`${number}. `, offset)
        this.#numbers.push(number === undefined ? undefined : number + 1)
        break
      }
      case 'sup':
        this.text('[^', offset)
        break
      case 'br':
        this.text(' ', offset)
        break
      case 'img':
        this.text(attributes.alt ?? '', offset)
        break
      case 'b':
      case 'strong':
        this.#bold++
        break
    }
  }

  text(part: string, offset: number): void {
    if (this.#silent > 0) return
    if (this.#cell !== undefined) {
      this.#cell.text += part
      if (this.#bold > 0) this.#cell.bold += part.length
    } else {
      if (this.#text === '') this.#textLine = this.#lines.lineAt(offset)
      this.#text += this.#text === '' ? part.trimStart() : part
    }
  }

  close(name: string): void {
    this.#depth--
    if (SILENT.has(name)) this.#silent--
    const table = this.#tables.at(-1)
    switch (name) {
      case 'sup':
        this.text(']', 0)
        break
      case 'td':
      case 'th':
        this.#cell = undefined
        break
      case 'tr':
        if (table) closeRow(table)
        break
      case 'thead':
        if (table) table.inHead = false
        break
      case 'table':
        this.#closeTable()
        break
      case 'ol':
      case 'ul':
        this.#numbers.pop()
        break
      case 'b':
      case 'strong':
        this.#bold--
        break
      default:
        if (BLOCKS.has(name)) this.#flush(HEADINGS.has(name) ? 'heading' : 'text')
    }
  }

  end(): Block[] {
    this.#flush('text')
    return this.#blocks.toSorted((one, other) => one.line - other.line)
  }

  #openTable(line: number): void {
    this.#cell = undefined
    this.#tables.push({
      ...{ line, rows: [], cells: undefined, rowLine: line, inHead: false, reaching: new Map() },
    })
  }

  #closeTable(): void {
    const table = this.#tables.pop()
    this.#cell = undefined
    if (table !== undefined && table.rows.length > 0)
      this.#blocks.push({ type: 'table', line: table.line, rows: table.rows })
  }

  #openCell(isHeading: boolean, { colspan, rowspan }: Readonly<Record<string, string>>): void {
    const table = this.#tables.at(-1)
    if (table?.cells === undefined) return
    const [columns, rows] = [spanOf(colspan), spanOf(rowspan)]
    this.#cell = { isHeading: isHeading || table.inHead, columns, rows, text: '', bold: 0 }
    table.cells.push(this.#cell)
    if (table.cells.length > COLUMNS_MAX)
      throw new DocumentError(`expected at most ${COLUMNS_MAX} columns`, table.rowLine)
  }

  #flush(type: 'heading' | 'text'): void {
    const text = spaced(this.#text)
    if (text !== '') this.#blocks.push({ type, line: this.#textLine, text })
    this.#text = ''
  }
}

/** The number of a span, within what a table may have. */
function spanOf(written: string | undefined): number {
  const span = Number.parseInt(written ?? '1', 10)
  return span > 1 ? Math.min(span, COLUMNS_MAX) : 1
}

/** Puts the cells of a row into their columns. */
function closeRow(table: OpenTable): void {
  const { cells: read, rowLine, reaching } = table
  table.cells = undefined
  if (read === undefined) return
  const isHeading = read.length > 0 && read.every((cell) => cell.isHeading)
  const [only] = read
  const isWide = read.length === 1 && only !== undefined && only.columns > 1
  const cells: string[] = []
  let isMerged = false
  const fromAbove = () => {
    for (let above = reaching.get(cells.length); above !== undefined; above = reaching.get(cells.length)) {
      if (--above.rows === 0) reaching.delete(cells.length)
      cells.push(above.text)
    }
  }
  fromAbove()
  for (const cell of read) {
    const text = spaced(cell.text)
    isMerged ||= !isHeading && !isWide && (cell.columns > 1 || cell.rows > 1)
    for (let column = 0; column < cell.columns && cells.length < COLUMNS_MAX; column++) {
      if (cell.rows > 1) reaching.set(cells.length, { text, rows: cell.rows - 1 })
      cells.push(isWide && column > 0 ? '' : text)
    }
    fromAbove()
  }
  const isBold = (only?.bold ?? 0) > 0 && only?.bold === only?.text.length
  const isAlone = cells.slice(1).every((text) => text === '')
  const isGroup = !table.inHead && (isWide || (isAlone && cells[0] !== '' && isBold))
  table.rows.push({ line: rowLine, cells, isHeading: isHeading && !isGroup, isGroup, isMerged })
}

/** A text in which character references stand for characters. */
export function decoded(text: string): string {
  if (!text.includes('&')) return text
  let plain = ''
  const parser = new Parser({
    ontext: (part) => {
      plain += part
    },
  })
  parser.end(text.replaceAll('<', '&lt;'))
  return plain
}
