/**
 * The writer of all changes of the directory: rows, and the records of the audit trail, in one transaction.
 * The number of a change is drawn when it ends, so that numbers are in the order of the commits. Columns that
 * have it are filled in then.
 */
import type { ChangeAuthor, ChangeOrigin } from './author.ts'
import type { LastStep, Parameters, Queries, Transaction, Value } from './database.ts'
import type { AuditRecord } from './directory.ts'
import type { FeedRecord } from './feed/touches.ts'
import { type ChangeAction, type ChangeSubject, touchText } from './feed/touches.ts'
import type { Hold } from './hold.ts'
import { number, text } from './rows.ts'
import { LAST_CHANGE, NO_PASSWORD } from './schema.ts'

/**
 * In the place of the number of this change, until it ends. No token was issued after it, so none of a change
 * that did not fill it in would be active.
 */
export const UNNUMBERED = Number.MAX_SAFE_INTEGER

/** A record of the audit trail. */
export const RECORD = `INSERT INTO audit (at_ms, actor, action, account, subject, subject_id, details, touches)
  VALUES (:at_ms, :actor, :action, :account, :subject, :subject_id, :details, :touches) RETURNING sequence`

type Numbered<T> = Omit<T, 'sequence'> & { sequence: number }

/** Writes within one transaction. */
export class ChangeWriter {
  readonly queries: Queries
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  readonly #hold: Transaction['hold']
  #held: ReturnType<NonNullable<Transaction['hold']>> | undefined
  readonly #author: Pick<ChangeAuthor, 'name' | 'origin'>
  readonly #records: Numbered<FeedRecord>[] = []
  readonly #made: { readonly audited: Numbered<AuditRecord>; readonly record: Numbered<FeedRecord> }[] = []
  readonly #steps: LastStep[] = []
  #isEnding = false

  constructor(transaction: Transaction, author: Pick<ChangeAuthor, 'name' | 'origin'>, nowMs: number) {
    this.queries = transaction
    this.#hold = transaction.hold?.bind(transaction)
    this.nowMs = nowMs
    this.#author = author
  }

  /** The author of the change, as the audit trail names them. */
  get actor(): string {
    return this.#author.name
  }

  /**
   * The records of a change that may have been committed, and those of facts that were so already. Without an
   * answer to the commit their numbers are 0.
   */
  get records(): readonly FeedRecord[] {
    return this.#isEnding ? this.#records : []
  }

  /** The same as the audit trail has it, without what was so already. */
  get made(): readonly AuditRecord[] {
    return this.#made.map(({ audited }) => audited)
  }

  /**
   * Keeps something as it is until the change ends, for whatever is read after this call. If that fails, so
   * does each statement after it.
   *
   * @see Transaction.hold
   */
  hold(what: Hold): void {
    this.#held = this.#hold?.(what)
    this.#held?.catch(() => {})
  }

  /** Whether the last call of `hold` has a row with that id. Under the same name there may be another now. */
  async isHeld(id: string): Promise<boolean> {
    return this.#held === undefined || (await this.#held).has(id)
  }

  async insert(table: string, columns: Readonly<Record<string, Value>>): Promise<void> {
    const names = Object.keys(columns)
    await this.queries.all(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
      columns,
    )
  }

  async update(table: string, id: string, columns: Readonly<Record<string, Value>>): Promise<void> {
    const assignments = Object.keys(columns).map((name) => `${name} = :${name}`)
    await this.queries.all(`UPDATE ${table} SET ${assignments.join(', ')} WHERE id = :id`, {
      ...columns,
      id,
    })
  }

  /**
   * Ends the factors of a user, and the tokens that they obtained with them: a holder of any of it must not
   * get the user's new rights. Static tokens stay: they are not for logins. The caller records why.
   */
  async endCredentialsOf(userId: string): Promise<void> {
    await this.queries.all(
      `UPDATE users SET generation = generation + 1,
         password_hash = CASE WHEN type = 'service_user' THEN '${NO_PASSWORD}' END WHERE id = :user`,
      { user: userId },
    )
    for (const table of ['panel_passwords', 'panel_codes', 'passkeys', 'panel_links', 'panel_sessions'])
      await this.queries.all(`DELETE FROM ${table} WHERE user_id = :user`, { user: userId })
  }

  /** A user as the details of a record name them, also one who was deleted. */
  async namedUser(userId: string | undefined): Promise<object> {
    if (userId === undefined) return {}
    const [row] = await this.queries.all('SELECT name FROM users WHERE id = :id', { id: userId })
    return { ...(row && { user: text(row.name) }), user_id: userId }
  }

  /** Adds to the audit trail, with what the change touches, when the change ends. */
  record(action: ChangeAction, subject: ChangeSubject, details: object = {}): void {
    const touches = touchText(action, subject)
    const { name: actor } = this.#author
    const { nowMs: atMs } = this
    const { account, name, id } = subject
    const facts = { ...details, ...byOf(this.#author.origin) }
    this.#steps.push({
      record: {
        ...{ at_ms: atMs, actor, action, account, subject: name },
        ...{ subject_id: id ?? null, details: JSON.stringify(facts), touches },
      },
    })
    const record = { sequence: 0, atMs, account, touches }
    this.#records.push(record)
    const named = { subject: name, subjectId: id ?? '' }
    this.#made.push({
      record,
      audited: { sequence: 0, atMs, actor, action, account, ...named, details: facts },
    })
  }

  /** Runs a statement when the change ends, in the order of the records. */
  last(sql: string, parameters: Parameters): void {
    this.#steps.push({ statement: [sql, parameters] })
  }

  /** Fills in the number of the change, which has a record already, where a column has `UNNUMBERED`. */
  fillIn(table: string, key: string, column: string, id: string): void {
    if (this.#made.length === 0) throw new TypeError(`${table}: expected a record before its number`)
    this.last(
      `UPDATE ${table} SET ${column} = (${LAST_CHANGE}) WHERE ${key} = :id AND ${column} = :unnumbered`,
      { id, unnumbered: UNNUMBERED },
    )
  }

  /**
   * Ends the transaction. All numbers of one change have the same effect: no token is issued between two of
   * them.
   */
  async end({ commit }: Pick<Transaction, 'commit'>): Promise<void> {
    this.#isEnding = true
    const numbers = commit === undefined ? await this.#runSteps() : await commit(this.#steps)
    for (const [index, { audited, record }] of this.#made.entries())
      audited.sequence = record.sequence = numbers[index] ?? 0
  }

  async #runSteps(): Promise<readonly number[]> {
    const numbers: number[] = []
    for (const step of this.#steps)
      if ('statement' in step) await this.queries.all(...step.statement)
      else {
        const [row] = await this.queries.all(RECORD, step.record)
        numbers.push(number(row?.sequence))
      }
    return numbers
  }

  /**
   * Notes that a change is asked for which was made before: perhaps on another host, and this one has not
   * heard of it. It is acknowledged as any other, so it must count here.
   */
  repeat(action: ChangeAction, subject: ChangeSubject): void {
    const touches = touchText(action, subject)
    this.#records.push({ sequence: 0, atMs: this.nowMs, account: subject.account, touches })
  }
}

/** How the call of a change came in, as the audit trail has it. */
function byOf(origin: ChangeOrigin | undefined): object {
  if (origin === undefined) return {}
  const { protocol, address, requestId, tokenId, account, sessionId } = origin
  return {
    by: {
      ...{ protocol, address },
      ...(requestId !== undefined && { request_id: requestId }),
      ...(tokenId !== undefined && { token_id: tokenId, account }),
      ...(sessionId !== undefined && { session_id: sessionId }),
    },
  }
}
