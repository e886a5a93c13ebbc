/** Reads the tables, headings and texts of Markdown with the tables of GitHub (GFM). */
import { Lexer, type Token, type Tokens } from 'marked'
import { type Block, COLUMNS_MAX, DocumentError, spaced, type TableRow } from './blocks.ts'
import { decoded, readHtml } from './html.ts'

/** Deepest nesting of quotes that is read. */
const DEPTH_MAX = 64
const TOO_DEEP = `expected at most ${DEPTH_MAX} levels of nesting`

export function readMarkdown(written: string): Block[] {
  const text = withoutFrontMatter(written.replaceAll('\r\n', '\n').replaceAll('\r', '\n'))
  const deep = new RegExp(`^(?:[ \\t]*>){${DEPTH_MAX + 1}}`, 'm').exec(text)
  if (deep !== null) throw new DocumentError(TOO_DEEP, 1 + linesIn(text.slice(0, deep.index)))
  const reader = new MarkdownReader(text)
  reader.readAll()
  return reader.blocks
}

/** Text between two lines of dashes at the beginning is about the page. Its lines stay, without the text. */
function withoutFrontMatter(text: string): string {
  const matter = /^---\n[\s\S]*?\n---(?=\n)/.exec(text)?.[0] ?? ''
  return '\n'.repeat(linesIn(matter)) + text.slice(matter.length)
}

function linesIn(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

class MarkdownReader {
  readonly blocks: Block[] = []
  readonly #text: string
  readonly #lexer = new Lexer({ gfm: true })
  /** Cell as it is written → its text. Most cells of a table are one of a few. */
  readonly #plain = new Map<string, string>()

  constructor(text: string) {
    this.#text = text
  }

  readAll(): void {
    let [offset, line, htmlEnd] = [0, 1, 0]
    const tokens = this.#lexer.blockTokens(this.#text)
    // A footnote of one word looks like the address of a link.
    const { links } = this.#lexer.tokens
    for (const label of Object.keys(links)) if (label.startsWith('^')) delete links[label]
    for (const token of tokens) {
      if (offset >= htmlEnd) {
        if (token.type === 'html' && /<table\b/i.test(token.raw)) htmlEnd = this.#readHtml(offset, line)
        else this.#read(token, line)
      }
      offset += token.raw.length
      line += linesIn(token.raw)
    }
  }

  /** HTML with a table in it goes to the end of the table, over empty lines. @returns where it ends */
  #readHtml(offset: number, line: number): number {
    const close = this.#text.slice(offset).search(/<\/table\s*>/i)
    const end = close === -1 ? this.#text.length : this.#text.indexOf('>', offset + close) + 1
    this.blocks.push(...readHtml(this.#text.slice(offset, end), line))
    return end
  }

  #read(token: Token, line: number): void {
    switch (token.type) {
      case 'table':
        this.#readTable(token as Tokens.Table, line)
        break
      case 'heading':
        this.blocks.push({ type: 'heading', line, text: this.#textOf((token as Tokens.Heading).text) })
        break
      case 'paragraph':
      case 'text':
      case 'def':
        this.#readLines(token.raw, line)
        break
      case 'html':
        this.blocks.push(...readHtml(token.raw, line))
        break
      case 'list':
        this.#readList(token as Tokens.List, line)
        break
      case 'blockquote':
        this.#readInner((token as Tokens.Blockquote).tokens, line)
        break
    }
  }

  #readInner(tokens: readonly Token[], first: number): void {
    let line = first
    for (const token of tokens) {
      this.#read(token, line)
      line += linesIn(token.raw)
    }
  }

  /** A paragraph. A line that begins as a footnote does begins another text. */
  #readLines(raw: string, first: number): void {
    let [text, start] = ['', first]
    const flush = () => {
      if (text.trim() !== '') this.blocks.push({ type: 'text', line: start, text: this.#textOf(text) })
    }
    for (const [index, line] of raw.split('\n').entries()) {
      if (FOOTNOTE.test(line)) {
        flush()
        ;[text, start] = ['', first + index]
      }
      text += `${line}\n`
    }
    flush()
  }

  /** Items begin with their sign: it may be that of a footnote. */
  #readList({ items }: Tokens.List, first: number): void {
    let line = first
    for (const item of items) {
      const sign = /^\s*(?:[-+*]|\d+[.)])\s/.exec(item.raw)?.[0].trim() ?? ''
      const [head, ...rest] = item.tokens
      if (head?.type === 'text' || head?.type === 'paragraph') {
        this.blocks.push({ type: 'text', line, text: `${sign} ${this.#textOf((head as Tokens.Text).text)}` })
        this.#readInner(rest, line + linesIn(head.raw))
      } else this.#readInner(item.tokens, line)
      line += linesIn(item.raw) + (item.raw.endsWith('\n') ? 0 : 1)
    }
  }

  #readTable({ header, rows }: Tokens.Table, line: number): void {
    if (header.length > COLUMNS_MAX)
      throw new DocumentError(`expected at most ${COLUMNS_MAX} columns, found ${header.length}`, line)
    const heading: TableRow = {
      ...{ line, cells: header.map(({ text }) => this.#textOf(text)) },
      ...{ isHeading: true, isGroup: false, isMerged: false },
    }
    const body = rows.map((row, index): TableRow => {
      const cells = row.map(({ text }) => this.#textOf(text))
      const isBold = /^(\*\*|__)[^*_]+\1$/.test(row[0]?.text.trim() ?? '')
      const isGroup = isBold && cells.every((text, column) => column === 0 || text === '')
      // The heading and the line below it come first.
      return { line: line + 2 + index, cells, isHeading: false, isGroup, isMerged: false }
    })
    this.blocks.push({ type: 'table', line, rows: [heading, ...body] })
  }

  #textOf(written: string): string {
    const trimmed = written.trim()
    if (!MARKED_UP.test(trimmed) || isTooMarkedUp(trimmed)) return spaced(trimmed)
    let text = this.#plain.get(trimmed)
    if (text === undefined) {
      text = spaced(decoded(this.#lexer.inlineTokens(trimmed).map(plainOf).join('')))
      this.#plain.set(trimmed, text)
    }
    return text
  }
}

/** Signs of markup. An underscore within a word is a letter, and the text of an address is the address. */
const MARKED_UP = /[\\`*[\]<>&~]|(?:^|[^A-Za-z0-9])_|_(?:[^A-Za-z0-9]|$)/

/** Longest text whose markup is read, and most signs of emphasis in it: marked compares them in pairs. */
const MARKED_UP_LENGTH_MAX = 10_000
const EMPHASIS_MAX = 200

function isTooMarkedUp(text: string): boolean {
  return text.length > MARKED_UP_LENGTH_MAX || text.split(/[*_]/, EMPHASIS_MAX + 2).length > EMPHASIS_MAX + 1
}

/** The beginning of a footnote in a line. */
const FOOTNOTE = /^ {0,3}(?:\[\^[^\]\s]+\]:|\(\d{1,2}\)\s|\\?[*†‡]+\s|[¹²³⁴⁵⁶⁷⁸⁹]\s?|<sup>)/

/** The text of a part of a line, without its markup. */
function plainOf(token: Token): string {
  if (token.type === 'html') return htmlText(token.raw)
  if (token.type === 'br') return ' '
  if (token.type === 'image') return (token as Tokens.Image).text
  const { tokens, text } = token as Tokens.Generic
  if (tokens !== undefined && tokens.length > 0) return tokens.map(plainOf).join('')
  const isPlain = token.type === 'codespan' || token.type === 'escape'
  return isPlain ? String(text).replaceAll('&', '&amp;') : String(text)
}

/** A footnote may stand in a raised number. */
function htmlText(tag: string): string {
  if (/^<sup\b/i.test(tag)) return '[^'
  if (/^<\/sup\b/i.test(tag)) return ']'
  return /^<br\b/i.test(tag) ? ' ' : ''
}
