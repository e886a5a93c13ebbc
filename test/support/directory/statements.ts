/** The statements that a directory runs, and which of them read more the more the directory has. */
import { DatabaseSync } from 'node:sqlite'
import type { SpanFacts, Tracer } from '../../../sidecar/base/tracing.ts'
import { RECORD } from '../../../sidecar/directory/change-writer.ts'
import type { Database, Transaction } from '../../../sidecar/directory/database.ts'
import { LAST_CHANGE_KNOWN, presenceQuery } from '../../../sidecar/directory/last-change.ts'
import { migrationsFrom, PASSING_TABLES, TABLES } from '../../../sidecar/directory/schema.ts'
import { tracedDatabase } from '../../../sidecar/directory/traced-database.ts'
import { textsOf } from '../checkout/functions.ts'
import { sourcesIn } from '../checkout/sources.ts'

/** How many rows each table that grows has for a planner. */
export const ROWS = 10_000_000

/** Tables that have few rows in any directory. */
const SMALL: Readonly<Record<string, string>> = {
  matrix_versions: 'ten are kept',
  restorations: 'one for each restoration of a backup',
  revocation_marks: 'one for each day until revocations are removed',
}

/** In the place of a value in a text of the sources. */
const HOLE = /\uFFFC/g

const EVERY = [...TABLES.map(({ name }) => name), ...PASSING_TABLES]
export const GROWING: ReadonlySet<string> = new Set(EVERY.filter((name) => !(name in SMALL)))

/** Columns of which any number of rows may have the same value. */
export const WIDE: Readonly<Record<string, readonly string[]>> = {
  projects: ['account_id'],
  users: ['account_id', 'type'],
  panel_links: ['account_id', 'purpose'],
  panel_sessions: ['account_id'],
  audit: ['account', 'action'],
}

/** Statements that may do what is refused, by their beginning, with the reason. */
const ALLOWED: readonly (readonly [beginning: string, refusal: RegExp, reason: string])[] = [
  ['SELECT COUNT(*) AS tokens FROM (', /^reads static_tokens/, 'reads tokens of other peppers alone'],
  [
    'SELECT sequence, at_ms, actor',
    /^LIKE|^reads .* filtered by \(subject_id\)$/,
    'a filter reads 10,000 records',
  ],
  ['DELETE FROM panel_sessions WHERE used_at_ms', /^reads/, 'each row is deleted once'],
  ['DELETE FROM panel_links WHERE', /^reads/, 'the same of links'],
  [
    'SELECT CASE WHEN',
    /^reads audit by .* filtered by \((sequence,at_ms)?\)$/,
    'asks for one, then for another',
  ],
  ['SELECT COUNT(*) AS records FROM audit WHERE sequence <=', /^reads/, 'counts what is archived'],
  ['DELETE FROM audit', /^reads/, 'each record is archived once, by an operator'],
]

/** A database that notes the statements of a store. */
export function noting(database: Database, statements: Set<string>): Database {
  const within = <R>(facts: () => SpanFacts, work: (span: undefined) => R): R => {
    const text = facts().attributes['db.query.text']
    if (typeof text === 'string') statements.add(text)
    return work(undefined)
  }
  const traced = tracedDatabase(database, { within } as Pick<Tracer, 'within'> as Tracer)
  const noted = ({ commit, ...transaction }: Transaction): Transaction => ({
    ...transaction,
    commit:
      commit &&
      ((steps) => {
        for (const step of steps) statements.add(onOneLine('record' in step ? RECORD : step.statement[0]))
        return commit(steps)
      }),
  })
  return {
    ...traced,
    transaction: (work, recorded) => traced.transaction((transaction) => work(noted(transaction)), recorded),
  }
}

/** Those by which a process follows changes. They are asked below the store. */
const OF_THE_FEED: readonly string[] = [
  LAST_CHANGE_KNOWN,
  ...sourcesIn('sidecar/directory/feed/')
    .flatMap(textsOf)
    .filter((text) => text.startsWith('SELECT '))
    .map((text) => text.replace(HOLE, '1')),
  presenceQuery({ sequence: 1, atMs: 1 })[0],
]

/** The others are of the schema. */
const EXPLAINED = /^(SELECT|INSERT|UPDATE|DELETE|WITH) /

/** Statements of the store with those of the feed, which are asked below it. */
export function withFeed(statements: ReadonlySet<string>): readonly string[] {
  return [...statements, ...OF_THE_FEED.map(onOneLine)].filter((sql) => EXPLAINED.test(sql))
}

/** Texts of SQL in the store's sources that stand in none of the statements. */
export function unseenTexts(statements: readonly string[]): string[] {
  return sourcesIn('sidecar/directory/')
    .filter(({ path }) => !NOT_OF_THE_STORE.test(path))
    .flatMap((source) => textsOf(source).map((text) => ({ path: source.path, text: onOneLine(text) })))
    .filter(({ text }) => KEYWORD.test(text) && !statements.some((each) => patternOf(text).test(each)))
    .map(({ path, text }) => `${path}: ${text}`)
}

/**
 * The schema, tools that read a directory that is not open or all of it, and what is asked of a server about
 * itself.
 */
const NOT_OF_THE_STORE =
  /\/directory\/(schema|inspect|user-names|notification-listener|postgres[a-z-]*)\.ts$|\/backup\//
const KEYWORD = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ORDER BY|LIMIT|JOIN|AND|FROM|EXISTS|LIKE)\b/

function patternOf(text: string): RegExp {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(HOLE, '.*'))
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The rows that a plan reads of a table that grows. */
export interface Reading {
  readonly table: string
  /** It is walked, and not looked up in. */
  readonly scans: boolean
  /** The columns by whose values it is looked up. */
  readonly by: readonly string[]
  /** It ends after a number of rows, in the order of an index. */
  readonly limited: boolean
  /** Columns of which rows must have a value, which are looked at only when the row is read. */
  readonly filters: readonly string[]
}

export interface Plan {
  readonly readings: readonly Reading[]
  readonly sorts: boolean
}

/** The work of a statement that grows with the directory; `undefined`: none. */
export function growthOf(sql: string, { readings, sorts }: Plan): string | undefined {
  const refusals = [
    ...(/\bOFFSET\b/.test(sql) ? ['OFFSET'] : []),
    ...(/\bLIKE (:|'%|\?|\$)/.test(sql) ? ['LIKE'] : []),
    ...readings.filter(({ scans }) => scans).map(({ table }) => `walks ${table}`),
    ...readings
      .filter((reading) => isWide(reading) && !(reading.limited && reading.filters.length === 0))
      .map(({ table, by, filters }) => `reads ${table} by (${by}) filtered by (${filters})`),
    ...(sorts && readings.some(isWide) ? ['sorts'] : []),
  ].filter((refusal) => !ALLOWED.some(([beginning, what]) => sql.startsWith(beginning) && what.test(refusal)))
  return refusals.length === 0 ? undefined : `${refusals.join(', ')}: ${sql}`
}

/** Many rows may have what it is looked up by. */
function isWide({ table, scans, by }: Reading): boolean {
  return !scans && by.every((column) => WIDE[table]?.includes(column))
}

/** Explains statements of the directory in SQLite. */
export class SqlitePlans implements Disposable {
  readonly #database = new DatabaseSync(':memory:')

  /** @param analyzed whether it has statistics; a directory has none */
  constructor(analyzed: boolean) {
    for (const step of migrationsFrom(0, 'sqlite', 'plans')) this.#database.exec(step)
    if (!analyzed) return
    this.#database.exec('ANALYZE')
    const insert = this.#database.prepare('INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)')
    for (const table of EVERY)
      for (const { name, unique } of this.#rows(`PRAGMA index_list(${table})`)) {
        const columns = this.#rows(`PRAGMA index_info(${name})`).map((row) => String(row.name))
        const few = table in SMALL || this.#conditionOf(String(name)).includes('action')
        const rows = few ? 10 : ROWS
        const alike = columns.map((_, index) =>
          unique === 1 && index === columns.length - 1
            ? 1
            : columns.slice(0, index + 1).every((column) => WIDE[table]?.includes(column))
              ? Math.ceil(rows / 100)
              : 10,
        )
        insert.run(table, String(name), [rows, ...alike].join(' '))
      }
    this.#database.exec('ANALYZE sqlite_schema')
  }

  planOf(sql: string): Plan {
    const details = this.#rows(`EXPLAIN QUERY PLAN ${sql}`).map((row) => String(row.detail))
    return {
      readings: details.flatMap((detail) => {
        const [, verb, table = '', condition = ''] =
          /^(SCAN|SEARCH) (\w+)(?: USING [\w ]+\((.*)\))?/.exec(detail) ?? []
        // A search without a condition is for the first or the last entry of an index.
        if (!GROWING.has(table) || (verb === 'SEARCH' && condition === '')) return []
        const by = [...condition.matchAll(/(\w+)=\?/g)].map(([, column = '']) => column)
        const [, index = ''] = / INDEX (\w+)/.exec(detail) ?? []
        const filters = this.#equalitiesOf(sql, table).filter(
          (column) => !by.includes(column) && !this.#conditionOf(index).includes(column),
        )
        const limited = /\bLIMIT\b/.test(sql)
        const isFirst = limited && sql.includes(`FROM ${table} ORDER BY`)
        // An automatic index is made for the statement, of the whole table; `ANY` goes through all values.
        const scans = / AUTOMATIC |\bANY\(/.test(detail) || (verb === 'SCAN' && !isFirst)
        return [{ table, by, scans, limited, filters }]
      }),
      sorts: details.some((detail) => detail.startsWith('USE TEMP B-TREE')),
    }
  }

  /** Columns of the table that a statement compares with a value. */
  #equalitiesOf(sql: string, table: string): string[] {
    const columns = this.#rows(`PRAGMA table_info(${table})`).map(({ name }) => String(name))
    const compared = sql.replace(/ SET .*? WHERE /, ' WHERE ').matchAll(/(?:(\w+)\.)?(\w+) = [:'\d]/g)
    return [...compared].flatMap(([, of = table, column = '']) =>
      of === table && columns.includes(column) ? column : [],
    )
  }

  /** The condition of the rows that an index has; empty: all. */
  #conditionOf(index: string): string {
    const [row] = this.#rows(`SELECT sql FROM sqlite_schema WHERE name = '${index}'`)
    return String(row?.sql ?? '').split(' WHERE ')[1] ?? ''
  }

  #rows(sql: string): Record<string, unknown>[] {
    return this.#database.prepare(sql).all()
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}
