/**
 * A change of a directory in PostgreSQL. Its work runs under locks of what it is about, beside changes of
 * others. The one lock that all hosts share is taken in the message that commits.
 */
import type { PoolClient, QueryConfig } from 'pg'
import { callError } from '../base/call-error.ts'
import { expectInRange } from './column-ranges.ts'
import type { LastStep, Parameters, Transaction } from './database.ts'
import type { Hold } from './hold.ts'
import { LAST_CHANGE_KNOWN } from './last-change.ts'
import { numberParameters } from './named-parameters.ts'
import { serverCode, toDirectoryError } from './postgres-errors.ts'
import { type Result, sendTogether } from './postgres-message.ts'
import { GRACE_MS } from './postgres-servers.ts'
import { number, text } from './rows.ts'

/** Every change and every migration takes this lock. Its number is made of the letters `portcull`. */
export const LOCK = `SELECT pg_advisory_xact_lock(${BigInt(`0x${Buffer.from('portcull').toString('hex')}`)})`
export const CHANNEL = 'portcullis_directory'
/** A notification without records: which change was the last one, so that every process reads what is new. */
export const NOTIFY = `SELECT pg_notify('${CHANNEL}', COALESCE((${LAST_CHANGE_KNOWN}), ''))`
/** PostgreSQL takes less than 8,000 bytes. Longer records are read by each process. */
const NOTIFICATION_BYTES_MAX = 7_900
/** More of them are longer than that. */
const NOTIFIED_RECORDS_MAX = 150
/** A change ends with this: number and time of the change before it, and its records, the last ones. */
const NOTIFY_RECORDS = `
  SELECT pg_notify('${CHANNEL}', CASE
    WHEN octet_length(records) > ${NOTIFICATION_BYTES_MAX} THEN (${LAST_CHANGE_KNOWN})
    ELSE COALESCE((SELECT sequence || ' ' || at_ms FROM audit WHERE sequence < first ORDER BY sequence DESC LIMIT 1),
      '0 0') || ' ' || records
    END)
  FROM (
    SELECT MIN(sequence) AS first, CAST(jsonb_agg(jsonb_build_object(
      'sequence', sequence, 'atMs', at_ms, 'account', account, 'touches', touches) ORDER BY sequence) AS TEXT) AS records
    FROM (SELECT sequence, at_ms, account, touches FROM audit ORDER BY sequence DESC LIMIT $1) AS own) AS said`

/** All records of a change in one statement. They get their numbers in this order. */
const RECORD = `
  INSERT INTO audit (at_ms, actor, action, account, subject, subject_id, details, touches)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
  RETURNING sequence`
const COLUMNS = ['at_ms', 'actor', 'action', 'account', 'subject', 'subject_id', 'details', 'touches']

const BEGIN = { name: 'begin', text: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE' }
const COMMIT = { name: 'commit', text: 'COMMIT' }
const LIMIT_STATEMENTS = `SELECT set_config('statement_timeout', $1, true)`

const DEADLOCK_DETECTED = '40P01'

export interface TransactionLimits {
  /** Longest time of a statement, and of the wait for the answer to a message, in milliseconds. */
  readonly statementMs: number
  /** Longest time until the transaction ends, in milliseconds. */
  readonly wholeMs: number
}

interface Waiting {
  readonly statement: QueryConfig
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Statements that are asked for in one turn of the event loop go in one message. */
export class PostgresTransaction implements Transaction {
  readonly #connection: PoolClient
  readonly #limits: TransactionLimits
  readonly #begunMs = performance.now()
  #waiting: Waiting[] = []
  #sending: Promise<void> | undefined
  #hasBegun = false
  /** From then on the connection may be another transaction's. */
  #hasEnded = false
  #failure: unknown

  constructor(connection: PoolClient, limits: TransactionLimits) {
    this.#connection = connection
    this.#limits = limits
  }

  /** Whether the connection cannot be used any more. */
  get connectionLost(): boolean {
    return this.#failure !== undefined && serverCode(this.#failure) === undefined
  }

  /** Whether the server ended it because transactions waited for one another in a circle. */
  get deadlocked(): boolean {
    return serverCode(this.#failure) === DEADLOCK_DETECTED
  }

  async all(sql: string, parameters: Parameters = {}): Promise<Record<string, unknown>[]> {
    return inRange((await this.run(numberParameters('$', sql, parameters))).rows)
  }

  run(statement: QueryConfig): Promise<Result> {
    if (this.#hasEnded)
      return Promise.reject(new TypeError('expected no statement after the end of a change'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statement, resolve, reject })
      this.#sending ??= new Promise<void>((turn) => process.nextTick(turn)).then(() => this.#sendWaiting())
    })
  }

  /** Statements without parameters. */
  async script(text: string): Promise<void> {
    await this.#connection.query({ text, query_timeout: this.#limits.statementMs + GRACE_MS } as QueryConfig)
  }

  async hold(what: Hold): Promise<ReadonlySet<string>> {
    const results = await Promise.all(locksOf(what).map((statement) => this.run(statement)))
    return new Set(
      results.flatMap(({ rows }) => rows.flatMap(({ id }) => (id === undefined ? [] : [text(id)]))),
    )
  }

  async commit(steps: readonly LastStep[]): Promise<readonly number[]> {
    await this.#end()
    const records = steps.flatMap((step) => ('record' in step ? [step.record] : []))
    const statements = inMessages(steps)
    if (records.length === 0 && statements.length === 0 && !this.#hasBegun) return []
    const ordered =
      records.length === 0
        ? statements
        : [{ name: 'lock', text: LOCK }, ...statements, notificationOf(records.length)]
    const results = await this.#send([...ordered, COMMIT])
    if (results.at(-1)?.command !== 'COMMIT') throw callError('DIRECTORY_UNAVAILABLE', {})
    return results
      .filter((_result, index) => ordered[index]?.text === RECORD)
      .flatMap(({ rows }) => rows.map((row) => number(row.sequence)))
  }

  /** If the connection is lost, the server does it itself. */
  async rollBack(): Promise<void> {
    await this.#end()
    if (this.#hasBegun && !this.connectionLost)
      await this.#send([{ text: 'ROLLBACK' }], Infinity).catch(() => {})
  }

  /** Earlier statements are answered first. */
  async #end(): Promise<void> {
    this.#hasEnded = true
    await this.#sending
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const sent = this.#waiting
      this.#waiting = []
      try {
        const results = await this.#send(sent.map(({ statement }) => statement))
        for (const [index, { resolve }] of sent.entries()) resolve(results[index] as Result)
      } catch (error) {
        for (const { reject } of sent) reject(error)
      }
    }
    this.#sending = undefined
  }

  async #send(
    statements: readonly QueryConfig[],
    wholeMs = this.#limits.wholeMs,
  ): Promise<readonly Result[]> {
    const { statementMs } = this.#limits
    if (performance.now() - this.#begunMs > wholeMs)
      throw callError(
        'DIRECTORY_UNAVAILABLE',
        {},
        { cause: new Error(`a change took longer than ${wholeMs} ms`) },
      )
    const before = this.#hasBegun
      ? []
      : [BEGIN, { name: 'limit_statements', text: LIMIT_STATEMENTS, values: [String(statementMs)] }]
    this.#hasBegun = true
    try {
      const results = await sendTogether(this.#connection, [...before, ...statements], statementMs + GRACE_MS)
      return results.slice(before.length)
    } catch (error) {
      this.#failure = error
      throw toDirectoryError(error)
    }
  }
}

/** Statements of the end, with all records that follow one another in one of them. */
function inMessages(steps: readonly LastStep[]): QueryConfig[] {
  const statements: QueryConfig[] = []
  let columns: (string | number | null)[][] | undefined
  for (const step of steps) {
    if ('statement' in step) {
      columns = undefined
      statements.push(numberParameters('$', ...step.statement))
      continue
    }
    if (columns === undefined) {
      columns = COLUMNS.map(() => [])
      statements.push({ name: 'record', text: RECORD, values: columns })
    }
    for (const [index, column] of COLUMNS.entries()) columns[index]?.push(step.record[column] ?? null)
  }
  return statements
}

function notificationOf(records: number): QueryConfig {
  return records > NOTIFIED_RECORDS_MAX
    ? { name: 'notify', text: NOTIFY }
    : { name: 'notify_records', text: NOTIFY_RECORDS, values: [records] }
}

/** An account by its number, its users and its projects by their names. */
const ACCOUNT = 'SELECT id FROM accounts WHERE account = $1 AND deleted_at_ms IS NULL'
const NAMED =
  '= ANY($2::text[]) AND account_id = (SELECT id FROM accounts WHERE account = $1 AND deleted_at_ms IS NULL)'
const USERS_BY_ID = 'SELECT id FROM users WHERE id = ANY($1::text[]) ORDER BY id'
const USERS = `SELECT id FROM users WHERE id = ANY($3::text[]) OR (name ${NAMED} AND deleted_at_ms IS NULL) ORDER BY id`
const PROJECTS = `SELECT id FROM projects WHERE name ${NAMED} AND deleted_at_ms IS NULL ORDER BY id`
const SESSION = 'SELECT id FROM panel_sessions WHERE hash = $1 FOR KEY SHARE'
const ALONE = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))'
const TOGETHER = 'SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))'

/** In the order that `Transaction.hold` states. */
function locksOf(what: Hold): QueryConfig[] {
  const {
    account,
    userIds = [],
    userNames = [],
    projects = [],
    session,
    alone = [],
    tokens = [],
    changes,
  } = what
  const lock = (thing: Hold['changes'], sql: string, values: unknown[]) => {
    const mode = changes === thing ? 'NO KEY UPDATE' : 'SHARE'
    return { name: `hold_${thing}_${values.length}_${mode}`, text: `${sql} FOR ${mode}`, values }
  }
  const names = new Map([
    ...tokens.map((id) => [id, TOGETHER] as const),
    ...alone.map((id) => [id, ALONE] as const),
  ])
  return [
    ...[...names]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, sql]) => ({
        ...{ name: sql === ALONE ? 'hold_alone' : 'hold_together', text: sql, values: [name] },
      })),
    ...(account === undefined ? [] : [lock('account', ACCOUNT, [account])]),
    ...(userNames.length > 0
      ? [lock('users', USERS, [account, userNames, userIds])]
      : userIds.length > 0
        ? [lock('users', USERS_BY_ID, [userIds])]
        : []),
    ...(projects.length === 0 ? [] : [lock('projects', PROJECTS, [account, projects])]),
    ...(session === undefined ? [] : [{ name: 'hold_session', text: SESSION, values: [session] }]),
  ]
}

/** @throws CallError if a number of a row is outside of its range */
export function inRange(rows: Record<string, unknown>[]): Record<string, unknown>[] {
  try {
    return rows.map(expectInRange)
  } catch (error) {
    throw toDirectoryError(error)
  }
}
