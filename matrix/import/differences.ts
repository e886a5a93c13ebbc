/** The differences between a matrix and the document that it was read from. */
import type { Api, Matrix } from '../../engine/index.ts'
import type { Merged } from './merge.ts'
import { nameKey, type Reading } from './reading.ts'

/** The codes of differences. They are stable: programs name them. */
export const DIFFERENCES = {
  'cell-opened': 'The document accepts the kind of token, and the matrix does not.',
  'cell-closed': 'The matrix accepts the kind of token, and the document does not.',
  'public-opened': 'The document says that the API needs no token, and the matrix does not.',
  'public-closed': 'The matrix says that the API needs no token, and the document does not.',
  'note-changed': 'The document has another note on the cell.',
  'row-added': 'The document has a row that the matrix does not have.',
  'row-removed': 'The row of the API is no longer in the document.',
  'column-added': 'The document has a kind of token that the matrix does not have.',
  'column-removed': 'The kind of token is no longer in the document.',
  'quote-removed': 'The words of the statement no longer stand in the document.',
  'repetition-added': 'The document prints the row once more.',
  'repetition-removed': 'The document no longer prints the row once more.',
} as const

type DifferenceCode = keyof typeof DIFFERENCES

export interface Difference {
  readonly code: DifferenceCode
  /** Line of the document; of what is gone, that of its table. */
  readonly line: number
  /** The API, the kind and the statement that it is about. */
  readonly api?: string
  readonly kind?: string
  readonly statement?: string
  /** In words: what the document says, and what the matrix does. */
  readonly text: string
}

/** In the order of the document. @param merged the matrix with what the document says now */
export function differencesOf(matrix: Matrix, reading: Reading, merged: Merged): Difference[] {
  const found = [
    ...kindDifferences(matrix, reading, merged),
    ...rowDifferences(matrix, reading, merged),
    ...statementDifferences(matrix, reading, merged.matrix),
  ]
  return found.sort((one, other) => one.line - other.line)
}

function kindDifferences(matrix: Matrix, reading: Reading, merged: Merged): Difference[] {
  const known = new Set(matrix.tokenKinds.map(({ id }) => id))
  const present = new Set(reading.kinds.map(({ heading }) => nameKey(heading)))
  return [
    ...reading.kinds.flatMap(({ heading, line }, index): Difference[] => {
      const kind = merged.kinds[index] as string
      if (known.has(kind)) return []
      return [{ code: 'column-added', line, kind, text: `the document has a kind “${heading}”` }]
    }),
    ...Object.entries(matrix.source?.names ?? {}).flatMap(([heading, kind]): Difference[] => {
      if (!known.has(kind) || present.has(nameKey(heading))) return []
      const text = `the document no longer has a kind “${heading}”`
      return [{ code: 'column-removed', line: reading.line, kind, text }]
    }),
  ]
}

function rowDifferences(before: Matrix, reading: Reading, merged: Merged): Difference[] {
  const { matrix: after } = merged
  // Where kinds are rows, a cell stands in the line of its kind.
  const lines = new Map(
    reading.kindsAre === 'rows'
      ? reading.kinds.map(({ line }, index) => [merged.kinds[index] as string, line])
      : [],
  )
  const now = new Map(after.apis.map((api) => [api.id, api]))
  const then = new Set(before.apis.map(({ id }) => id))
  const found: Difference[] = []
  for (const api of before.apis) {
    const is = now.get(api.id)
    if (is === undefined) {
      const text = `the document no longer has the row “${api.title}”, which was line ${api.line}`
      found.push({ code: 'row-removed', line: reading.line, api: api.id, text })
    } else if (is !== api) found.push(...cellDifferences(api, is, lines))
  }
  for (const { id, title, line = reading.line } of after.apis)
    if (!then.has(id))
      found.push({ code: 'row-added', line, api: id, text: `the document has a row “${title}”` })
  return found
}

function cellDifferences(was: Api, is: Api, lines: ReadonlyMap<string, number>): Difference[] {
  const { id: api, line = 1 } = is
  const lineOf = (kind: string) => lines.get(kind) ?? line
  const opened = is.accepts.filter((kind) => !was.accepts.includes(kind))
  const closed = was.accepts.filter((kind) => !is.accepts.includes(kind))
  const found: Difference[] = [
    ...opened.map(
      (kind): Difference => ({
        ...{ code: 'cell-opened', line: lineOf(kind), api, kind },
        text: 'the document says yes, the matrix says no',
      }),
    ),
    ...closed.map(
      (kind): Difference => ({
        ...{ code: 'cell-closed', line: lineOf(kind), api, kind },
        text: 'the document says no, the matrix says yes',
      }),
    ),
  ]
  if (was.public !== is.public)
    found.push(
      is.public
        ? { code: 'public-opened', line, api, text: 'the document says that it needs no token' }
        : { code: 'public-closed', line, api, text: 'the document no longer says that it needs no token' },
    )
  for (const kind of new Set([...Object.keys(was.notes ?? {}), ...Object.keys(is.notes ?? {})])) {
    const [before, after] = [was.notes?.[kind], is.notes?.[kind]]
    // A cell that closes loses its note.
    if (before === after || closed.includes(kind) || opened.includes(kind)) continue
    const [written, kept] = [after, before].map((note) => (note === undefined ? 'no note' : `“${note}”`))
    found.push({
      code: 'note-changed',
      line: lineOf(kind),
      api,
      kind,
      text: `the document has ${written}, the matrix ${kept}`,
    })
  }
  return found
}

function statementDifferences(before: Matrix, reading: Reading, after: Matrix): Difference[] {
  const now = new Map(after.statements.map((statement) => [statement.id, statement]))
  const then = new Set(before.statements.map(({ id }) => id))
  const gone = before.statements.flatMap((statement): Difference[] => {
    const { id, line, claim, text: words } = statement
    const is = now.get(id)
    if (line === undefined || is?.line !== undefined) return []
    if (claim.type === 'row_repeated') {
      const text = 'the document no longer prints the row once more'
      return [{ code: 'repetition-removed', line: reading.line, api: claim.api, statement: id, text }]
    }
    const text = `“${words}”, which was line ${line}, no longer stands in the document`
    return [{ code: 'quote-removed', line: reading.line, statement: id, text }]
  })
  const added = after.statements.flatMap(({ id, claim, line = reading.line }): Difference[] => {
    if (then.has(id) || claim.type !== 'row_repeated') return []
    const text = 'the document prints the row once more'
    return [{ code: 'repetition-added', line, api: claim.api, statement: id, text }]
  })
  return [...gone, ...added]
}
