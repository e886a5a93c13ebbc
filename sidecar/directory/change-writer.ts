/**
 * The writer of all changes of the directory: rows, and the records of the audit trail, in one transaction.
 */
import type { ChangeAuthor, ChangeOrigin } from './author.ts'
import type { Queries, Value } from './database.ts'
import type { AuditRecord } from './directory.ts'
import type { FeedRecord } from './feed/touches.ts'
import { type ChangeAction, type ChangeSubject, touchText } from './feed/touches.ts'
import { number, text } from './rows.ts'
import { NO_PASSWORD } from './schema.ts'

/** Writes within one transaction. */
export class ChangeWriter {
  readonly queries: Queries
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  readonly #author: Pick<ChangeAuthor, 'name' | 'origin'>
  readonly #records: FeedRecord[] = []
  readonly #made: AuditRecord[] = []

  constructor(queries: Queries, author: Pick<ChangeAuthor, 'name' | 'origin'>, nowMs: number) {
    this.queries = queries
    this.nowMs = nowMs
    this.#author = author
  }

  /** The author of the change, as the audit trail names them. */
  get actor(): string {
    return this.#author.name
  }

  /** The records until now, and those of facts that were so already. */
  get records(): readonly FeedRecord[] {
    return this.#records
  }

  /** The same as the audit trail has it, without what was so already. */
  get made(): readonly AuditRecord[] {
    return this.#made
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

  /**
   * Adds to the audit trail, with what the change touches. Returns the number of the change. Numbers only
   * rise, whatever the clocks do.
   */
  async record(action: ChangeAction, subject: ChangeSubject, details: object = {}): Promise<number> {
    const touches = touchText(action, subject)
    const { name: actor } = this.#author
    const facts = { ...details, ...byOf(this.#author.origin) }
    const [row] = await this.queries.all(
      `INSERT INTO audit (at_ms, actor, action, account, subject, subject_id, details, touches)
       VALUES (:at, :actor, :action, :account, :subject, :subject_id, :details, :touches) RETURNING sequence`,
      {
        at: this.nowMs,
        actor,
        action,
        account: subject.account,
        subject: subject.name,
        subject_id: subject.id ?? null,
        details: JSON.stringify(facts),
        touches,
      },
    )
    const sequence = number(row?.sequence)
    const { nowMs: atMs } = this
    const { account } = subject
    this.#records.push({ sequence, atMs, account, touches })
    const named = { subject: subject.name, subjectId: subject.id ?? '' }
    this.#made.push({ sequence, atMs, actor, action, account, ...named, details: facts })
    return sequence
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
