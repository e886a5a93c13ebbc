/**
 * Several statements to PostgreSQL in one message, which takes one round trip. If one of them fails, the
 * server skips those after it.
 */
import {
  type ClientBase,
  type Connection,
  Query,
  type QueryConfig,
  type QueryResult,
  type Submittable,
} from 'pg'

export type Result = QueryResult<Record<string, unknown>>

/** The part of a query of `pg` that its types do not have. */
interface Answered extends Submittable {
  readonly name?: string
  readonly text: string
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleReadyForQuery(connection: Connection): void
}

interface Submitted {
  readonly submittedNamedStatements: Record<string, string>
}

type Callback = (error: unknown, results: readonly Result[]) => void

/**
 * Sends the statements, and resolves with the result of each.
 *
 * @param timeoutMs for all of them
 */
export function sendTogether(
  client: ClientBase,
  statements: readonly QueryConfig[],
  timeoutMs: number,
): Promise<readonly Result[]> {
  return new Promise((resolve, reject) => {
    client.query(
      new Message(client, statements, timeoutMs, (error, results) =>
        error === null || error === undefined ? resolve(results) : reject(error),
      ),
    )
  })
}

/** `pg` calls it as it calls its own queries. */
class Message implements Submittable {
  /** `pg` puts its own in this place, which ends the limit of time as well. */
  callback: Callback
  readonly query_timeout: number
  readonly #queries: readonly Answered[]
  readonly #results: Result[] = []
  #current = 0

  constructor(client: ClientBase, statements: readonly QueryConfig[], timeoutMs: number, callback: Callback) {
    this.callback = callback
    this.query_timeout = timeoutMs
    const types = { getTypeParser: client.getTypeParser.bind(client) as never }
    this.#queries = statements.map((statement) => {
      // Without this, a statement that has no values would be a separate message.
      const config = { ...statement, types, queryMode: 'extended' }
      return new Query(config, (_error, result) => {
        this.#results.push(result as unknown as Result)
      }) as unknown as Answered
    })
  }

  /** `pg` remembers by these which statements the server has parsed. */
  get name(): string | undefined {
    return this.#queries[this.#current]?.name
  }

  get text(): string | undefined {
    return this.#queries[this.#current]?.text
  }

  submit(connection: Connection): void {
    const withoutSync = Object.create(connection, { sync: { value: () => {} } }) as Connection
    connection.stream.cork()
    for (const query of this.#queries) query.submit(withoutSync)
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription(message: unknown): void {
    this.#queries[this.#current]?.handleRowDescription(message)
  }

  handleDataRow(message: unknown): void {
    this.#queries[this.#current]?.handleDataRow(message)
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    this.#queries[this.#current]?.handleCommandComplete(message, connection)
    this.#current++
  }

  handleReadyForQuery(connection: Connection): void {
    for (const query of this.#queries) query.handleReadyForQuery(connection)
    this.callback(null, this.#results)
  }

  handleError(error: unknown, connection: Connection): void {
    // Those after it were not parsed.
    const { submittedNamedStatements } = connection as unknown as Submitted
    for (const { name = '' } of this.#queries.slice(this.#current)) delete submittedNamedStatements[name]
    this.callback(error, [])
  }
}
