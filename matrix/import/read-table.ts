/** Understands a table: the side with the kinds of token, the rows that are APIs, and each mark. */
import { type Block, DocumentError, type TableBlock, type TableRow } from './blocks.ts'
import { type Footnote, footnotesOf, withoutSigns } from './footnotes.ts'
import { type Mark, Marks } from './marks.ts'
import {
  type CountedMark,
  type KnownNames,
  type LeftOut,
  namedId,
  nameKey,
  type ReadApi,
  type Reading,
  type ReadKind,
  type ReadOptions,
  type RepeatedRow,
} from './reading.ts'

/** The heading of a column that an export writes for APIs that need no token. */
export const NEEDS_NO_TOKEN = 'needs no token'

/** Longest heading of a row or a column, in characters: a title of a matrix. */
const HEADING_LENGTH_MAX = 2_000
const LONG_HEADING = `expected a heading of at most ${HEADING_LENGTH_MAX} characters`

/** Headings of columns with the ids and the sections of the rows. */
const OWN_COLUMNS = ['id', 'section'] as const

/** Words of kinds of token. */
const TOKEN_WORD =
  /\b(?:tokens?|keys?|secrets?|credentials?|passwords?|passes|pass|badges?|cookies?|sessions?|jwt|pat|oauth|bearer|bot|app|user|basic|certificates?|auth\w*)\b/i

/** @throws DocumentError where no table is found, where several could be meant, or where one is not read */
export function readTable(blocks: readonly Block[], options: ReadOptions, known: KnownNames): Reading {
  const marks = new Marks(options.marks)
  const found = choose(candidatesOf(blocks), marks, options, known)
  const grid = gridOf(found, marks, options, known)
  const side = options.kinds ?? sideOf(grid, known)
  const footnotes = footnotesOf(blocks, found.table)
  const facts = new Facts(side === 'columns' ? grid : turned(grid), footnotes)
  if (facts.kinds.length === 0)
    throw new DocumentError('expected the marks of a kind of token', found.table.line)
  if (facts.apis.length === 0) throw new DocumentError('expected a row with a heading', found.table.line)
  return {
    found: { kinds: side, table: options.table ?? found.name },
    ...{ where: found.where, under: found.under, line: found.table.line, kindsAre: side, routes: [] },
    ...{ kinds: facts.kinds, apis: facts.apis, saysPublic: facts.saysPublic, repeated: facts.repeated },
    leftOut: [...grid.leftOut, ...facts.leftOut].toSorted((one, other) => one.line - other.line),
    marks: [...facts.marks.values()],
    texts: blocks.flatMap((block) => (block.type === 'table' ? [] : [block])),
  }
}

/** A table with what stands above it. */
interface Found {
  readonly table: TableBlock
  readonly number: number
  readonly under: string
  readonly where: string
  /** Its name among others: the heading above, or its number. `undefined`: there are no others. */
  readonly name: number | string | undefined
}

function candidatesOf(blocks: readonly Block[]): Found[] {
  const total = blocks.filter(({ type }) => type === 'table').length
  const found: Found[] = []
  let under = ''
  for (const block of blocks) {
    if (block.type === 'heading') under = withoutSigns(block.text).text
    if (block.type !== 'table') continue
    const number = found.length + 1
    const title = under === '' ? '' : `, under “${under}”`
    const where = `table ${number} of ${total}${title}`
    found.push({ table: block, number, under, where, name: number })
  }
  if (found.length === 0) throw new DocumentError('expected a table, found none')
  if (found.length === 1) return found.map((only) => ({ ...only, name: undefined }))
  const unders = found.map((each) => nameKey(each.under))
  return found.map((each) => {
    const isUnique = each.under !== '' && unders.filter((under) => under === nameKey(each.under)).length === 1
    return isUnique ? { ...each, name: each.under } : each
  })
}

/** Whether a cell says yes or no, and is not empty. */
function hasMarks({ rows }: TableBlock, marks: Marks): boolean {
  return rows.some(
    ({ cells, isHeading }) =>
      !isHeading &&
      cells.some((cell, column) => column > 0 && cell !== '' && marks.of(cell).meaning !== undefined),
  )
}

/** The table that is meant. */
function choose(
  found: readonly Found[],
  marks: Marks,
  { table: meant }: ReadOptions,
  known: KnownNames,
): Found {
  if (meant !== undefined) {
    const chosen = found.filter(({ number, under }) =>
      typeof meant === 'number' ? number === meant : nameKey(under) === nameKey(meant),
    )
    return onlyOne(
      chosen,
      found,
      `expected one table ${typeof meant === 'number' ? meant : `under “${meant}”`}`,
    )
  }
  const marked = found.filter(({ table }) => hasMarks(table, marks))
  if (marked.length === 0)
    throw new DocumentError(
      `expected a table with marks such as ✓, Yes or –; found ${placesOf(found)}`,
      found[0]?.table.line,
    )
  const [only] = marked
  if (only !== undefined && marked.length === 1) return only
  // The nearest to what is known already, then to what tables of tokens have in their headings.
  const byNames = marked.filter(({ table }) =>
    headingsOf(table).some((text) => known.kinds.has(nameKey(text))),
  )
  const byWords = marked.filter(({ table }) => headingsOf(table).some((text) => TOKEN_WORD.test(text)))
  const best = [byNames, byWords, marked].find((each) => each.length > 0) ?? marked
  return onlyOne(best, best, 'expected the number of the table that is meant (--table)')
}

function headingsOf({ rows }: TableBlock): string[] {
  const heads = rows.filter(({ isHeading }) => isHeading).flatMap(({ cells }) => cells.slice(1))
  return [...heads, ...rows.flatMap(({ cells }) => cells[0] ?? [])]
}

function onlyOne(chosen: readonly Found[], all: readonly Found[], expected: string): Found {
  const [first, second] = chosen
  if (first === undefined || second !== undefined) {
    const listed = first === undefined ? all : chosen
    throw new DocumentError(`${expected}; found ${placesOf(listed)}`, listed[0]?.table.line)
  }
  return first
}

/** Most tables that a message lists. */
const LISTED_MAX = 12

function placesOf(found: readonly Found[]): string {
  const listed = found
    .slice(0, LISTED_MAX)
    .map(({ number, under, table }) => `${number} (line ${table.line}${under === '' ? '' : `, “${under}”`})`)
  const more = found.length - listed.length
  return `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** A heading of a row or a column. */
interface Heading {
  readonly text: string
  readonly line: number
  readonly section: string
  readonly signs: readonly string[]
  readonly id?: string | undefined
  /** Whether its marks say that an API needs no token. */
  readonly isPublic: boolean
}

/** The marks with the headings of both sides. */
interface Grid {
  readonly columns: readonly Heading[]
  readonly rows: readonly Heading[]
  /** By row and column. */
  readonly cells: readonly (readonly Mark[])[]
  /** Line of a cell, where its row is turned into a column. */
  readonly lines: readonly number[]
  readonly isTurned: boolean
  readonly leftOut: readonly LeftOut[]
}

function gridOf({ table, under }: Found, marks: Marks, options: ReadOptions, known: KnownNames): Grid {
  const { heads, body } = partsOf(table, marks)
  const titles = titlesOf(heads)
  const line = heads[0]?.line ?? table.line
  const leftOut: LeftOut[] = []
  const skipped = new Set(options.leaveOut?.map(nameKey))
  const columns = columnsOf(titles, body, { marks, options, known, line, under, skipped, leftOut })
  const own = new Map(OWN_COLUMNS.map((name) => [name, titles.findIndex((title) => nameKey(title) === name)]))
  const rows: Heading[] = []
  const cells: Mark[][] = []
  let section = under
  for (const row of body) {
    const { text, signs } = withoutSigns(row.cells[columns.head] ?? '')
    if (row.isGroup || isGroupOf(row, columns.writesNo)) {
      section = text
      leftOut.push({ line: row.line, what: `“${text}”`, why: 'a heading of rows, kept as their section' })
      continue
    }
    if (skipped.has(nameKey(text)) || text === '') {
      const why = text === '' ? 'it has no heading' : 'as asked'
      leftOut.push({ line: row.line, what: text === '' ? 'a row' : `row “${text}”`, why })
      continue
    }
    refuseMerged(row)
    if (text.length > HEADING_LENGTH_MAX) throw new DocumentError(LONG_HEADING, row.line)
    const at = (name: (typeof OWN_COLUMNS)[number]) => row.cells[own.get(name) ?? -1] || undefined
    rows.push({
      text,
      signs,
      line: row.line,
      section: at('section') ?? section,
      id: at('id'),
      isPublic: isPublicHeading(text, options),
    })
    cells.push(columns.at.map((column) => marks.of(row.cells[column] ?? '')))
  }
  return {
    columns: columns.headings,
    rows,
    cells,
    lines: rows.map((row) => row.line),
    isTurned: false,
    leftOut,
  }
}

function refuseMerged({ isMerged, line }: TableRow): void {
  if (isMerged)
    throw new DocumentError('expected a cell for each row and column; a cell reaches over several', line)
}

const isPublicHeading = (text: string, options: ReadOptions): boolean =>
  nameKey(text) === nameKey(options.public ?? NEEDS_NO_TOKEN)

/** The headings of columns, in one row or two, and the rows below them without repeated headings. */
function partsOf({ rows }: TableBlock, marks: Marks) {
  const count = Math.max(
    1,
    rows.findIndex(({ isHeading }) => !isHeading),
  )
  const heads = rows.slice(0, count)
  const second = rows[count]
  if (count === 1 && heads[0] && second && isSecondHead(heads[0], second, marks)) heads.push(second)
  const printed = heads.at(-1)?.cells.join('\n')
  const first = heads.at(-1)?.cells[0]
  const body = rows
    .slice(heads.length)
    .filter(({ cells }) => cells[0] !== first || cells.join('\n') !== printed)
  return { heads, body }
}

/** A row of names below a row of groups: nothing in it is a mark, and groups have several columns. */
function isSecondHead({ cells: groups }: TableRow, { cells, isGroup }: TableRow, marks: Marks): boolean {
  const isGrouped = groups.some((text, column) => column > 1 && (text === '' || text === groups[column - 1]))
  const names = cells.slice(1).filter((text) => text !== '')
  return (
    !isGroup &&
    isGrouped &&
    names.length > 1 &&
    names.every((text) => marks.of(text).meaning === undefined) &&
    (groups[0] === '' || cells[0] === '' || cells[0] === groups[0])
  )
}

/** The title of each column: of two rows the lower one, with its group where it would be there twice. */
function titlesOf(heads: readonly TableRow[]): string[] {
  const [first, second] = [heads[0], heads.at(-1)]
  if (first === undefined || second === undefined || first === second)
    return (first?.cells ?? []).map((text) => text)
  let group = ''
  const groups = second.cells.map((_text, column) => {
    const text = first.cells[column] ?? ''
    if (text !== '' || column === 0) group = text
    return group
  })
  const names = second.cells.map((text, column) => (text === '' ? (groups[column] ?? '') : text))
  return names.map((name, column) => {
    const isTwice = names.filter((each) => each === name).length > 1
    return isTwice && groups[column] !== name ? `${groups[column]} ${name}` : name
  })
}

interface Columns {
  /** The column with the headings of the rows. */
  readonly head: number
  /** The columns with marks. */
  readonly at: readonly number[]
  readonly headings: readonly Heading[]
  /** Whether the table has a mark for no: an empty row is a heading then. */
  readonly writesNo: boolean
}

function columnsOf(
  titles: readonly string[],
  body: readonly TableRow[],
  {
    marks,
    options,
    known,
    line,
    under,
    skipped,
    leftOut,
  }: {
    readonly marks: Marks
    readonly options: ReadOptions
    readonly known: KnownNames
    readonly line: number
    readonly under: string
    readonly skipped: ReadonlySet<string>
    readonly leftOut: LeftOut[]
  },
): Columns {
  const width = body.reduce((most, { cells }) => Math.max(most, cells.length), titles.length)
  const isOwn = (column: number) => OWN_COLUMNS.some((name) => name === nameKey(titles[column] ?? ''))
  const head = Array.from({ length: width }, (_, column) => column).findIndex((column) => !isOwn(column))
  // Headings, ids and sections differ in each row: to look for a mark in them takes longest.
  const counts = Array.from({ length: width }, (_, column) =>
    column === head || isOwn(column) ? undefined : { marks: 0, others: 0 },
  )
  let writesNo = false
  for (const { cells } of body)
    for (let column = 0; column < cells.length; column++) {
      const [count, cell = ''] = [counts[column], cells[column]]
      if (count === undefined || cell === '') continue
      const { meaning } = marks.of(cell)
      if (meaning === undefined) count.others++
      else count.marks++
      writesNo ||= meaning === 'no'
    }
  const [at, headings]: [number[], Heading[]] = [[], []]
  for (const [column, count] of counts.entries()) {
    const { text, signs } = withoutSigns(titles[column] ?? '')
    if (count === undefined) continue
    const isNamed =
      options.names === undefined
        ? known.kinds.has(nameKey(text)) || known.apis.has(nameKey(text))
        : namedId(options, text) !== undefined
    const why = skipped.has(nameKey(text))
      ? 'as asked'
      : isNamed || (count.marks > 0 && count.marks >= count.others)
        ? text === '' && 'it has no heading'
        : whyNot(count)
    if (why !== false) leftOut.push({ line, what: `column “${text}”`, why })
    else {
      const isTwice = titles.some(
        (title, other) =>
          ![head, column].includes(other) &&
          !isOwn(other) &&
          nameKey(withoutSigns(title).text) === nameKey(text),
      )
      if (isTwice) throw new DocumentError(`expected each kind of token once; “${text}” stands twice`, line)
      if (text.length > HEADING_LENGTH_MAX) throw new DocumentError(LONG_HEADING, line)
      at.push(column)
      headings.push({ text, signs, line, section: under, isPublic: isPublicHeading(text, options) })
    }
  }
  if (at.length === 0) throw new DocumentError('expected a column of marks such as ✓, Yes or –', line)
  return { head: Math.max(0, head), at, headings, writesNo }
}

function whyNot({ marks, others }: { readonly marks: number; readonly others: number }): string {
  if (marks + others === 0) return 'its cells are empty'
  return marks === 0 ? 'its cells are not marks' : `${others} of its cells are not marks`
}

/** One cell alone, where the table has a mark for no. */
function isGroupOf({ cells }: TableRow, writesNo: boolean): boolean {
  return (
    writesNo &&
    cells.length > 1 &&
    cells[0] !== '' &&
    cells.every((cell, column) => column === 0 || cell === '')
  )
}

/** Most kinds that a matrix has. */
const KINDS_MAX = 64

/** The side with the known names, else with the words of tokens, else the shorter one. */
function sideOf({ columns, rows }: Grid, known: KnownNames): 'columns' | 'rows' {
  if (rows.length > KINDS_MAX && columns.length <= KINDS_MAX) return 'columns'
  const share = (headings: readonly Heading[], fits: (text: string) => boolean) =>
    headings.filter(({ text }) => fits(text)).length / headings.length
  const isKind = (text: string) => known.kinds.has(nameKey(text))
  const isApi = (text: string) => known.apis.has(nameKey(text))
  const measures = [
    share(columns, isKind) + share(rows, isApi) - share(rows, isKind) - share(columns, isApi),
    share(columns, (text) => TOKEN_WORD.test(text)) - share(rows, (text) => TOKEN_WORD.test(text)),
    rows.length - columns.length,
  ]
  const decisive = measures.find((measure) => measure !== 0) ?? 1
  return decisive > 0 ? 'columns' : 'rows'
}

/** With the kinds as columns. */
function turned({ columns, rows, cells, lines, leftOut }: Grid): Grid {
  return {
    ...{ columns: rows, rows: columns, lines, isTurned: true, leftOut },
    cells: columns.map((_heading, column) => cells.map((row) => row[column] as Mark)),
  }
}

const NO_NOTES: ReadonlyMap<number, string> = new Map()

/** Lines of a mark that are kept. */
const LINES_MAX = 5

/** The kinds and the APIs of a grid whose columns are kinds. */
class Facts {
  readonly kinds: ReadKind[] = []
  readonly apis: ReadApi[] = []
  readonly repeated: RepeatedRow[] = []
  readonly leftOut: LeftOut[] = []
  readonly saysPublic: boolean
  readonly marks = new Map<string, CountedMark & { count: number; readonly lines: number[] }>()
  readonly #footnotes: ReadonlyMap<string, Footnote>
  readonly #apiOf = new Map<string, number>()
  readonly #missing = new Set<string>()

  constructor(grid: Grid, footnotes: ReadonlyMap<string, Footnote>) {
    this.#footnotes = footnotes
    this.saysPublic = grid.columns.some(({ isPublic }) => isPublic)
    const names = new Set<string>()
    const kindOf = grid.columns.map(({ text, line, isPublic }) => {
      if (names.has(nameKey(text)))
        throw new DocumentError(`expected each kind of token once; “${text}” stands twice`, line)
      names.add(nameKey(text))
      return isPublic ? -1 : this.kinds.push({ heading: text, line }) - 1
    })
    for (const [index, heading] of grid.rows.entries()) this.#addRow(grid, index, heading, kindOf)
  }

  #addRow(grid: Grid, index: number, heading: Heading, kindOf: readonly number[]): void {
    const accepts: number[] = []
    let notes = NO_NOTES
    let isPublic = false
    for (const [column, mark] of (grid.cells[index] as readonly Mark[]).entries()) {
      const kind = kindOf[column] as number
      const line = grid.isTurned ? (grid.lines[column] as number) : heading.line
      this.#count(mark, line)
      if (mark.meaning === undefined || mark.meaning === 'no') continue
      const note = this.#noteOn(mark, [...heading.signs, ...(grid.columns[column]?.signs ?? [])], line)
      if (kind === -1) {
        isPublic = note === undefined
        if (note !== undefined) {
          const why = `closed without a token, because it needs none only with the note “${note}”`
          this.leftOut.push({ line, what: `“${heading.text}”`, why })
        }
        continue
      }
      accepts.push(kind)
      if (note !== undefined) notes = new Map([...notes, [kind, note]])
    }
    this.#add({ heading, accepts, notes, isPublic })
  }

  #add(row: {
    readonly heading: Heading
    readonly accepts: readonly number[]
    readonly notes: ReadonlyMap<number, string>
    readonly isPublic: boolean
  }): void {
    const { heading, accepts, notes, isPublic } = row
    const { text, id, line, section } = heading
    const key = nameKey(id ?? text)
    const earlier = this.#apiOf.get(key)
    if (earlier !== undefined) {
      this.repeated.push({ api: earlier, accepts, line })
      return
    }
    this.#apiOf.set(key, this.apis.length)
    this.apis.push({ heading: text, id, section, line, accepts, notes, isPublic })
  }

  /** The remark beside a mark, and its footnotes; `undefined`: it has neither. */
  #noteOn(mark: Mark, others: readonly string[], line: number): string | undefined {
    const signs = mark.signs.length === 0 ? others : [...others, ...mark.signs]
    if (signs.length === 0) return mark.remark
    const texts = [mark.remark ?? '', ...signs.map((sign) => this.#noteOf(sign, line))]
    const note = texts.filter((text) => text !== '').join(' ')
    return note === '' ? `footnote ${signs.join(', ')}` : note.slice(0, NOTE_LENGTH_MAX)
  }

  /** The text of a footnote. One that is not explained is left out, and said to be. */
  #noteOf(sign: string, line: number): string {
    const footnote = this.#footnotes.get(sign)
    if (footnote === undefined && !this.#missing.has(sign)) {
      this.#missing.add(sign)
      this.leftOut.push({ line, what: `footnote “${sign}”`, why: 'the document does not explain it' })
    }
    return footnote?.text ?? ''
  }

  #count({ text, meaning }: Mark, line: number): void {
    const counted = this.marks.get(text)
    if (counted === undefined) this.marks.set(text, { mark: text, meaning, count: 1, lines: [line] })
    else {
      counted.count++
      if (counted.lines.length < LINES_MAX) counted.lines.push(line)
    }
  }
}

/** Longest text of a matrix, in characters. */
const NOTE_LENGTH_MAX = 2_000
