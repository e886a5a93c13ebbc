/**
 * Reads the audit trail by page, from either end, with filters. No index knows what a record contains, so
 * filters look at records one after the other, a bounded number in a call and a few at a time: SQLite blocks
 * the process while it looks.
 */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Queries } from './database.ts'
import type { AuditFilter, AuditPage, AuditQuery, AuditRecord } from './directory.ts'
import { number, text } from './rows.ts'

/** How many records a statement looks at: some milliseconds of SQLite. */
const RECORDS_AT_ONCE = 10_000

/** Most statements of a page with a filter. A page that ends there is not full, and the next one goes on. */
const STATEMENTS_MAX = 10

/** The records between two numbers, without these two. */
interface Range {
  readonly low: number
  readonly high: number
}

export class AuditTrail {
  readonly #queries: Queries

  constructor(queries: Queries) {
    this.#queries = queries
  }

  async page(query: AuditQuery): Promise<AuditPage> {
    const { account, earlier = true, newestFirst = false, after, filter, size } = query
    const first = earlier ? 0 : await this.#creationOf(account)
    const range: Range = newestFirst
      ? { low: first - 1, high: after ?? Number.MAX_SAFE_INTEGER }
      : { low: Math.max(first - 1, after ?? 0), high: Number.MAX_SAFE_INTEGER }
    if (filter !== undefined) return this.#filtered({ ...query, filter }, range)
    // One more than asked for shows whether there is more.
    return pageOf(await this.#list(query, range, size + 1), size)
  }

  /** Looks through one part of the range after the other, until the page is full or enough was looked at. */
  async #filtered(query: AuditQuery, range: Range): Promise<AuditPage> {
    const { newestFirst = false, size } = query
    const found: AuditRecord[] = []
    let { low, high } = range
    for (let statements = 1; ; statements++) {
      const end = await this.#endOfPart(query, { low, high })
      const part =
        end === undefined ? { low, high } : newestFirst ? { low: end - 1, high } : { low, high: end + 1 }
      found.push(...(await this.#list(query, part, size + 1 - found.length)))
      if (found.length > size || end === undefined) return pageOf(found, size)
      if (found.length === size || statements === STATEMENTS_MAX) return { records: found, next: end }
      if (newestFirst) high = end
      else low = end
      await otherWork()
    }
  }

  /**
   * Number of the last record of the next part of the range; `undefined`: the rest is no longer than a part.
   */
  async #endOfPart(query: AuditQuery, range: Range): Promise<number | undefined> {
    const end = query.newestFirst ? 'MIN' : 'MAX'
    const [row] = await this.#queries.all(
      `SELECT ${end}(sequence) AS end_of_part, COUNT(*) AS records
       FROM (SELECT sequence ${from(query)} LIMIT :records) AS part`,
      { ...parametersOf(query, range), records: RECORDS_AT_ONCE },
    )
    return number(row?.records) < RECORDS_AT_ONCE ? undefined : number(row?.end_of_part)
  }

  async #list(query: AuditQuery, range: Range, size: number): Promise<AuditRecord[]> {
    const { filter } = query
    const rows = await this.#queries.all(
      `SELECT sequence, at_ms, actor, action, account, subject, subject_id, details ${from(query, filter && MATCHES)} LIMIT :size`,
      { ...parametersOf(query, range), ...(filter && filterParameters(filter)), size },
    )
    return rows.map(auditRecordOf)
  }

  /**
   * Number of the record that created the account which has this number now, or had it last; 0: it is in the
   * archive.
   */
  async #creationOf(account: string): Promise<number> {
    const [row] = await this.#queries.all(
      `SELECT sequence FROM audit WHERE account = :account AND action = 'account.create'
       ORDER BY sequence DESC LIMIT 1`,
      { account },
    )
    return row === undefined ? 0 : number(row.sequence)
  }
}

function pageOf(found: readonly AuditRecord[], size: number): AuditPage {
  return { records: found.slice(0, size), next: found.length > size ? found[size - 1]?.sequence : undefined }
}

function from({ account, newestFirst = false }: AuditQuery, condition = ''): string {
  return `
    FROM audit WHERE sequence > :low AND sequence < :high ${account === '' ? '' : 'AND account = :account'} ${condition}
    ORDER BY sequence ${newestFirst ? 'DESC' : 'ASC'}`
}

function parametersOf({ account }: AuditQuery, { low, high }: Range) {
  return { low, high, ...(account !== '' && { account }) }
}

/**
 * `lower` changes letters of ASCII alone: in SQLite always, in PostgreSQL because these columns have the
 * collation C.
 */
const MATCHES = `
  AND at_ms >= :since AND at_ms < :until AND lower(actor) LIKE :actor ESCAPE '!'
  AND lower(action) LIKE :action ESCAPE '!'
  AND (lower(subject) LIKE :subject ESCAPE '!' OR subject_id = :subject_id)`

function filterParameters({ actor, action, subject, sinceMs, untilMs }: AuditFilter) {
  return {
    since: sinceMs ?? Number.MIN_SAFE_INTEGER,
    until: untilMs ?? Number.MAX_SAFE_INTEGER,
    actor: containing(actor),
    action: containing(action),
    subject: containing(subject),
    subject_id: subject ?? '',
  }
}

/** The pattern of what contains the text literally. */
function containing(part = ''): string {
  const lower = part.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return `%${lower.replace(/[!%_]/g, '!$&')}%`
}

function auditRecordOf(row: Record<string, unknown>): AuditRecord {
  return {
    sequence: number(row.sequence),
    atMs: number(row.at_ms),
    actor: text(row.actor),
    action: text(row.action),
    account: text(row.account),
    subject: text(row.subject),
    subjectId: text(row.subject_id ?? ''),
    details: JSON.parse(text(row.details)) as Record<string, unknown>,
  }
}
