/**
 * Removes rows that no longer decide anything. A deletion is one mark, whatever it ends. Here its rows go in
 * parts, each in a separate transaction: a check or a change waits for one part at most, and the next removal
 * continues one that was killed.
 */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { DirectoryChange } from './change.ts'
import type { Queries } from './database.ts'
import { type LeftToRemove, leftToRemove, less, type RemovedPart } from './left-to-remove.ts'
import { number, text } from './rows.ts'
import { LAST_CHANGE } from './schema.ts'

/** Most rows of a table in one part: some milliseconds of SQLite. */
const ROWS_AT_ONCE = 100

/** Most users or projects in one part, each of which has rows in other tables. */
const OWNERS_AT_ONCE = 50

const DAY_MS = 86_400_000

/** Until when rows are due, in milliseconds since the epoch. */
export interface RemovalTimes {
  readonly nowMs: number
  /** Rows that were deleted or revoked until then are removed. */
  readonly deletedMs: number
  /** Every IAM token that was issued until then has expired. */
  readonly expiredMs: number
}

/** How many rows of each table were removed. */
export type Removed = Readonly<Record<string, number>>

/** The parts of the directory and the process that a removal needs. */
export interface RemovalParts {
  /** Makes a change of the directory, in one transaction. */
  readonly change: <T>(work: (change: DirectoryChange) => Promise<T>) => Promise<T>
  /** Gives some space back to the system. Returns whether there is more. */
  readonly shrink: () => Promise<boolean>
  /** Looked at between two transactions. */
  readonly proceed: () => boolean
  readonly queries: Queries
  /** Called with what is left to remove, first and after each transaction. */
  readonly onLeft: (left: LeftToRemove) => void
}

/** Removes what is due, and marks as deleted what deleted accounts have. */
export async function removeRows(
  { change, shrink, proceed, queries, onLeft }: RemovalParts,
  times: RemovalTimes,
): Promise<Removed> {
  const removed: Record<string, number> = {}
  let left = await leftToRemove(queries, times.deletedMs)
  onLeft(left)
  for (const step of STEPS)
    for (let rest = true; rest && proceed(); ) {
      const made = await change(async ({ writer }) => {
        // One at a time: each deletes many rows.
        writer.hold({ alone: ['rows to remove'] })
        const part = new Part(writer.queries)
        return { rest: await step(part, times), part }
      })
      left = less(left, made.part)
      onLeft(left)
      for (const [table, rows] of made.part.removed) removed[table] = (removed[table] ?? 0) + rows
      rest = made.rest
    }
  while (proceed() && (await shrink())) await otherWork()
  if (Object.keys(removed).length > 0)
    await change(async ({ writer }) => {
      writer.record('directory.remove', { account: '', name: 'directory' }, removed)
    })
  return removed
}

/** The statements of one transaction. */
class Part implements RemovedPart {
  readonly queries: Queries
  readonly marked = new Map<string, number>()
  markedAre: RemovedPart['markedAre'] = 'kept'
  readonly removed = new Map<string, number>()

  /** Other work has its turn after each statement. */
  constructor(queries: Queries) {
    this.queries = {
      all: async (...statement) => {
        const rows = await queries.all(...statement)
        await otherWork()
        return rows
      },
    }
  }

  /**
   * Deletes rows of a table.
   *
   * @param key the columns of its primary key
   * @param chosen condition of the rows, and their order if there is one
   * @returns whether there may be more of them
   */
  async remove(
    table: string,
    key: string,
    chosen: string,
    parameters: Parameters<Queries['all']>[1] = {},
  ): Promise<boolean> {
    const rows = await this.queries.all(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${chosen} LIMIT ${ROWS_AT_ONCE})
       RETURNING 1 AS removed`,
      parameters,
    )
    if (rows.length > 0) this.removed.set(table, rows.length)
    return rows.length === ROWS_AT_ONCE
  }
}

/** Returns whether there may be more to do. */
type Step = (part: Part, times: RemovalTimes) => Promise<boolean>

const STEPS: readonly Step[] = [
  emptyAccount,
  removeOwners('users', 'user_id', {
    user_roles: 'user_id, role',
    account_permissions: 'user_id',
    project_permissions: 'user_id, project_id',
    static_tokens: 'hash',
    panel_tokens: 'user_id, project_id',
    panel_passwords: 'user_id',
    panel_codes: 'user_id',
    passkeys: 'id',
    application_credentials: 'id',
    panel_links: 'hash',
    panel_sessions: 'hash',
  }),
  removeOwners('projects', 'project_id', {
    project_permissions: 'user_id, project_id',
    application_credentials: 'id',
  }),
  (part, { deletedMs }) =>
    part.remove('static_tokens', 'hash', 'revoked_at_ms <= :due ORDER BY revoked_at_ms', { due: deletedMs }),
  markRevocations,
  removeRevocations,
  removeEnded('panel_links', 0),
  removeEnded('panel_sessions', 0),
  // A day late: a clock that is ahead for a while must not make us forget one that counts when it is right
  // again.
  removeEnded('panel_challenges', DAY_MS),
]

/** Marks the projects and users of a deleted account, so that they are found as other deleted ones are. */
async function emptyAccount(part: Part, { deletedMs }: RemovalTimes): Promise<boolean> {
  const { queries, marked } = part
  const [account] = await queries.all(
    `SELECT id, deleted_at_ms FROM accounts WHERE deleted_at_ms IS NOT NULL AND emptied = 0
     ORDER BY deleted_at_ms LIMIT 1`,
  )
  if (account === undefined) return false
  const [id, deletedAtMs] = [text(account.id), number(account.deleted_at_ms)]
  part.markedAre = deletedAtMs <= deletedMs ? 'due' : 'kept'
  for (const table of ['projects', 'users']) {
    const rows = await queries.all(
      `UPDATE ${table} SET deleted_at_ms = :deleted WHERE id IN
         (SELECT id FROM ${table} WHERE account_id = :account AND deleted_at_ms IS NULL LIMIT ${ROWS_AT_ONCE})
       RETURNING id`,
      { account: id, deleted: deletedAtMs },
    )
    marked.set(table, rows.length)
    if (rows.length === ROWS_AT_ONCE) return true
  }
  await queries.all('DELETE FROM address_rules WHERE account_id = :account', { account: id })
  await queries.all('UPDATE accounts SET emptied = 1 WHERE id = :account', { account: id })
  return true
}

/** @param tables the tables with rows of an owner, and the primary key of each */
function removeOwners(
  owners: 'users' | 'projects',
  column: string,
  tables: Readonly<Record<string, string>>,
): Step {
  const due = `SELECT id FROM ${owners} WHERE deleted_at_ms <= :due ORDER BY deleted_at_ms, id LIMIT ${OWNERS_AT_ONCE}`
  return async (part, { deletedMs }) => {
    const parameters = { due: deletedMs }
    for (const [table, key] of Object.entries(tables))
      if (await part.remove(table, key, `${column} IN (${due})`, parameters)) return true
    const removed = await part.queries.all(
      `DELETE FROM ${owners} WHERE id IN (${due}) RETURNING id`,
      parameters,
    )
    if (removed.length > 0) part.removed.set(owners, removed.length)
    return removed.length === OWNERS_AT_ONCE
  }
}

/**
 * Notes the number of the last change once a day. When every token of before such a day has expired, those
 * tokens count as revoked from then on. So no clock that goes wrong makes a token valid whose revocation was
 * removed.
 */
async function markRevocations({ queries }: Part, { nowMs, expiredMs }: RemovalTimes): Promise<boolean> {
  await queries.all(
    `INSERT INTO revocation_marks (change_number, at_ms)
     SELECT (${LAST_CHANGE}), CAST(:now AS BIGINT)
     WHERE NOT EXISTS (SELECT 1 FROM revocation_marks WHERE at_ms > :day_ago) ON CONFLICT DO NOTHING`,
    { now: nowMs, day_ago: nowMs - DAY_MS },
  )
  await queries.all(
    `UPDATE revocation_marks SET floor = 1 WHERE change_number =
       (SELECT MAX(change_number) FROM revocation_marks WHERE at_ms <= :expired)`,
    { expired: expiredMs },
  )
  await queries.all(
    `DELETE FROM revocation_marks WHERE change_number <
       (SELECT MAX(change_number) FROM revocation_marks WHERE floor = 1)`,
  )
  return false
}

function removeRevocations(part: Part): Promise<boolean> {
  return part.remove(
    'revocations',
    'token_id',
    `change_number < (SELECT MAX(change_number) FROM revocation_marks WHERE floor = 1) ORDER BY change_number`,
  )
}

function removeEnded(table: string, lateMs: number): Step {
  return (part, { nowMs }) =>
    part.remove(table, 'hash', 'ends_at_ms <= :due ORDER BY ends_at_ms', { due: nowMs - lateMs })
}
