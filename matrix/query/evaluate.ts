/** The answer of a query of a cell. The space is finite, so it is exact: each cell is looked at. */
import { CELL_ANSWERS, type Cells } from '../../engine/cells.ts'
import { namesMeant } from '../../engine/index.ts'
import { type Query, QueryError, type Value } from './parse.ts'
import { type About, FIELDS, FLAGS } from './vocabulary.ts'

type Test = (row: number, column: number) => boolean

/** A query that is bound to the cells of a matrix. */
export interface Matcher {
  /** `api`, `kind`: whether it fits depends on the API, or on the kind, alone. */
  readonly about: About
  /** @param row place of the API; without effect on a query about kinds */
  readonly fits: Test
}

/** @throws QueryError where the query names what the matrix does not have */
export function bindQuery(cells: Cells, query: Query): Matcher {
  switch (query.type) {
    case 'any':
      return joined(cells, query.of, (tests) => (row, column) => tests.some((test) => test(row, column)))
    case 'all':
      return joined(cells, query.of, (tests) => (row, column) => tests.every((test) => test(row, column)))
    case 'not': {
      const { about, fits } = bindQuery(cells, query.of)
      return { about, fits: (row, column) => !fits(row, column) }
    }
    case 'flag': {
      const { about, holds } = FLAGS[query.name] as (typeof FLAGS)[string]
      return { about, fits: (row, column) => holds(cells, row, column) }
    }
    case 'equals':
      return equals(cells, query.field, query.values)
    case 'contains': {
      const { about, valuesAt } = FIELDS[query.field] as (typeof FIELDS)[string]
      const part = query.value.text.toLowerCase()
      const contains = (value: string) => value.toLowerCase().includes(part)
      return { about, fits: (row, column) => valuesAt(cells, row, column).some(contains) }
    }
    case 'opens': {
      const row = placeOf(cells.rows, query.api, 'API')
      const allows = allowing(cells, query.strict)
      return { about: 'kind', fits: (_row, column) => allows(row, column) }
    }
    case 'opened':
      return opened(cells, query)
  }
}

function equals(cells: Cells, field: string, values: readonly Value[]): Matcher {
  const { about, valuesAt, known } = FIELDS[field] as (typeof FIELDS)[string]
  const all = new Set(known(cells))
  // Names of headers have no case; ids are in lower case anyway.
  const spelling = new Map(Array.from(all, (each) => [each.toLowerCase(), each]))
  const wanted = new Set(
    values.map((value) => {
      const found = all.has(value.text) ? value.text : spelling.get(value.text.toLowerCase())
      return found ?? unknown(value, field, all)
    }),
  )
  return { about, fits: (row, column) => valuesAt(cells, row, column).some((value) => wanted.has(value)) }
}

function opened(cells: Cells, { kind, only, strict }: Extract<Query, { type: 'opened' }>): Matcher {
  const column = placeOf(cells.columns, kind, 'kind of token')
  const allows = allowing(cells, strict)
  if (!only) return { about: 'api', fits: (row) => allows(row, column) }
  const others = [...cells.kinds.keys()].filter((other) => other !== column)
  return { about: 'api', fits: (row) => allows(row, column) && !others.some((other) => allows(row, other)) }
}

function allowing({ answers, kinds }: Cells, strict: boolean): Test {
  const allowed = CELL_ANSWERS.map((answer) => answer[strict ? 'strict' : 'lenient'] === 'ALLOWED')
  return (row, column) => allowed[answers[row * kinds.length + column] as number] === true
}

function placeOf(places: ReadonlyMap<string, number>, value: Value, what: string): number {
  return places.get(value.text) ?? unknown(value, what, places.keys())
}

/** Longest name of a query that its error repeats, and most names that one lists. */
const SHOWN_LENGTH_MAX = 64
const LISTED_MAX = 20

function unknown({ text, column }: Value, what: string, known: Iterable<string>): never {
  const all = [...new Set(known)]
  const near = namesMeant(text, all).slice(0, 3)
  const part = text.toLowerCase()
  const begun = near.length > 0 ? near : all.filter((each) => each.toLowerCase().includes(part)).slice(0, 3)
  const hint =
    begun.length > 0
      ? `did you mean ${begun.map((each) => `\`${each}\``).join(' or ')}?`
      : `expected one of ${all.slice(0, LISTED_MAX).join(', ')}${all.length > LISTED_MAX ? ', …' : ''}`
  throw new QueryError(column, `the matrix has no ${what} \`${text.slice(0, SHOWN_LENGTH_MAX)}\`; ${hint}`)
}

function joined(cells: Cells, parts: readonly Query[], join: (tests: readonly Test[]) => Test): Matcher {
  const matchers = parts.map((part) => bindQuery(cells, part))
  const abouts = new Set(matchers.map(({ about }) => about))
  // Survives: `'cell'` → `""`. A term about neither APIs nor kinds is about cells.
  const about: About = abouts.size === 1 ? (matchers[0] as Matcher).about : 'cell'
  // Survives: `about === 'cell'` → `true`, `about === 'cell'` → `false`, `about === 'cell'` → `about !==
  // 'cell'`, `'cell'` → `""`. Answers are remembered to spare work: asked again, they are the same.
  const tests = matchers.map((matcher) => (about === 'cell' ? remembered(cells, matcher) : matcher.fits))
  return { about, fits: join(tests) }
}

/** A term about APIs is evaluated once for each row, and one about kinds once for each column. */
function remembered({ kinds }: Cells, { about, fits }: Matcher): Test {
  if (about === 'kind') {
    const columns = Array.from(kinds.keys(), (column) => fits(0, column))
    return (_row, column) => columns[column] === true
  }
  // Survives: `about === 'cell'` → `true`. Answers are remembered to spare work: asked again, they are the
  // same.
  if (about === 'cell') return fits
  let last = -1
  let answer: boolean
  return (row, column) => {
    // Survives: `row !== last` → `true`. Answers are remembered to spare work: asked again, they are the
    // same.
    if (row !== last) [last, answer] = [row, fits(row, column)]
    return answer
  }
}
