/** Makes a matrix of what a document says: a new one, or an existing one with the facts of the document. */
import {
  type Api,
  type Conflict,
  completeMatrix,
  type Matrix,
  type MatrixSource,
  type Statement,
  type TokenKind,
} from '../../engine/index.ts'
import type { Resolution } from '../edits.ts'
import { lintMatrix, NewDeclarations } from '../lint.ts'
import { kindRow, NO_SECTION } from '../new-matrix.ts'
import { spaced } from './blocks.ts'
import { apiIdOf, FreeIds, kindIdOf, shortened } from './names.ts'
import { Quotes } from './quotes.ts'
import {
  type Carriage,
  namedId,
  nameKey,
  type ReadApi,
  type Reading,
  type ReadKind,
  type ReadOptions,
} from './reading.ts'

interface MergeOptions {
  readonly source: Pick<MatrixSource, 'document' | 'digest'>
  readonly read: ReadOptions
  /** Title of a new matrix. */
  readonly title: string
  /** Where the tokens of a new kind travel; `undefined`: as the document says, or in `ASSUMED`. */
  readonly carriageOf: (heading: string, id: string) => Carriage | undefined
  /** How conflicts are resolved that the document causes; `undefined`: they stay open. */
  readonly resolution?: Resolution | undefined
}

/** Where a token travels if neither the document nor a person says so. */
const ASSUMED: Carriage = { header: 'Authorization', scheme: 'Bearer' }

export interface Merged {
  readonly matrix: Matrix
  /** Ids of the kinds of the document, in its order. */
  readonly kinds: readonly string[]
  /** Ids of its APIs. */
  readonly apis: readonly string[]
  /** New kinds whose carriage is assumed. */
  readonly assumed: readonly string[]
  /** Conflicts that the document causes and that are not resolved. */
  readonly open: readonly Conflict[]
}

const SECTION_LENGTH_MAX = 64
const TEXT_LENGTH_MAX = 2_000

/** @param into the matrix that the facts are put into; `undefined`: there is none yet */
export function mergeReading(reading: Reading, into: Matrix | undefined, options: MergeOptions): Merged {
  const kinds = kindsOf(reading, into?.tokenKinds ?? [], options)
  const rows = apisOf(reading, into, kinds.ids, options)
  const statements = statementsOf(reading, into?.statements ?? [], rows, kinds.ids)
  const names = Object.fromEntries([
    ...Object.entries(options.read.names ?? {}),
    ...reading.kinds.map(({ heading }, index) => [heading, kinds.ids[index]]),
  ])
  const merged: Matrix = {
    title: into?.title ?? options.title,
    source: { ...options.source, ...given({ ...reading.found, ...given(options.read), names }) },
    ...{ tokenKinds: kinds.rows, apis: rows.rows, statements, conflicts: into?.conflicts ?? [] },
  }
  const { matrix, open } = settled(merged, options.resolution)
  return { matrix, open, kinds: kinds.ids, apis: rows.ids, assumed: kinds.assumed }
}

/** Without members that are absent or empty. */
function given<T extends object>(value: T): T {
  const members = Object.entries(value).filter(
    ([, member]) =>
      member !== undefined &&
      (typeof member !== 'object' || member === null || Object.keys(member).length > 0),
  )
  return Object.fromEntries(members) as T
}

/** Rows by their ids and titles. */
class Existing<T extends { readonly id: string; readonly title: string }> {
  readonly #byId = new Map<string, T>()
  readonly #byTitle = new Map<string, T>()

  constructor(rows: readonly T[]) {
    for (const row of rows) {
      this.#byId.set(row.id, row)
      if (!this.#byTitle.has(nameKey(row.title))) this.#byTitle.set(nameKey(row.title), row)
    }
  }

  find(heading: string, id: string | undefined): T | undefined {
    if (id !== undefined) return this.#byId.get(id)
    return this.#byTitle.get(nameKey(heading)) ?? this.#byId.get(heading)
  }
}

function kindsOf(reading: Reading, existing: readonly TokenKind[], options: MergeOptions) {
  const known = new Existing(existing)
  const free = new FreeIds(existing.map(({ id }) => id))
  const [rows, assumed]: [TokenKind[], string[]] = [[...existing], []]
  const ids = reading.kinds.map((kind, index) => {
    const named = namedId(options.read, kind.heading)
    const row = known.find(kind.heading, named)
    if (row !== undefined) return row.id
    const id = free.take(named ?? kindIdOf(kind.heading, `kind${index + 1}`))
    const { carriage, isAssumed } = carriageOf(kind, id, options)
    const section = sectionIn(reading.under, options)
    if (isAssumed) assumed.push(id)
    rows.push({ ...newKind(kind, id, carriage), section })
    return id
  })
  return { ids, rows, assumed }
}

/** The heading above, else the name of the document without its folders. */
function sectionIn(heading: string, { source }: Pick<MergeOptions, 'source'>): string {
  const name = source.document.slice(source.document.lastIndexOf('/') + 1)
  return heading.slice(0, SECTION_LENGTH_MAX) || name.slice(-SECTION_LENGTH_MAX) || NO_SECTION
}

function carriageOf(kind: ReadKind, id: string, { carriageOf: chosen }: MergeOptions) {
  const carriage = chosen(kind.heading, id) ?? kind.carriage
  return { carriage: carriage ?? ASSUMED, isAssumed: carriage === undefined }
}

/** As in the middle of a sentence: `Deploy token`, and not `GitHub App token`. */
function titleOf(heading: string): string {
  const title = heading.slice(0, TEXT_LENGTH_MAX)
  return /^[A-Z][a-z]+(?![A-Za-z])/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title
}

/** The document does not say more of a kind than its name. */
function newKind({ heading }: ReadKind, id: string, carriage: Carriage): TokenKind {
  const {
    obtained: _,
    permissionScopes,
    lifetimeSeconds,
    issuedTo,
    section,
    ...row
  } = kindRow(id, {
    ...{ title: titleOf(heading), header: '' },
  })
  const { header: _header, ...named } = row
  const obtained = { by: 'elsewhere' as const }
  return { ...named, ...carriage, issuedTo, obtained, permissionScopes, lifetimeSeconds, section }
}

interface Rows {
  readonly rows: readonly Api[]
  /** Of the document, in its order. */
  readonly ids: readonly string[]
}

/**
 * Existing rows stay in their places. One that came from the document and is no longer there goes; one
 * without a line is of another origin, and stays.
 */
function apisOf(
  reading: Reading,
  into: Matrix | undefined,
  kinds: readonly string[],
  { read, source }: MergeOptions,
): Rows {
  const existing = into?.apis ?? []
  const known = new Existing(existing)
  const free = new FreeIds(existing.map(({ id }) => id))
  const changed = new Map<string, Api>()
  const added: Api[] = []
  const of = new Set(kinds)
  const headings = new Set(reading.kinds.map(({ heading }) => heading))
  const ids = reading.apis.map((api, index) => {
    // A kind may have the same name.
    const named = (headings.has(api.heading) ? undefined : namedId(read, api.heading)) ?? api.id
    const row = known.find(api.heading, named)
    // Two headings can be of one row, by its title and by its id.
    const isTaken = row !== undefined && changed.has(row.id)
    if (row !== undefined && !isTaken) {
      changed.set(row.id, { ...row, ...factsOf(api, row, kinds, of, reading) })
      return row.id
    }
    const id = free.take(named ?? apiIdOf(api.heading, `api${index + 1}`))
    added.push({
      id,
      title: api.heading.slice(0, TEXT_LENGTH_MAX) || id,
      ...factsOf(api, undefined, kinds, of, reading),
      section: sectionIn(api.section, { source }),
    })
    return id
  })
  const kept = existing.flatMap((row) => changed.get(row.id) ?? (row.line === undefined ? [row] : []))
  return { rows: [...kept, ...added].map(inOrder), ids }
}

/** The fields of a row that the document says. The marks of other kinds stay. */
function factsOf(
  { accepts, notes, isPublic, line }: ReadApi,
  row: Api | undefined,
  kinds: readonly string[],
  of: ReadonlySet<string>,
  { saysPublic }: Reading,
): Pick<Api, 'accepts' | 'public' | 'notes' | 'line'> {
  if (row === undefined && notes.size === 0)
    return {
      accepts: accepts.map((kind) => kinds[kind] as string),
      public: isPublic || undefined,
      notes: undefined,
      line,
    }
  const said = new Set(accepts.map((kind) => kinds[kind] as string))
  const accepted = row?.accepts ?? []
  const kept = accepted.filter((kind) => !of.has(kind) || said.has(kind))
  for (const kind of kept) said.delete(kind)
  const others = Object.entries(row?.notes ?? {}).filter(([kind]) => !of.has(kind))
  const own = Array.from(notes, ([index, text]) => {
    const kind = kinds[index] as string
    const before = row?.notes?.[kind]
    return [kind, before !== undefined && spaced(before) === text ? before : text] as const
  })
  const all = [...others, ...own]
  return {
    accepts: said.size === 0 && kept.length === accepted.length ? accepted : [...kept, ...said],
    public: (saysPublic ? isPublic : row?.public === true) || undefined,
    notes: all.length === 0 ? undefined : Object.fromEntries(all),
    line,
  }
}

/** With its fields as people write them, and without those that are absent. */
function inOrder(row: Api): Api {
  const { id, title, accepts, public: isPublic, notes, section, line } = row
  if (isPublic === undefined && notes === undefined && line !== undefined)
    return { id, title, accepts, section, line }
  return {
    ...{ id, title, accepts },
    ...(isPublic !== undefined && { public: isPublic }),
    ...(notes !== undefined && { notes }),
    section,
    ...(line !== undefined && { line }),
  }
}

/** Quotes get their lines; rows that the table prints once more are statements. */
function statementsOf(
  reading: Reading,
  existing: readonly Statement[],
  { ids }: Rows,
  kinds: readonly string[],
): Statement[] {
  const quotes = new Quotes(existing.length === 0 ? [] : reading.texts)
  const free = new FreeIds(existing.map(({ id }) => id))
  const repeated = reading.repeated.map(({ api, accepts, line }) => {
    const id = ids[api] as string
    return { api: id, accepts: accepts.map((kind) => kinds[kind] as string), line }
  })
  const kept = existing.flatMap((statement): Statement[] => {
    const { line: _, ...row } = statement
    const { claim } = row
    if (claim.type !== 'row_repeated') {
      const line = quotes.lineOf(row.text)
      return [line === undefined ? row : { ...row, line }]
    }
    const at = repeated.findIndex(
      ({ api, accepts }) => api === claim.api && isSameSet(accepts, claim.accepts),
    )
    if (at === -1) return statement.line === undefined ? [row] : []
    const [{ line }] = repeated.splice(at, 1) as [(typeof repeated)[number]]
    return [{ ...row, line }]
  })
  return [
    ...kept,
    ...repeated.map(
      ({ api, accepts, line }): Statement => ({
        ...{ id: free.take(shortened(api, '-row-repeated')), section: `line ${line}` },
        ...{
          text: 'The table prints the row once more.',
          claim: { type: 'row_repeated', api, accepts },
          line,
        },
      }),
    ),
  ]
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id) => other.includes(id))
}

const REPEATED_REASON = 'The document prints the row twice, with the same marks.'

/** With the conflicts that follow: a row that is printed twice is declared, the others need a resolution. */
function settled(merged: Matrix, resolution: Resolution | undefined) {
  if (merged.statements.length + merged.conflicts.length === 0) return { matrix: merged, open: [] }
  const report = lintMatrix(merged)
  const derivedOf = new Map(report.conflicts.map(({ derived, declared }) => [declared?.id, derived]))
  const kept = merged.conflicts.flatMap((conflict): Conflict[] => {
    const derived = derivedOf.get(conflict.id)
    if (derived === undefined) return []
    return isSameSet(derived.statements, conflict.statements)
      ? [conflict]
      : [{ ...conflict, statements: derived.statements }]
  })
  const declarations = new NewDeclarations(merged)
  const open: Conflict[] = []
  for (const { derived, declared } of report.conflicts) {
    if (declared !== undefined) continue
    const conflict = declarations.of(derived)
    if (derived.type === 'duplicate_row')
      kept.push({ ...conflict, resolution: 'table', reason: REPEATED_REASON })
    else if (resolution !== undefined) kept.push({ ...conflict, ...resolution })
    else open.push(conflict)
  }
  return { matrix: completeMatrix({ ...merged, conflicts: kept }), open }
}
