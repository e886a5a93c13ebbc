/**
 * A database whose statements are recorded as spans of the calls that need them. Loaded where there are
 * traces.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { SpanFacts, Tracer } from '../base/tracing.ts'
import type { Database, Parameters, Queries } from './database.ts'

const SYSTEMS = { sqlite: 'sqlite', postgres: 'postgresql' } as const satisfies Record<
  Database['dialect'],
  string
>

/** Every value of a statement is a parameter, so its text has none. */
export function tracedDatabase(database: Database, tracer: Tracer): Database {
  const system = SYSTEMS[database.dialect]
  const traced = (queries: Queries): Queries => ({
    all: (sql: string, parameters?: Parameters): MaybePromise<Record<string, unknown>[]> =>
      tracer.within(
        () => factsOf(system, sql),
        () => queries.all(sql, parameters),
      ),
  })
  const change: SpanFacts = {
    name: `${system} transaction`,
    kind: 'client',
    attributes: { 'db.system.name': system },
  }
  const durable = database.durable?.bind(database)
  const keep = database.keep?.bind(database)
  return {
    ...traced(database),
    ...(database.verifying && { verifying: traced(database.verifying) }),
    dialect: database.dialect,
    changes: database.changes,
    ...(durable !== undefined && { durable }),
    ...(keep !== undefined && { keep }),
    transaction: (work, recorded) =>
      tracer.within(
        () => change,
        () =>
          database.transaction((transaction) => {
            const { hold, commit } = transaction
            return work({
              ...traced(transaction),
              ...(hold && { hold: hold.bind(transaction) }),
              ...(commit && { commit: commit.bind(transaction) }),
            })
          }, recorded),
      ),
    close: () => database.close(),
  }
}

function factsOf(system: string, sql: string): SpanFacts {
  const [operation = ''] = /^\w+/.exec(sql.trimStart()) ?? []
  return {
    name: `${system} ${operation}`,
    kind: 'client',
    attributes: {
      'db.system.name': system,
      'db.operation.name': operation,
      'db.query.text': sql.replace(/\s+/g, ' ').trim(),
    },
  }
}
